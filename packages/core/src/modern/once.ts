// ctx.once: a side effect that happens once for a call, however often and on however many nodes its handler runs.
import { nanoid } from 'nanoid'
import type { Node } from '../node.ts'
import type { Awaitable, Json } from '../server.ts'
import type { Key } from '../store.ts'

/** How long the outcome is kept: longer than any state that could ask for it lives. */
const ONCE_MS = 2 * 3_600_000
const LONGEST_PAUSE_MS = 500
const WAIT_MS = 5000

/** A claim, or the outcome that took its place. */
type Entry = { by: string; node: string } | { result: Json | null }

export function createOnce(
  node: Node,
): <T extends Json | void>(chain: string, key: string, fn: () => Awaitable<T>) => Promise<T> {
  const { store, fleet } = node

  async function outcome(at: Key): Promise<Json | null> {
    const start = store.now()
    for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const text = await store.kv.get(at)
      if (text === undefined) throw new Error('ctx.once: the other run of this call has failed: try again')
      const entry = JSON.parse(text) as Entry
      if ('result' in entry) return entry.result
      const isOver = store.now() - start > WAIT_MS || (await fleet.leaseLeft(entry.node)) === 0
      // It may have happened or not: running it again could make it happen twice.
      if (isOver) throw new Error('ctx.once: the outcome of the other run of this call is unknown')
      await new Promise<void>((resolve) => node.timers.after(pauseMs, resolve))
    }
  }

  return async <T extends Json | void>(chain: string, key: string, fn: () => Awaitable<T>): Promise<T> => {
    await fleet.join()
    const at: Key = { tag: `chain:${chain}`, name: `once:${key}` }
    const claim = JSON.stringify({ by: nanoid(), node: node.id } satisfies Entry)
    const there = await store.kv.add(at, claim, ONCE_MS)
    if (there !== claim) {
      const entry = JSON.parse(there!) as Entry
      return ('result' in entry ? entry.result : await outcome(at)) as T
    }
    let result: T
    try {
      result = await fn()
    } catch (error) {
      await store.kv.delete([at])
      throw error
    }
    await store.kv.swap(at, claim, JSON.stringify({ result: result ?? null } satisfies Entry), ONCE_MS)
    return result
  }
}
