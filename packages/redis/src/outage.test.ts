// What happens while Redis is away, slow or cut off, and after it has come back.
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Entry, type Store, StoreUnavailable, type Why } from '@fairlead/core'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, inject, it, vi } from 'vitest'
import { freePort, type RedisServer, startRedis } from '../../../runtime-tests/redis/servers.ts'
import { newPrefix } from '../test-support/flavours.ts'
import { type FaultProxy, startProxy } from '../test-support/proxy.ts'
import { steps } from '../test-support/steps.ts'
import { redisStore } from './redis-store.ts'

const LIFE_MS = 60_000
const AMPLE = { entries: 1000, bytes: 1_000_000 }
const key = { tag: 's', name: 'session' }

const closing: (() => Promise<unknown> | void)[] = []
/** Closed after the test, the last one first. */
function using<T extends { close(): Promise<unknown> | void }>(thing: T): T {
  closing.push(() => thing.close())
  return thing
}
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function ownRedis(port?: number): Promise<RedisServer> {
  const server = await startRedis(port === undefined ? {} : { port })
  closing.push(() => server.stop())
  return server
}

/** Whatever would make commands wait, repeat or go elsewhere. */
const HOSTILE = {
  maxRetriesPerRequest: null,
  enableOfflineQueue: true,
  autoResendUnfulfilledCommands: true,
  retryStrategy: () => 60_000,
  reconnectOnError: () => 2 as const,
  commandTimeout: 60_000,
  connectTimeout: 60_000,
  socketTimeout: 60_000,
  enableAutoPipelining: true,
  stringNumbers: true,
  replyMapping: 'resp3' as const,
}

async function fails(store: Store): Promise<void> {
  const took = await Promise.all(
    Object.entries(steps).map(async ([name, step]) => {
      const start = performance.now()
      await expect(step(store, 's'), name).rejects.toThrow(StoreUnavailable)
      return performance.now() - start
    }),
  )
  expect(Math.max(...took)).toBeLessThan(3000)
}

async function works(store: Store): Promise<void> {
  await store.kv.add({ tag: 's', name: 'k' }, 'v', LIFE_MS)
  for (const [name, step] of Object.entries(steps)) await expect(step(store, 's'), name).resolves.toBeDefined()
}

describe('S58 Redis is away', () => {
  it('each method rejects within its bound, whatever the options of the client given, and works again by itself', async () => {
    const server = await ownRedis()
    const given = new Redis(server.url, { ...HOSTILE, lazyConnect: true })
    const store = using(redisStore(given, { prefix: newPrefix() }))
    await store.kv.add({ tag: 's', name: 'k' }, 'v', LIFE_MS)
    await server.stop()
    await fails(store)
    await ownRedis(server.port)
    await works(store)
  })

  it('a step that is waiting when Redis comes back in time is done', async () => {
    const port = await freePort()
    const store = using(redisStore(`redis://127.0.0.1:${port}`, { timeoutMs: 10_000 }))
    const added = store.kv.add(key, 'v', LIFE_MS)
    await sleep(100)
    await ownRedis(port)
    expect(await added).toBe('v')
  })

  it('a server that is silent is given up in time, and so is its connection', async () => {
    const server = await ownRedis()
    const proxy = using(await startProxy(server.url))
    const store = using(redisStore(proxy.url, { timeoutMs: 400 }))
    await store.kv.add({ tag: 's', name: 'k' }, 'v', LIFE_MS)
    proxy.freeze()
    await fails(store)
    proxy.thaw()
    await vi.waitFor(() => store.kv.ttl(key), { timeout: 5000 })
    await works(store)
  })

  it('a connection that can’t be made is no other: no server, or one that takes it and says nothing', async () => {
    const server = await ownRedis()
    const proxy = using(await startProxy(server.url))
    proxy.freeze()
    for (const url of [`redis://127.0.0.1:${await freePort()}`, proxy.url]) {
      await fails(using(redisStore(url, { timeoutMs: 300 })))
    }
  })

  it('S58 10,000 failing steps leave nothing behind, and no more than that may wait', async () => {
    const port = await freePort()
    const store = using(redisStore(`redis://127.0.0.1:${port}`, { timeoutMs: 100 }))
    const text = 'x'.repeat(1000)
    const flood = async (count: number) => {
      const calls = Array.from({ length: count }, (_, i) =>
        store.log.append({ tag: `s${i}`, name: 'g' }, [text + i], { ttlMs: LIFE_MS, limit: AMPLE, token: `${i}` }).then(
          () => 'done',
          (error: Error) => error.message,
        ),
      )
      return Promise.all(calls)
    }
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const heap = () => {
      collect()
      return process.memoryUsage().heapUsed
    }
    await flood(10_000)
    const before = heap()
    for (let round = 0; round < 5; round++) await flood(10_000)
    // More than 50 MB of texts went through it.
    expect(heap() - before).toBeLessThan(5_000_000)
    const outcomes = await flood(10_010)
    expect(outcomes.filter((outcome) => outcome.startsWith('10000 steps wait'))).toHaveLength(10)
    expect(outcomes.filter((outcome) => outcome.startsWith('Redis gave no reply'))).toHaveLength(10_000)
  })

  it('close does not wait for a server that is away, and ends what waits', async () => {
    const store = redisStore(`redis://127.0.0.1:${await freePort()}`)
    await store.bus.subscribe('t', { ttlMs: LIFE_MS }, () => {}).catch(() => {})
    const waiting = expect(store.kv.get(key)).rejects.toThrow(StoreUnavailable)
    const start = performance.now()
    await store.close()
    await waiting
    expect(performance.now() - start).toBeLessThan(1000)
  })
})

