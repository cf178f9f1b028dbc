// What the memory store holds: records by tag and name, their lives, and the bound on all of them together.
import { type Key, StoreUnavailable } from '../store.ts'
import { type Numbered, sizeOf, trim } from './numbered.ts'

/** What has expired and nobody asks for is dropped by a sweep, which looks at so many records at a time. */
const SWEEP_MS = 1000
const SWEEP_RECORDS = 10_000
/** What a record and an entry take beside their texts, measured on Node 24 and rounded up. */
const TEXT_BYTES = 160
const NUMBERED_BYTES = 512
const ENTRY_BYTES = 128
/** After making room, this much of the bound is free, so that the next step need not make room again. */
const SLACK = 1 / 8

interface Held {
  readonly name: string
  /** By the store's clock, ms. */
  expires: number
}

export interface TextRecord extends Held {
  readonly kind?: undefined
  value: string
}

interface NumberedRecord extends Held, Numbered {
  readonly tag: string
  readonly value?: undefined
  /** What it counts for in the bound. */
  weight: number
}

export interface LogRecord extends NumberedRecord {
  readonly kind: 'log'
  readonly owner: string | undefined
  reader: string | undefined
  ticket: number
  claimed: number
  note: string | undefined
  ended: boolean
}

export interface TopicRecord extends NumberedRecord {
  readonly kind: 'topic'
}

type StoredRecord = TextRecord | LogRecord | TopicRecord

export class Records {
  readonly #maxBytes: number
  /** Most tags hold one record: it stands here itself, and only a second one makes a map. */
  readonly #tags = new Map<string, StoredRecord | Map<string, StoredRecord>>()
  /** Logs that could give room: of more than one entry, or ended. The longest here come first. */
  readonly #spareLogs = new Set<LogRecord>()
  readonly #spareTopics = new Set<TopicRecord>()
  #bytes = 0
  #now = 0
  #closed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #sweepDue = 0
  #walk: Iterator<[tag: string, held: StoredRecord | Map<string, StoredRecord>]> | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** ms; never goes back, even where the system's clock does. */
  now(): number {
    const now = Date.now()
    if (now > this.#now) this.#now = now
    return this.#now
  }

  /** The time at which a step takes place. Throws once the store is closed. */
  step(): number {
    if (this.#closed) throw new StoreUnavailable('the memory store is closed')
    return this.now()
  }

  find(key: Key, at: number): StoredRecord | undefined {
    const held = this.#tags.get(key.tag)
    if (held === undefined) return undefined
    const record = held instanceof Map ? held.get(key.name) : held.name === key.name ? held : undefined
    if (record === undefined || record.expires > at) return record
    this.remove(key.tag, record)
    return undefined
  }

  /** Its name must be free. Throws if there is no room for it. */
  put(tag: string, record: StoredRecord): void {
    if (record.kind === undefined) {
      const weight = weightOfText(tag, record)
      this.#room(weight)
      this.#bytes += weight
    } else this.settle(record)
    const held = this.#tags.get(tag)
    if (held === undefined) this.#tags.set(tag, record)
    else if (held instanceof Map) held.set(record.name, record)
    else {
      this.#tags.set(
        tag,
        new Map([
          [held.name, held],
          [record.name, record],
        ]),
      )
    }
    this.#arm()
  }

  remove(tag: string, record: StoredRecord): void {
    const held = this.#tags.get(tag)
    if (held === record) this.#tags.delete(tag)
    else if (!(held instanceof Map) || held.get(record.name) !== record) return
    else {
      held.delete(record.name)
      if (held.size === 1) for (const only of held.values()) this.#tags.set(tag, only)
    }
    if (record.kind === undefined) this.#bytes -= weightOfText(tag, record)
    else {
      this.#bytes -= record.weight
      if (record.kind === 'log') this.#spareLogs.delete(record)
      else this.#spareTopics.delete(record)
    }
    if (this.#tags.size === 0) this.#disarm()
  }

  /** Gives a text record another value, or throws if there is no room for it. */
  rewrite(record: TextRecord, value: string): void {
    const more = sizeOf(value) - sizeOf(record.value)
    this.#room(more)
    this.#bytes += more
    record.value = value
  }

  /** Throws if there is no room for these entries, and for their record where it is new. */
  roomFor(entries: readonly string[], isNew: boolean): void {
    let bytes = isNew ? NUMBERED_BYTES : 0
    for (const text of entries) bytes += ENTRY_BYTES + sizeOf(text)
    this.#room(bytes)
  }

  /** Counts a record anew after its entries have changed. */
  settle(record: LogRecord | TopicRecord): void {
    const weight = NUMBERED_BYTES + record.items.length * ENTRY_BYTES + record.bytes
    this.#bytes += weight - record.weight
    record.weight = weight
    const spare = record.items.length > 1
    if (record.kind === 'topic') spare ? this.#spareTopics.add(record) : this.#spareTopics.delete(record)
    else spare || record.ended ? this.#spareLogs.add(record) : this.#spareLogs.delete(record)
  }

  /**
   * Frees what a step needs: first all but the last entry of logs, then logs that have ended, then all but the last
   * entry of topics. Records of sessions and what else is in the kv are never dropped: the step is refused instead.
   */
  #room(bytes: number): void {
    if (bytes <= 0 || this.#bytes + bytes <= this.#maxBytes) return
    const enough = () => this.#bytes + bytes <= this.#maxBytes * (1 - SLACK)
    const shorten = (record: LogRecord | TopicRecord) => {
      trim(record, 1, 0)
      this.settle(record)
    }
    for (const log of this.#spareLogs) {
      if (enough()) return
      shorten(log)
    }
    for (const log of this.#spareLogs) {
      if (enough()) return
      this.remove(log.tag, log)
    }
    for (const topic of this.#spareTopics) {
      if (enough()) return
      shorten(topic)
    }
    if (this.#bytes + bytes > this.#maxBytes) throw new StoreUnavailable('the memory store is full')
  }

  close(): void {
    this.#closed = true
    this.#tags.clear()
    this.#spareLogs.clear()
    this.#spareTopics.clear()
    this.#bytes = 0
    this.#disarm()
  }

  #arm(): void {
    // A timer that is long overdue has died with the request that set it, as on Workers.
    if (this.#timer !== undefined && this.#now < this.#sweepDue + SWEEP_MS) return
    this.#sweepDue = this.#now + SWEEP_MS
    const timer = setTimeout(() => {
      if (this.#timer === timer) this.#sweep()
    }, SWEEP_MS)
    this.#timer = timer
    // It alone keeps no process alive.
    ;(timer as unknown as { unref?(): void }).unref?.()
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#walk = undefined
  }

  /** Goes on where the last one stopped, so that a great many sessions cost no long pause. */
  #sweep(): void {
    this.#timer = undefined
    const at = this.now()
    this.#walk ??= this.#tags.entries()
    for (let seen = 0; seen < SWEEP_RECORDS; ) {
      const next = this.#walk.next()
      if (next.done) {
        this.#walk = undefined
        break
      }
      const [tag, held] = next.value
      const records = held instanceof Map ? held.values() : [held]
      for (const record of records) {
        seen++
        if (record.expires <= at) this.remove(tag, record)
      }
      if (this.#walk === undefined) return // nothing is left
    }
    this.#arm()
  }
}

function weightOfText(tag: string, { name, value }: TextRecord): number {
  return TEXT_BYTES + tag.length + name.length + sizeOf(value)
}
