import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { memoryStore } from './memory-store.ts'
import { type Store, StoreUnavailable } from './store.ts'
import { storeContract } from './testing/index.ts'
import { unreliable } from './testing/unreliable.ts'

describe('the contract: memoryStore', () => {
  const cases = storeContract(async () => {
    const store = memoryStore()
    return [store, store]
  })
  for (const { name, run } of cases) it(name, run)
})

describe.for([
  ['replies lost at random', { probability: 0.3, seed: 7 }],
  ['every third reply lost', { loseEvery: 3, delayMs: 1 }],
  ['every reply lost', { loseEvery: 1, delayMs: 0.5 }],
] as const)('the contract: memoryStore, %s', ([, options]) => {
  const cases = storeContract(async () => {
    const store = memoryStore()
    return [unreliable(store, options), unreliable(store, { ...options, seed: 3 })]
  })
  // Whose reply is always lost never hears that it was the one that deleted.
  const impossible = 'loseEvery' in options && options.loseEvery === 1 ? 'kv.delete: kv and logs' : undefined
  for (const { name, run } of cases) {
    if (impossible === undefined || !name.startsWith(impossible)) it.concurrent(name, run)
  }
})

const HOUR_MS = 3_600_000
const AMPLE = { entries: 1000, bytes: 1_000_000 }
const KB = 'x'.repeat(1000)

describe('memoryStore: maxBytes', () => {
  let tokens = 0
  const append = (store: Store, tag: string, entries: string[], end?: true) =>
    store.log.append({ tag, name: 'log' }, entries, { ttlMs: HOUR_MS, limit: AMPLE, token: `t${tokens++}`, end })
  const read = (store: Store, tag: string) =>
    store.log.read({ tag, name: 'log' }, 'r', { take: 'attach', after: 0, max: 1000 })
  const count = async (store: Store, tag: string) => (await read(store, tag)).entries.length

  it('must be above 0', () => {
    for (const maxBytes of [0, -1, Number.NaN]) expect(() => memoryStore({ maxBytes })).toThrow(RangeError)
  })

  it('takes log entries first, those of the oldest logs, but never the last one', async () => {
    const store = memoryStore({ maxBytes: 50_000 })
    await store.kv.add({ tag: 's', name: 'session' }, KB, HOUR_MS)
    for (const tag of ['old', 'middle', 'young']) await append(store, tag, Array(10).fill(KB))
    expect(await count(store, 'old')).toBe(10)
    await append(store, 'new', Array(15).fill(KB))
    const old = await read(store, 'old')
    expect(old.entries).toHaveLength(1)
    expect(old.oldest).toBe(old.last)
    expect([await count(store, 'middle'), await count(store, 'young'), await count(store, 'new')]).toEqual([1, 10, 15])
    expect(await store.kv.get({ tag: 's', name: 'session' })).toBe(KB)
    await store.close()
  })

  it('takes ended logs whole before it cuts topics, and topics before it refuses', async () => {
    const store = memoryStore({ maxBytes: 30_000 })
    for (const tag of ['a', 'b', 'c', 'd']) await append(store, tag, [KB], true)
    await append(store, 'running', [KB])
    const { place } = await store.bus.subscribe('topic', { ttlMs: HOUR_MS }, () => {})
    for (let i = 0; i < 10; i++) await store.bus.publish('topic', KB, { token: `${i}` })
    const add = (i: number) => store.kv.add({ tag: `s${i}`, name: 'session' }, KB, HOUR_MS)
    const gap = async () => (await store.bus.read('topic', place, 1)).gap
    let added = 0
    while ((await read(store, 'a')).state === 'ok') await add(added++)
    expect(await gap()).toBe(false)
    while (!(await gap())) await add(added++)
    for (const tag of ['a', 'b', 'c', 'd']) expect((await read(store, tag)).state).toBe('unknown')
    await expect(
      (async () => {
        for (;;) await add(added++)
      })(),
    ).rejects.toThrow(StoreUnavailable)
    added--
    expect((await read(store, 'running')).entries).toHaveLength(1)
    for (let i = 0; i < added; i++) expect(await store.kv.get({ tag: `s${i}`, name: 'session' }, HOUR_MS)).toBe(KB)
    await store.close()
  })

  it('a refused step has done nothing; what needs no room goes on; what is deleted makes room', async () => {
    const store = memoryStore({ maxBytes: 10_000 })
    const key = (i: number) => ({ tag: `s${i}`, name: 'session' })
    for (let i = 0; i < 8; i++) await store.kv.add(key(i), KB, HOUR_MS)
    await append(store, 's0', ['x'])
    const big = KB.repeat(3)
    await expect(store.kv.add(key(8), big, HOUR_MS)).rejects.toThrow(StoreUnavailable)
    await expect(store.kv.swap(key(0), KB, big, HOUR_MS)).rejects.toThrow(StoreUnavailable)
    await expect(append(store, 's0', [big])).rejects.toThrow(StoreUnavailable)
    await expect(append(store, 's9', [big])).rejects.toThrow(StoreUnavailable)
    await expect(store.bus.publish('topic', big, { token: 't' })).rejects.toThrow(StoreUnavailable)
    expect(await store.kv.ttl(key(8))).toBe(0)
    expect(await store.kv.get(key(0))).toBe(KB)
    expect((await read(store, 's0')).entries.map(({ text }) => text)).toEqual(['x'])
    expect((await read(store, 's9')).state).toBe('unknown')
    expect(await store.bus.publish('topic', 'x', { token: 't', followed: true })).toBe(0)
    expect(await store.kv.swap(key(0), KB, KB.replace('x', 'y'), HOUR_MS)).toBe(true)
    expect(await store.kv.get(key(1), HOUR_MS)).toBe(KB)
    for (let i = 0; i < 4; i++) expect(await store.kv.delete([key(i)])).toBe(true)
    expect(await store.kv.add(key(8), big, HOUR_MS)).toBe(big)
    await store.close()
  })

  it('holds whatever comes, and forgets what it counted when a record goes', async () => {
    const store = memoryStore({ maxBytes: 200_000 })
    for (let round = 0; round < 50; round++) {
      const key = { tag: `s${round}`, name: 'session' }
      await store.kv.add(key, KB, HOUR_MS)
      await store.kv.swap(key, KB, KB + KB, HOUR_MS)
      await store.kv.swap(key, KB + KB, '世界', HOUR_MS)
      for (let i = 0; i < 10; i++) await append(store, key.tag, [KB, KB, '世界'.repeat(500)])
      await store.bus.publish('topic', KB, { token: `${round}` })
      let held = 0
      for (let tag = 0; tag <= round; tag++) {
        for (const { text } of (await read(store, `s${tag}`)).entries) held += text.length
      }
      expect(held).toBeLessThan(200_000)
      if (round >= 10)
        await store.kv.delete([
          { ...key, tag: `s${round - 10}` },
          { tag: `s${round - 10}`, name: 'log' },
        ])
    }
    // All of the bound is free again: one text that fills it fits.
    for (let tag = 0; tag < 50; tag++)
      await store.kv.delete([
        { tag: `s${tag}`, name: 'session' },
        { tag: `s${tag}`, name: 'log' },
      ])
    const most = 'x'.repeat(200_000 - 5000)
    expect(await store.kv.add({ tag: 'big', name: 'k' }, most, HOUR_MS)).toBe(most)
    await store.close()
  })
})

