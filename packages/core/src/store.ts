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
  /**
   * The value or undefined. `renewMs` gives it, and those of `also` (kv and logs of the same tag) that exist, a new
   * life; where it is absent itself, nothing is renewed. Never makes a key.
   */
  get(key: Key, renewMs?: number, also?: Key[]): Promise<string | undefined>
  /**
   * Stores if absent; returns what is there afterwards. Yours (make it unique per attempt) means that you won, on a
   * repeat too. What is there already keeps its life. undefined: the guard is absent and nothing was written.
   */
  add(key: Key, value: string, ttlMs: number, guard?: Key): Promise<string | undefined>
  /** `from` becomes `to`, with a new life. True also if it is `to` already. Never makes a key. */
  swap(key: Key, from: string, to: string, ttlMs: number): Promise<boolean>
  /** kv and log records of one tag, in one step. True if the first existed (a repeat says false). */
  delete(keys: Key[]): Promise<boolean>
  /** ms left of a kv or log record, 0 if absent. */
  ttl(key: Key): Promise<number>
}

export interface Append {
  /** Must exist, else `gone` and nothing is written. */
  guard?: Key
  /** New life of the log, in the same step; the log is made if absent, also by an append of nothing. */
  ttlMs: number
  /** The oldest entries go first, never the last one. Bytes are those of the texts. */
  limit: { entries: number; bytes: number }
  /**
   * The one writer numbers, from 1 up: entry i is first + i; those up to `last` are skipped, so a repeat does nothing.
   * It may leave numbers out. Give it also when the log is made without entries (then `last` is first - 1).
   */
  first?: number
  /**
   * Many writers: the store numbers (a new log starts at the store's clock in ms, then + 1). One token, made for this
   * append, stands for all its entries; a repeat finds it among the last 64 entries kept and writes nothing.
   */
  token?: string
  /** The store numbers, but above this and `last` (the end of a dead owner's stream). Takes a `token`. */
  above?: number
  /** Kept when the log is made. */
  owner?: string
  /** Becomes the reader when the log is made. */
  reader?: string
  /**
   * No append after this one: `ended`. Exactly one end is stored. A repeat of that one is told `ok`, known by its token
   * or, with `first`, by number and text.
   */
  end?: true
  /** Nothing is written without a reader: `noReader`. */
  needReader?: true
}

export interface Read {
  /** Must exist, else `gone`. */
  guard?: Key
  /**
   * attach: become the reader, with a new ticket, higher than any before; not repeated when its reply is lost.
   * next: only if still the reader, else `replaced`; a higher ticket than stored (the store lost it) is put back.
   * leave: be the reader no longer, if still it, else `replaced`; gives no entries.
   */
  take: 'attach' | 'next' | 'leave'
  /** From attach. */
  ticket?: number
  /** The reader's own cursor; attach without it starts at `claimed`. */
  after?: number
  /** Kept for the next reader, unless the step is refused. */
  note?: string
  /** So many entries at most. */
  max: number
  /** New life of the log. */
  ttlMs?: number
}

export interface Entry {
  n: number
  text: string
}

export interface Appended {
  state: State
  /** Number of the log's last entry; of the next one - 1 while there is none. 0: there is no log. */
  last: number
  reader?: string
  owner?: string
}

/** With a state other than `ok` there are no entries and nothing has changed. */
export interface ReadResult {
  state: State
  entries: Entry[]
  /**
   * From this number on nothing is missing: that of the oldest entry kept, once older ones have gone. A cursor below
   * oldest - 1 has missed some.
   */
  oldest: number
  last: number
  ended: boolean
  /** The current one. */
  ticket: number
  owner?: string
  /** attach: who was the reader before. */
  previous?: string
  /** As it was before this step. */
  note?: string
}

/** One record per stream: numbered entries, bounded by count, bytes and life, with a reader, an owner and an end. */
export interface Log {
  /**
   * No entries is a poke: renews, tells reader, owner and last. With a state other than `ok` nothing has changed.
   */
  append(key: Key, entries: string[], options: Append): Promise<Appended>
  /**
   * Claims: entries after the cursor, and `claimed` moved past them, in the same step as the check of the reader.
   * `unknown`: there is no such log; a read never makes one.
   */
  read(key: Key, reader: string, options: Read): Promise<ReadResult>
}

/**
 * gap: numbers are missing before these entries (there may be none of them). back: was cut off, nothing is missing.
 */
export type Why = 'live' | 'gap' | 'back'

export interface Subscription {
  /** The number after which entries are followed. */
  place: number
  /**
   * Entries up to n are done with and may be trimmed at the next renewal, all but the newest 64, which tokens are looked
   * for in. Without effect on the topic `events`, where those who come back read on from their place.
   */
  handled(n: number): void
  /** A new life for the topic. One that had lapsed is made again, and the follower hears of the gap. */
  renew(): Promise<void>
  /** Ends the following; the topic lives on until its life is over. */
  stop(): Promise<void>
}

/**
 * Topics are bounded logs with live followers; numbered as logs are; kept by life and by count: the topic `events` keeps
 * 10,000 entries, others 100,000 at most. A life is given by those who follow, not by those who publish.
 */
export interface Bus {
  /**
   * The entry's number. followed: only to a topic that exists, else 0 and nothing is written. A repeat finds its token
   * among the last 64 entries.
   */
  publish(topic: string, text: string, options: { token: string; followed?: true }): Promise<number>
  /**
   * Every later entry once, in order, in batches. Resolves when the place is known (`after`, else the end), and makes
   * the topic if absent; `on` is called after that, never inside of another call. What `on` throws stops nobody.
   */
  subscribe(
    topic: string,
    options: { after?: number; ttlMs: number },
    on: (entries: Entry[], why: Why) => void,
  ): Promise<Subscription>
  /** gap: what followed `after` is not all there any more. */
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
  /**
   * Said once by the transport, before its first step: the name of the server that it is for, so that a store which many
   * apps share can keep them apart. Throws where this store is another server's.
   */
  use?(info: { server: string }): void
  /** Lets go of what this view of the store holds. Calls after it reject with {@link StoreUnavailable}. */
  close(): Promise<void>
}

/** The store could not be reached in time; whether the step was done is not known. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}
