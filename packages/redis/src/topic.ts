// A topic that is followed here, and those who follow it, each from a place of its own.
import type { Entry, Why } from '@fairlead/core'
import type { TopicKeys } from './keys.ts'

/** A topic in the store, at some time: its last number, and the one before its first. */
export interface Found {
  last: number
  before: number
}

type StreamEntry = [id: string, fields: string[]]
export type TopicReply = [isWhole: number, last?: number | null, entries?: StreamEntry[]]

/** What READ_TOPIC gives. `last` is undefined where there is no topic. */
export function topicReply([isWhole, last, entries]: TopicReply): {
  isWhole: boolean
  last?: number
  entries: Entry[]
} {
  return { isWhole: isWhole === 1, last: last ?? undefined, entries: entriesOf(entries ?? []) }
}

export function entriesOf(entries: readonly StreamEntry[]): Entry[] {
  return entries.map(([id, fields]) => ({ n: Number.parseInt(id, 10), text: fields[1]! }))
}

export class Follower {
  readonly ttlMs: number
  readonly #on: (entries: Entry[], why: Why) => void
  /** The last number that it was told of. */
  place: number
  /** The last number that it is done with. */
  done = 0
  stopped = false
  /** Something may be missing after its place, or it was cut off: the topic is looked at before it is followed on. */
  look: 'place' | 'back' | undefined

  constructor(place: number, ttlMs: number, on: (entries: Entry[], why: Why) => void) {
    this.place = place
    this.ttlMs = ttlMs
    this.#on = on
  }

  handled(n: number): void {
    this.done = Math.max(this.done, n)
  }

  /** True if the topic is not, or no longer, the one that its place is in. */
  compare({ last, before }: Found): boolean {
    if (this.place >= before && this.place <= last) return false
    this.look ??= 'place'
    return true
  }

  /** What a blocking read gave, which may begin before this place. */
  heard(entries: Entry[]): void {
    // A look is due, and reads them again.
    if (this.look) return
    const fresh = entries[0]!.n > this.place ? entries : entries.filter(({ n }) => n > this.place)
    if (fresh.length > 0) this.#tell(fresh, fresh[0]!.n === this.place + 1 ? 'live' : 'gap')
  }

  /** What the look gave. */
  looked(entries: Entry[], isWhole: boolean, last: number): void {
    const why = isWhole ? (this.look === 'back' ? 'back' : 'live') : 'gap'
    this.look = undefined
    if (!isWhole && entries.length === 0) this.place = last
    if (entries.length > 0 || why !== 'live') this.#tell(entries, why)
  }

  #tell(entries: Entry[], why: Why): void {
    if (this.stopped) return
    this.place = entries.at(-1)?.n ?? this.place
    try {
      this.#on(entries, why)
    } catch {
      // The others still hear, and so does it the next time.
    }
  }
}

export class Topic {
  readonly keys: TopicKeys
  readonly followers: Set<Follower> = new Set()
  /** Read again at most each so many ms. */
  readonly pauseMs: number
  /** Local time, ms: not read before that. */
  pausedUntil = 0
  /** The place from which the read under way gives entries. */
  readFrom = 0

  constructor(keys: TopicKeys, pauseMs: number) {
    this.keys = keys
    this.pauseMs = pauseMs
  }

  /** All that comes after this is news to some follower. */
  get place(): number {
    let place = Number.POSITIVE_INFINITY
    for (const follower of this.followers) place = Math.min(place, follower.place)
    return place
  }

  /** The shortest life that a follower gives it. */
  get ttlMs(): number {
    let ttlMs = Number.POSITIVE_INFINITY
    for (const follower of this.followers) ttlMs = Math.min(ttlMs, follower.ttlMs)
    return ttlMs
  }

  heard(entries: Entry[]): void {
    this.pausedUntil = Date.now() + this.pauseMs
    for (const follower of [...this.followers]) follower.heard(entries)
  }
}
