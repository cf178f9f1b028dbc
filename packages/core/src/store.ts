// The Store: three primitives (kv, log, bus) that carry all state of a transport.

/** Keys of one tag lie together; a step never spans two tags. */
export type Key = { tag: string; name: string }

/** How a step on a log ended. */
export type State =
  | 'ok'
  /** The guard is absent: the session is over and nothing was written. */
  | 'gone'
  /** The log has its end and takes nothing more. */
  | 'ended'
  /** There is no such log. */
  | 'unknown'
  /** Somebody else is the reader now. */
  | 'replaced'
  /** `needReader` was set and nobody reads. */
  | 'noReader'

/** Short texts with a life. Lives are in ms, by the store's clock. */
export interface Kv {
  /** The value or undefined. `renewMs` gives it, and those of `also` that exist, a new life. Never makes a key. */
  get(key: Key, renewMs?: number, also?: Key[]): Promise<string | undefined>
  /**
   * Stores if absent; returns what is there afterwards. Yours (make it unique per attempt) means that you won, on a
   * repeat too. undefined: the guard is absent and nothing was written.
   */
  add(key: Key, value: string, ttlMs: number, guard?: Key): Promise<string | undefined>
  /** `from` becomes `to`. True also if it is `to` already. Never makes a key. */
  swap(key: Key, from: string, to: string, ttlMs: number): Promise<boolean>
  /** kv and log records of one tag, in one step. True if the first existed. */
  delete(keys: Key[]): Promise<boolean>
  /** ms left, 0 if absent. */
  ttl(key: Key): Promise<number>
}

export interface Append {
  /** Must exist, else `gone` and nothing is written. */
  guard?: Key
  /** New life of the log, in the same step; the log is made if absent. */
  ttlMs: number
  /** The oldest entries go first, never the last one. */
  limit: { entries: number; bytes: number }
  /** The one writer numbers: entry i is first + i; those up to `last` are skipped, so a repeat does nothing. */
  first?: number
  /** Many writers: the store numbers (a new log starts at the store's clock in ms, then + 1); a repeat finds its token. */
  token?: string
  /** The store numbers, but above this (the end of a dead owner's stream). */
  above?: number
  /** Kept when the log is made. */
  owner?: string
  /** Becomes the reader when the log is made. */
  reader?: string
  /** No append after this one: `ended`. */
  end?: true
  /** Nothing is written without a reader: `noReader`. */
  needReader?: true
}

export interface Read {
  guard?: Key
  /** attach: become the reader, with a new ticket. next: only if still the reader; a higher ticket than stored is put back. */
  take: 'attach' | 'next' | 'leave'
  /** From attach. */
  ticket?: number
  /** The reader's own cursor; attach without it starts at `claimed`. */
  after?: number
  /** Kept for the next reader. */
  note?: string
  max: number
  ttlMs?: number
}

export interface Entry {
  n: number
  text: string
}

export interface Appended {
  state: State
  last: number
  reader?: string
  owner?: string
}

export interface ReadResult {
  state: State
  entries: Entry[]
  oldest: number
  last: number
  ended: boolean
  ticket: number
  owner?: string
  previous?: string
  note?: string
}

/** One record per stream: numbered entries, bounded by count, bytes and life, with a reader, an owner and an end. */
export interface Log {
  /** No entries is a poke: renews, tells reader, owner and last. */
  append(key: Key, entries: string[], options: Append): Promise<Appended>
  /** Claims: entries after the cursor, and `claimed` moved past them, in the same step as the check of the reader. */
  read(key: Key, reader: string, options: Read): Promise<ReadResult>
}

/** gap: numbers are missing. back: was cut off, nothing is missing. */
export type Why = 'live' | 'gap' | 'back'

export interface Subscription {
  /** The number after which entries are followed. */
  place: number
  /** Entries up to n are done with and may be trimmed. */
  handled(n: number): void
  renew(): Promise<void>
  stop(): Promise<void>
}

/** Topics are bounded logs with live followers; numbered as logs are; kept by count and life. */
export interface Bus {
  /** The entry's number. followed: only to a topic that exists, else 0 and nothing is written. A repeat finds its token. */
  publish(topic: string, text: string, options: { token: string; followed?: true }): Promise<number>
  /** Every later entry once, in order, in batches. Resolves when the place is known. */
  subscribe(
    topic: string,
    options: { after?: number; ttlMs: number },
    on: (entries: Entry[], why: Why) => void,
  ): Promise<Subscription>
  read(topic: string, after: number, max: number): Promise<{ entries: Entry[]; gap: boolean }>
}

/**
 * What nodes share, and all they share. One call is one step: whole or not at all, and harmless when repeated with
 * the same arguments, since a reply may be lost after the step was done. A call rejects with {@link StoreUnavailable}
 * within the store's own bound.
 */
export interface Store {
  readonly kv: Kv
  readonly log: Log
  readonly bus: Bus
  /** The store's clock, ms. */
  now(): number
  close(): Promise<void>
}

/** The store could not be reached in time; whether the step was done is not known. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}
