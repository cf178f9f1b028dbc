// Connections of this node that follow a log from a cursor: attach, replay, go on live, let go, leave.
import { Connection } from '../connection.ts'
import type { Node } from '../node.ts'
import type { Entry, Key, ReadResult } from '../store.ts'
import type { SessionRef, Sessions } from './session.ts'

/** Entries that are taken from the log in one step. */
export const PAGE = 64
/** A store that is away is asked again after this. */
export const RETRY_MS = 250

export interface Following {
  readonly ref: SessionRef
  readonly key: Key
  /** What goes out for an entry; nothing for one that is skipped. */
  frame(entry: Entry, reader: Reader): string | undefined
  /** What the next reader should know; asked when this one leaves. */
  note?(): string
  /** It is over, for whatever reason. */
  closed?(): void
}

export interface Readers {
  /** A new connection for a log that this node has attached to; whoever read it before lets go. */
  open(following: Following, attached: ReadResult, after: number): Reader
  get(key: Key): Reader | undefined
  /** Wakes the reader of a log, here or on its node. */
  wake(key: Key, readerNode: string | undefined): void
  /** The session is over: its readers end. */
  drop(sessionId: string): void
  each(run: (reader: Reader) => void): void
}

export class Reader {
  readonly connection: Connection
  readonly ticket: number
  readonly following: Following
  /** The cursor: what went out. */
  after: number
  readonly #node: Node
  readonly #over: (reader: Reader) => void
  #reading = false
  #again = false
  #open = true

  constructor(node: Node, following: Following, ticket: number, after: number, over: (reader: Reader) => void) {
    this.#node = node
    this.following = following
    this.ticket = ticket
    this.after = after
    this.#over = over
    this.connection = new Connection(node, () => this.leave())
  }

  get open(): boolean {
    return this.#open
  }

  /** Sends what was read, and follows from there. */
  took({ entries, ended, last }: ReadResult): void {
    for (const entry of entries) {
      if (!this.connection.open) return
      const text = this.following.frame(entry, this)
      this.after = entry.n
      if (text !== undefined) this.connection.write(text)
    }
    if (ended && this.after >= last) this.close()
    else if (entries.length === PAGE) this.wake()
  }

  /** There may be something new. */
  wake(): void {
    if (this.#reading) this.#again = true
    else if (this.#open) void this.#read()
  }

  /** Ends in good order; the log is not told, since it has another reader or its end. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    this.connection.end()
    this.#over(this)
  }

  /** Ends, and gives the log up. */
  leave(): void {
    if (!this.#open) return
    this.close()
    const { key, ref, note } = this.following
    this.#node.store.log
      .read(key, this.#node.id, {
        guard: ref.key,
        take: 'leave',
        ticket: this.ticket,
        after: this.after,
        max: 0,
        ...(note ? { note: note() } : {}),
      })
      .catch((error) => this.#node.report(error, 'stream', undefined, ref.id))
  }

  async #read(): Promise<void> {
    this.#reading = true
    const { key, ref } = this.following
    do {
      this.#again = false
      try {
        const read = await this.#node.store.log.read(key, this.#node.id, {
          guard: ref.key,
          take: 'next',
          ticket: this.ticket,
          after: this.after,
          max: PAGE,
        })
        if (!this.#open) break
        if (read.state === 'ok') this.took(read)
        else this.close()
      } catch {
        // The stream stays open, and what is there is read when the store comes back.
        this.#node.timers.after(RETRY_MS, () => this.wake())
        break
      }
    } while (this.#again && this.#open)
    this.#reading = false
  }
}

export function createReaders(node: Node, sessions: Sessions): Readers {
  const readers = new Map<string, Reader>()
  const nameOf = ({ tag, name }: Key) => `${tag} ${name}`

  node.fleet.receive('wake', ({ log }) => readers.get(log as string)?.wake())
  node.fleet.receive('let-go', ({ log, ticket }) => {
    const reader = readers.get(log as string)
    if (reader && reader.ticket < (ticket as number)) reader.close()
  })
  node.fleet.onMissed(() => {
    for (const reader of readers.values()) reader.wake()
  })

  return {
    open(following, attached, after) {
      const name = nameOf(following.key)
      const release = sessions.use(following.ref)
      const reader: Reader = new Reader(node, following, attached.ticket, after, (closed) => {
        release()
        if (readers.get(name) === closed) readers.delete(name)
        following.closed?.()
      })
      const before = readers.get(name)
      readers.set(name, reader)
      before?.close()
      const { previous, ticket } = attached
      if (previous !== undefined && previous !== node.id) {
        node.fleet
          .tell(previous, { kind: 'let-go', log: name, ticket })
          .catch((error) => node.report(error, 'stream', undefined, following.ref.id))
      }
      return reader
    },
    get: (key) => readers.get(nameOf(key)),
    wake(key, readerNode) {
      if (readerNode === node.id) readers.get(nameOf(key))?.wake()
      else if (readerNode !== undefined) {
        node.fleet.tell(readerNode, { kind: 'wake', log: nameOf(key) }).catch((error) => node.report(error, 'stream'))
      }
    },
    drop(sessionId) {
      for (const reader of [...readers.values()]) if (reader.following.ref.id === sessionId) reader.close()
    },
    each(run) {
      for (const reader of [...readers.values()]) run(reader)
    },
  }
}