describe('a reply that is lost', () => {
  let proxy: FaultProxy
  let store: Store
  let direct: Store
  async function open(): Promise<void> {
    const prefix = newPrefix()
    proxy = using(await startProxy(inject('redisUrl')))
    store = using(redisStore(new Redis(proxy.url, { ...HOSTILE, lazyConnect: true }), { prefix }))
    direct = using(redisStore(inject('redisUrl'), { prefix }))
    // The scripts are known to the server, so a request holds no text of theirs.
    await works(direct)
    await store.kv.ttl(key)
  }
  const log = { tag: 's', name: 'lost' }
  const append = (on: Store, text: string) =>
    on.log.append(log, [text], { ttlMs: LIFE_MS, limit: AMPLE, token: `token of ${text}` })

  it('leads to the same step once more, and that finds the first', async () => {
    await open()
    proxy.loseReplyTo('once-only')
    const { state, last } = await append(store, 'once-only')
    expect(state).toBe('ok')
    const read = await direct.log.read(log, 'r', { take: 'attach', after: 0, max: 10 })
    expect(read.entries).toEqual([{ n: last, text: 'once-only' }])
    expect(proxy.requests('token of once-only')).toBe(2)

    proxy.loseReplyTo('published')
    const { place } = await direct.bus.subscribe('lost', { ttlMs: LIFE_MS }, () => {})
    expect(await store.bus.publish('lost', 'published', { token: 't' })).toBe(place + 1)
    expect((await direct.bus.read('lost', place, 10)).entries).toHaveLength(1)

    proxy.loseReplyTo('winner')
    expect(await store.kv.add({ tag: 's', name: 'add' }, 'winner', LIFE_MS)).toBe('winner')
  })

  it('of an attach leads to no other: it was done once, and the caller is told that nobody knows', async () => {
    await open()
    await append(direct, 'x')
    const before = await direct.log.read(log, 'before', { take: 'attach', max: 10 })
    proxy.loseReplyTo('lost-reader')
    const attach = store.log.read(log, 'lost-reader', { take: 'attach', max: 10 })
    await expect(attach).rejects.toThrow(StoreUnavailable)
    expect(proxy.requests('lost-reader')).toBe(1)
    const { previous, ticket } = await direct.log.read(log, 'after', { take: 'attach', max: 10 })
    expect(previous).toBe('lost-reader')
    expect(ticket).toBeGreaterThan(before.ticket)
  })

  it('of an append that nothing tells from its repeat leads to no other', async () => {
    await open()
    proxy.loseReplyTo('bare-append')
    const bare = store.log.append(log, ['bare-append'], { ttlMs: LIFE_MS, limit: AMPLE })
    await expect(bare).rejects.toThrow(StoreUnavailable)
    expect(proxy.requests('bare-append')).toBe(1)
  })
})