describe('memoryStore: lives, timer and clock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('S03 sets no timer while it is empty, one for all records, and drops what nobody asks for', async () => {
    const store = memoryStore()
    expect(vi.getTimerCount()).toBe(0)
    for (let i = 0; i < 50; i++) await store.kv.add({ tag: `s${i}`, name: 'session' }, 'v', 1000 + i)
    await store.log.append({ tag: 's1', name: 'g' }, ['x'], { ttlMs: 5000, limit: AMPLE })
    await store.bus.subscribe('topic', { ttlMs: 5000 }, () => {})
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(4000)
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(3000)
    expect(vi.getTimerCount()).toBe(0)
    await store.kv.add({ tag: 's', name: 'session' }, 'v', 1000)
    expect(vi.getTimerCount()).toBe(1)
  })

  it('drops a great many in several sweeps', async () => {
    const store = memoryStore()
    for (let i = 0; i < 35_000; i++) void store.kv.add({ tag: `s${i >> 1}`, name: `k${i}` }, 'v', 500)
    await store.kv.add({ tag: 'last', name: 'k' }, 'v', 20_000)
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await store.kv.get({ tag: 'last', name: 'k' })).toBe('v')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('sweeps on past a great many that live on, and gives back the room', async () => {
    const store = memoryStore({ maxBytes: 5_000_000 })
    for (let i = 0; i < 15_000; i++) void store.kv.add({ tag: `s${i}`, name: 'k' }, 'v', HOUR_MS)
    for (let i = 0; i < 100; i++) await store.kv.add({ tag: `short${i}`, name: 'k' }, KB.repeat(10), 500)
    const big = { tag: 'big', name: 'k' }
    const text = KB.repeat(1600)
    await vi.advanceTimersByTimeAsync(400)
    await expect(store.kv.add(big, text, HOUR_MS)).rejects.toThrow(StoreUnavailable)
    await vi.advanceTimersByTimeAsync(5000)
    expect(await store.kv.add(big, text, HOUR_MS)).toBe(text)
    await store.close()
  })

  it('sets no timer that outlives the last record or the store', async () => {
    const store = memoryStore()
    const keys = ['a', 'b'].map((name) => ({ tag: 't', name }))
    for (const key of keys) await store.kv.add(key, 'v', HOUR_MS)
    await store.kv.delete(keys)
    expect(vi.getTimerCount()).toBe(0)
    for (const key of keys) await store.kv.add(key, 'v', HOUR_MS)
    await store.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('S64 sets another timer where the one that was set has died with its request', async () => {
    const store = memoryStore()
    await store.kv.add({ tag: 'a', name: 'k' }, 'v', 500)
    vi.clearAllTimers()
    vi.setSystemTime(Date.now() + 5000)
    await store.kv.add({ tag: 'b', name: 'k' }, 'v', 500)
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(3000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('S03 ends each life at its ms, unless it is renewed', async () => {
    const store = memoryStore()
    const key = { tag: 't', name: 'k' }
    await store.kv.add(key, 'v', 1000)
    vi.setSystemTime(Date.now() + 999)
    expect(await store.kv.get(key)).toBe('v')
    expect(await store.kv.ttl(key)).toBe(1)
    expect(await store.kv.get(key, 1000)).toBe('v')
    vi.setSystemTime(Date.now() + 999)
    expect(await store.kv.ttl(key)).toBe(1)
    vi.setSystemTime(Date.now() + 1)
    expect(await store.kv.get(key)).toBeUndefined()
    await store.close()
  })

  it('has a clock that never goes back', async () => {
    const store = memoryStore()
    const before = store.now()
    vi.setSystemTime(before - 60_000)
    expect(store.now()).toBe(before)
    const { last } = await store.log.append({ tag: 't', name: 'g' }, ['x'], { ttlMs: 1000, limit: AMPLE })
    expect(last).toBe(before)
    vi.setSystemTime(before + 1)
    expect(store.now()).toBe(before + 1)
    await store.close()
  })
})

describe('memoryStore', () => {
  it('keeps no process alive by its timer', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const store = memoryStore()
    await store.kv.add({ tag: 't', name: 'k' }, 'v', HOUR_MS)
    const timers = set.mock.results.map(({ value }) => value as NodeJS.Timeout)
    set.mockRestore()
    expect(timers).toHaveLength(1)
    expect(timers[0]!.hasRef()).toBe(false)
    await store.close()
  })

  it('caps topics at 100,000 entries, and events at little more than 10,000', async () => {
    const store = memoryStore()
    const held = async (topic: string) => {
      const { place } = await store.bus.subscribe(topic, { ttlMs: HOUR_MS }, () => {})
      for (let i = 0; i < 101_000; i++) void store.bus.publish(topic, 'x', { token: `${i}` })
      const { entries, gap } = await store.bus.read(topic, place, 200_000)
      expect(gap).toBe(true)
      expect(entries.at(-1)!.n).toBe(place + 101_000)
      return entries.length
    }
    const inbox = await held('inbox:node')
    expect(inbox).toBeGreaterThan(99_000)
    expect(inbox).toBeLessThanOrEqual(100_000)
    const events = await held('events')
    expect(events).toBeGreaterThanOrEqual(10_000)
    expect(events).toBeLessThanOrEqual(10_500)
    await store.close()
  })

  it('tells a follower in one batch what one turn of the loop has published', async () => {
    const store = memoryStore()
    const batches: string[][] = []
    await store.bus.subscribe('topic', { ttlMs: HOUR_MS }, (entries) => batches.push(entries.map(({ text }) => text)))
    await store.bus.publish('topic', 'first', { token: 'first' })
    await vi.waitFor(() => expect(batches).toEqual([['first']]))
    for (const text of ['a', 'b', 'c']) void store.bus.publish('topic', text, { token: text })
    expect(batches).toEqual([['first']])
    await vi.waitFor(() => expect(batches).toEqual([['first'], ['a', 'b', 'c']]))
    await store.close()
  })

  it('refuses to use a kv record as a log', async () => {
    const store = memoryStore()
    await store.kv.add({ tag: 't', name: 'k' }, 'v', HOUR_MS)
    const append = store.log.append({ tag: 't', name: 'k' }, ['x'], { ttlMs: HOUR_MS, limit: AMPLE })
    await expect(append).rejects.toThrow('t/k is not a log')
    expect(await store.kv.get({ tag: 't', name: 'k' })).toBe('v')
    await store.close()
  })

  it('R33 holds nothing once it is closed', async () => {
    const store = memoryStore()
    const key = { tag: 't', name: 'k' }
    const heard: string[] = []
    await store.kv.add(key, 'v', HOUR_MS)
    await store.bus.subscribe('topic', { ttlMs: HOUR_MS }, (entries) => heard.push(...entries.map(({ text }) => text)))
    const published = store.bus.publish('topic', 'x', { token: 't' })
    await store.close()
    await store.close()
    expect(await published).toBeGreaterThan(0)
    await expect(store.kv.get(key)).rejects.toThrow(StoreUnavailable)
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual([])
  })
})
