// What each case of the contract is given: two views of one store, and names that nobody else has used.
import { nanoid } from 'nanoid'
import type { Append, Entry, Key, Read, ReadResult, Store, Subscription, Why } from '../store.ts'
import { same } from './check.ts'

/** A life that does not end while a case runs. */
export const LONG_MS = 600_000
/** A life whose end a case waits for. Nothing is said of what happens before that: a test machine may be slow. */
export const SHORT_MS = 60
/** Of few bytes or entries, no log of these cases is too long. */
export const AMPLE: Append['limit'] = { entries: 10_000, bytes: 10_000_000 }

export interface Scene {
  readonly a: Store
  readonly b: Store
  /** Keys of one call have one tag; another call has another. */
  keys<N extends string>(...names: N[]): Record<N, Key>
  topic(): string
}

export interface Case {
  readonly name: string
  run(scene: Scene): Promise<void>
}

export function scene(a: Store, b: Store): Scene {
  return {
    a,
    b,
    keys<N extends string>(...names: N[]) {
      const tag = nanoid()
      return Object.fromEntries(names.map((name) => [name, { tag, name }])) as unknown as Record<N, Key>
    },
    topic: () => `t-${nanoid()}`,
  }
}

/** An append of many writers, with a token of its own. */
export function many(more: Partial<Append> = {}): Append {
  return { ttlMs: LONG_MS, limit: AMPLE, token: nanoid(), ...more }
}

/** An append of the one writer, whose first entry has this number. */
export function one(first: number, more: Partial<Append> = {}): Append {
  return { ttlMs: LONG_MS, limit: AMPLE, first, ...more }
}

/** An append of nothing. */
export function poke(more: Partial<Append> = {}): Append {
  return { ttlMs: LONG_MS, limit: AMPLE, ...more }
}

export function attach(more: Partial<Read> = {}): Read {
  return { take: 'attach', max: 1000, ...more }
}

export function next(ticket: number, after: number, more: Partial<Read> = {}): Read {
  return { take: 'next', ticket, after, max: 1000, ...more }
}

export function leave(ticket: number, more: Partial<Read> = {}): Read {
  return { take: 'leave', ticket, max: 1000, ...more }
}

export function texts({ entries }: { entries: Entry[] }): string[] {
  return entries.map(({ text }) => text)
}

export function numbers({ entries }: { entries: Entry[] }): number[] {
  return entries.map(({ n }) => n)
}

/** `t0`, `t1`, … */
export function some(count: number, prefix = 't'): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`)
}

/** All of a log, read by an onlooker who becomes its reader. */
export async function contents(store: Store, key: Key): Promise<ReadResult> {
  const result = await store.log.read(key, `onlooker-${nanoid()}`, attach({ after: 0, max: 100_000 }))
  same(result.state, 'ok', 'reading the whole log')
  return result
}

export interface Follower extends Subscription {
  /** What it was told, in order. */
  readonly heard: Entry[]
  readonly whys: Why[]
  /** How many it had heard when it was first told of a gap. */
  gapAt: number | undefined
}

export async function follow(
  store: Store,
  topic: string,
  { after, ttlMs = LONG_MS }: { after?: number; ttlMs?: number } = {},
): Promise<Follower> {
  const told: Pick<Follower, 'heard' | 'whys' | 'gapAt'> = { heard: [], whys: [], gapAt: undefined }
  const subscription = await store.bus.subscribe(topic, { after, ttlMs }, (entries, why) => {
    if (why === 'gap') told.gapAt ??= told.heard.length
    told.whys.push(why)
    told.heard.push(...entries)
  })
  return Object.assign(told, subscription)
}