describe('followers', () => {
  async function following(store: Store, topic: string, ttlMs = LIFE_MS) {
    const told: [why: Why, texts: string[]][] = []
    const subscription = await store.bus.subscribe(topic, { ttlMs }, (entries: Entry[], why) => {
      told.push([why, entries.map(({ text }) => text)])
    })
    return { told, subscription }
  }
  let tokens = 0
  const publish = (store: Store, topic: string, text: string) =>
    store.bus.publish(topic, text, { token: `${tokens++}` })

  it('S60 that were cut off are told what came meanwhile, and that they were', async () => {
    const prefix = newPrefix()
    const proxy = using(await startProxy(inject('redisUrl')))
    const store = using(redisStore(proxy.url, { prefix }))
    const direct = using(redisStore(inject('redisUrl'), { prefix }))
    const topics = ['inbox:a', 'events']
    const followers = await Promise.all(topics.map((topic) => following(store, topic, 9000)))
    for (const topic of topics) await publish(direct, topic, 'before')
    await vi.waitFor(() =>
      expect(followers.map(({ told }) => told)).toEqual([[['live', ['before']]], [['live', ['before']]]]),
    )
    proxy.freeze()
    for (const topic of topics) for (const text of ['1', '2', '3']) await publish(direct, topic, text)
    await sleep(100)
    expect(followers.map(({ told }) => told.length)).toEqual([1, 1])
    proxy.thaw()
    // A third of a lease, and two seconds: then the silent connection is found out.
    await vi.waitFor(
      () => {
        for (const { told } of followers) expect(told[1]).toEqual(['back', ['1', '2', '3']])
      },
      { timeout: 15_000 },
    )
    await publish(direct, 'inbox:a', 'after')
    await vi.waitFor(() => expect(followers[0]!.told[2]).toEqual(['live', ['after']]))
  })

  it('hear of the gap where Redis has lost all, at once, and go on', async () => {
    const server = await ownRedis()
    const prefix = newPrefix()
    const store = using(redisStore(server.url, { prefix }))
    const { told, subscription } = await following(store, 'inbox:a')
    await publish(store, 'inbox:a', 'before')
    await vi.waitFor(() => expect(told).toHaveLength(1))
    await server.stop()
    await sleep(50)
    await ownRedis(server.port)
    await vi.waitFor(() => expect(told[1]).toEqual(['gap', []]), { timeout: 5000 })
    // It can be reached again before anybody has renewed it.
    expect(await store.bus.publish('inbox:a', 'after', { token: 'x', followed: true })).toBeGreaterThan(
      subscription.place,
    )
    await vi.waitFor(() => expect(told[2]).toEqual(['live', ['after']]))
  })

  it('of `events` read again at most each 10 ms; other topics at once', async () => {
    const server = await ownRedis()
    const client = new Redis(server.url)
    closing.push(() => client.disconnect())
    const store = using(redisStore(server.url))
    const events = await following(store, 'events')
    const inbox = await following(store, 'inbox:a')
    const start = performance.now()
    let sent = 0
    while (performance.now() - start < 300) await publish(store, 'events', `${sent++}`)
    await vi.waitFor(() => expect(events.told.flatMap(([, texts]) => texts)).toHaveLength(sent))
    expect(sent).toBeGreaterThan(60)
    expect(events.told.length).toBeLessThanOrEqual((performance.now() - start) / 10 + 2)

    await sleep(30)
    const waits: number[] = []
    for (let i = 0; i < 20; i++) {
      await publish(store, 'events', 'x')
      const before = performance.now()
      await publish(store, 'inbox:a', 'x')
      await vi.waitFor(() => expect(inbox.told).toHaveLength(i + 1), { interval: 0.1 })
      waits.push(performance.now() - before)
    }
    // Had it waited for the pause of `events`, it would be 10 ms each time.
    expect(waits.sort((a, b) => a - b)[10]).toBeLessThan(8)
  })

  it('that do nothing cost one command per third of a lease', async () => {
    const server = await ownRedis()
    const client = new Redis(server.url)
    closing.push(() => client.disconnect())
    const store = using(redisStore(server.url))
    for (const topic of ['inbox:a', 'events']) await following(store, topic, 3000)
    await sleep(200)
    const processed = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))![1])
    const before = await processed()
    await sleep(1600)
    expect((await processed()) - before).toBeLessThanOrEqual(5)
  })
})
