import { describe, expect, it } from 'vitest'
import { memoryStore } from '../memory-store.ts'
import type { Store } from '../store.ts'
import { type Unreliability, unreliable } from './unreliable.ts'

const key = { tag: 't', name: 'k' }

/** A store that writes down what it is asked. */
function written(options: Unreliability): { store: Store; calls: unknown[][] } {
  const inner = memoryStore()
  const calls: unknown[][] = []
  const watched = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const method = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          calls.push([name, ...args])
          return method.apply(target, args)
        }
      },
    })
  const store = { ...inner, kv: watched(inner.kv), log: watched(inner.log), bus: watched(inner.bus) }
  return { store: unreliable(store, options), calls }
}

describe('unreliable', () => {
  it('does a step again with the same arguments, and gives the reply to that', async () => {
    const { store, calls } = written({ loseEvery: 2 })
    await store.kv.add(key, 'v', 60_000)
    expect(calls).toEqual([['add', key, 'v', 60_000]])
    expect(await store.kv.delete([key])).toBe(false)
    expect(calls.slice(1)).toEqual([
      ['delete', [key]],
      ['delete', [key]],
    ])
    await store.close()
  })

  it('repeats neither an attach nor a subscription', async () => {
    const { store, calls } = written({ loseEvery: 1 })
    await store.log.append(key, ['x'], { ttlMs: 60_000, limit: { entries: 9, bytes: 99 }, token: 'a' })
    const { ticket } = await store.log.read(key, 'r', { take: 'attach', max: 9 })
    await store.log.read(key, 'r', { take: 'next', ticket, after: 0, max: 9 })
    const { stop, renew } = await store.bus.subscribe('topic', { ttlMs: 60_000 }, () => {})
    await renew()
    await stop()
    expect(calls.map(([name]) => name)).toEqual(['append', 'append', 'read', 'read', 'read', 'subscribe'])
    await store.close()
  })

  it('loses the same replies for the same seed, others for another', async () => {
    const losses = async (seed: number) => {
      const { store, calls } = written({ probability: 0.5, delayMs: 0, seed })
      for (let i = 0; i < 60; i++) await store.kv.get({ ...key, name: `${i}` })
      await store.close()
      return calls.map(([, asked]) => (asked as typeof key).name).join()
    }
    const [first, again, other] = [await losses(1), await losses(1), await losses(2)]
    expect(again).toBe(first)
    expect(other).not.toBe(first)
    const repeats = first.split(',').length - 60
    expect(repeats).toBeGreaterThan(10)
    expect(repeats).toBeLessThan(50)
  })

  it('delivers late, in order, and nothing after stop', async () => {
    const { store } = written({ probability: 0, delayMs: 3 })
    const heard: string[] = []
    let after = (): void => {}
    const { stop } = await store.bus.subscribe('topic', { ttlMs: 60_000 }, (entries) => {
      heard.push(...entries.map(({ text }) => text))
      if (heard.length >= 20) after()
    })
    const all = new Promise<void>((resolve) => {
      after = resolve
    })
    for (let i = 0; i < 20; i++) await store.bus.publish('topic', `${i}`, { token: `${i}` })
    await all
    expect(heard).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`))
    await Promise.all([store.bus.publish('topic', 'late', { token: 'late' }), stop()])
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(heard).toHaveLength(20)
    await store.close()
  })
})
