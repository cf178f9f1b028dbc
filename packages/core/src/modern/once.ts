// ctx.once: a side effect that happens once for a call, however often and on however many nodes its handler runs.
import { nanoid } from 'nanoid'
import type { Node } from '../node.ts'
import type { Awaitable, Json } from '../server.ts'
import type { Key } from '../store.ts'

/** How long an outcome is kept after it was asked for last: longer than any state that could ask for it lives. */
const ONCE_MS = 2 * 3_600_000
const LONGEST_PAUSE_MS = 500
const WAIT_MS = 5000

/** A claim; the outcome that took its place; or that it was given up, another one each time, so that no repeat frees a later one. */
type Entry = { by: string; node: string } | { result: Json | null } | { free: string }

/** Runs `fn` unless that was done under this key of this chain, and keeps its result, for `keepMs` at least. */
export type Once = <T extends Json | void>(
  chain: string,
  key: string,
  fn: () => Awaitable<T>,
  keepMs?: number,
) => Promise<T>

export function createOnce(node: Node): Once {
  const { store, fleet } = node

  /** What another run has made of it, or makes. */
  async function outcome(at: Key, keepMs: number): Promise<Json | null> {
    const start = store.now()
    for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const text = await store.kv.get(at, keepMs)
      const entry: Entry | undefined = text === undefined ? undefined : JSON.parse(text)
      if (entry && 'result' in entry) return entry.result
      if (entry && 'free' in entry) throw new Error('ctx.once: the other run of this call has failed: try again')
      const isLost = !entry || store.now() - start > WAIT_MS || (await fleet.leaseLeft(entry.node)) === 0
      // It may have happened or not: running it again could make it happen twice.
      if (isLost) throw new Error('ctx.once: the outcome of the other run of this call is unknown')
      await new Promise<void>((resolve) => node.timers.after(pauseMs, resolve))
    }
  }

  return async <T extends Json | void>(
    chain: string,
    key: string,
    fn: () => Awaitable<T>,
    keepMs: number = ONCE_MS,
  ): Promise<T> => {
    await fleet.join()
    const at: Key = { tag: `chain:${chain}`, name: `once:${key}` }
    const claim = JSON.stringify({ by: nanoid(), node: node.id } satisfies Entry)
    const there = (await store.kv.add(at, claim, keepMs))!
    const isOurs = there === claim || ('free' in JSON.parse(there) && (await store.kv.swap(at, there, claim, keepMs)))
    if (!isOurs) return (await outcome(at, keepMs)) as T
    let result: T
    try {
      result = await fn()
    } catch (error) {
      const free = JSON.stringify({ free: nanoid() } satisfies Entry)
      await store.kv.swap(at, claim, free, keepMs).catch((failure) => node.report(failure, 'once'))
      throw error
    }
    await store.kv.swap(at, claim, JSON.stringify({ result: result ?? null } satisfies Entry), keepMs)
    return result
  }
}
