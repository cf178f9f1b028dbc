// Connections of this node that follow a log from a cursor: attach, replay, go on live, let go, leave.
import { Connection } from '../connection.ts'
import type { Node } from '../node.ts'
import { retryFrame } from '../sse.ts'
import type { Entry, Key, ReadResult } from '../store.ts'
import type { SessionRef, Sessions } from './session.ts'

/** Entries that are taken from the log in one step. */
export const PAGE = 64
/** A store that is away is asked again after this. */
export const RETRY_MS = 250
/** How long a reader on another node is waited for, to say how far it came. */
const OLD_READER_MS = 1000
/** After missed letters all logs are looked at, over this time. */
const LOOK_MS = 1000

export interface Following {
  readonly ref: SessionRef
  readonly key: Key
  /** What goes out for an entry; nothing for one that is skipped. */
  frame(entry: Entry): string | undefined
  /** How far it has come in what is not in the log: the next reader is told. */
  note?(): string
  /** It is over, for whatever reason. */
  closed?(): void
}

/** How far a reader came that is over. */
export interface Came {
  /** In the log. */
  after: number
  /** In what is not in the log. */
  note: string
}

export interface Readers {
  /** A new connection for a log that this node has attached to; whoever read it before lets go. Waits for `start`. */
  open(following: Following, attached: ReadResult, after: number): Reader
  /** Wakes the reader of a log, here or on its node. False: there is nobody, whatever the log says. */
  wake(key: Key, readerNode: string | undefined): Promise<boolean>
  /** Ends the connection that reads a log, here or on its node; its client comes back after `retryMs`. */
  hangUp(key: Key, readerNode: string | undefined, retryMs: number): Promise<void>
  /** The session is over: its readers end. */
  drop(sessionId: string): void
  /** What is being read goes out; then all leave. Resolves when the logs know. */
  close(): Promise<void>
}

export class Reader {
  readonly connection: Connection
  readonly ticket: number
  readonly following: Following
  /** How far the reader before this one came, where that is still about to say so. */
  readonly before: Promise<Came | undefined>
  /** Settles when it is known that nobody attached while this reader was made. */
  readonly confirmed: Promise<void>
  /** Settles when nothing more goes out. */
  readonly closed: Promise<void>
  /** The cursor: what went out. */
  after: number
  readonly #node: Node
  readonly #over: (reader: Reader, until: Promise<void> | undefined) => void
  readonly #gone: () => void
  readonly #confirm: () => void
  readonly #hasClosed: () => void
  #work: Promise<void> = Promise.resolve()
  /** From the beginning: what the attach has claimed is in hand until `start`. */
  #reading = true
  #again = false
  #isLetGo = false
  #open = true

  constructor(
    node: Node,
    following: Following,
    ticket: number,
    after: number,
    before: Promise<Came | undefined>,
    hooks: { over: (reader: Reader, until: Promise<void> | undefined) => void; gone: () => void },
  ) {
    this.#node = node
    this.following = following
    this.ticket = ticket
    this.after = after
    this.before = before
    this.#over = hooks.over
    this.#gone = hooks.gone
    ;({ promise: this.confirmed, resolve: this.#confirm } = Promise.withResolvers<void>())
    ;({ promise: this.closed, resolve: this.#hasClosed } = Promise.withResolvers<void>())
    this.connection = new Connection(node, () => this.leave())
  }

  get open(): boolean {
    return this.#open
  }

  /** Another one reads now, and this one is about to end. */
  get isLetGo(): boolean {
    return this.#isLetGo
  }

  /** Settles when no read is under way. */
  get settled(): Promise<void> {
    return this.#work
  }

  /** From where the reader before this one really came: what it had claimed and could not send is not lost. */
  goBack(after: number): void {
    this.after = Math.min(this.after, after)
  }

  /** Sends what the attach has read, and looks again: who has attached since could not tell this reader to let go. */
  start(attached: ReadResult): void {
    this.#took(attached)
    this.#reading = false
    if (this.#isLetGo) this.close()
    this.wake()
  }

  /** There may be something new. */
  wake(): void {
    if (this.#reading) this.#again = true
    else if (this.#open) this.#work = this.#read()
  }

  /** Another one reads now. What this one has claimed still goes out, since nobody else gets it. */
  letGo(): void {
    this.#isLetGo = true
    if (!this.#reading) this.close()
  }

  /** Ends in good order; the log is not told, since it has another reader or its end. */
  close(): void {
    this.#finish(undefined)
  }

  /** Ends, and gives the log up. */
  leave(): void {
    if (!this.#open) return
    const { key, ref, note } = this.following
    const left = this.#node.store.log
      .read(key, this.#node.id, {
        guard: ref.key,
        take: 'leave',
        ticket: this.ticket,
        after: this.after,
        max: 0,
        ...(note ? { note: note() } : {}),
      })
      .then(
        () => {},
        (error) => this.#node.report(error, 'stream', undefined, ref.id),
      )
    this.#finish(left)
  }

  /** It stays at hand `until` somebody else knows what it knows. */
  #finish(until: Promise<void> | undefined): void {
    if (!this.#open) return
    this.#open = false
    this.connection.end()
    this.#confirm()
    this.#hasClosed()
    this.#over(this, until)
  }

  /** Who has replaced it will ask for its note, and waits no longer than this. */
  #asked(): Promise<void> {
    return new Promise((resolve) => this.#node.timers.after(OLD_READER_MS, resolve))
  }

  #took({ entries, ended, last }: ReadResult): void {
    for (const entry of entries) {
      if (!this.connection.open) return
      if (entry.n <= this.after) continue
      const text = this.following.frame(entry)
      this.after = entry.n
      if (text !== undefined) this.connection.write(text)
    }
    if (ended && this.after >= last) this.close()
    else if (entries.length === PAGE) this.#again = true
  }

  async #read(): Promise<void> {
    this.#reading = true
    const { key, ref, note } = this.following
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
        if (read.state === 'ok') this.#took(read)
        else if (read.state === 'replaced' && note) this.#finish(this.#asked())
        else this.close()
        this.#confirm()
        if (read.state === 'gone') this.#gone()
      } catch {
        // The stream stays open, and what is there is read when the store comes back.
        this.#node.timers.after(RETRY_MS, () => this.wake())
        break
      }
    } while (this.#again && this.#open && !this.#isLetGo)
    this.#reading = false
    if (this.#isLetGo) this.close()
  }
}

/** `gone`: a session that was read for is over. */
export function createReaders(node: Node, sessions: Sessions, gone: (ref: SessionRef) => void): Readers {
  const { fleet, timers } = node
  /** The newest of each log; one that has left stays until the log knows. */
  const readers = new Map<string, Reader>()
  const leaving = new Set<Promise<void>>()
  const asked = new Map<string, (came: Came | undefined) => void>()
  const nameOf = ({ tag, name }: Key) => `${tag} ${name}`

  fleet.receive('wake', ({ log }) => readers.get(log as string)?.wake())
  fleet.receive('let-go', ({ log, ticket, from }) => {
    const reader = readers.get(log as string)
    const isOlder = reader !== undefined && reader.ticket < (ticket as number)
    const answer = async () => {
      if (isOlder) reader.letGo()
      const came = isOlder ? await cameOf(reader) : undefined
      if (from !== undefined) await fleet.tell(from as string, { kind: 'came', log, ticket, came })
    }
    answer().catch((error) => node.report(error, 'stream'))
  })
  fleet.receive('came', ({ log, ticket, came }) => asked.get(`${log} ${ticket}`)?.(came as Came | undefined))
  fleet.onMissed(() => {
    const all = [...readers.values()]
    for (const [i, reader] of all.entries()) timers.after(Math.floor((i * LOOK_MS) / all.length), () => reader.wake())
  })

  fleet.receive('hang-up', ({ log, retryMs }) => hangUp(log as string, retryMs as number))

  function hangUp(log: string, retryMs: number): void {
    const reader = readers.get(log)
    reader?.connection.write(retryFrame(retryMs))
    reader?.leave()
  }

  async function cameOf(reader: Reader): Promise<Came | undefined> {
    const { closed, following } = reader
    await closed
    return following.note && { after: reader.after, note: following.note() }
  }

  /** Tells the reader on another node to let go; what it has to say, if that is of use here. */
  async function replace(nodeId: string, log: string, ticket: number, isNoted: boolean): Promise<Came | undefined> {
    const question = `${log} ${ticket}`
    const { promise, resolve } = Promise.withResolvers<Came | undefined>()
    const timer = isNoted ? timers.after(OLD_READER_MS, () => resolve(undefined)) : undefined
    if (isNoted) asked.set(question, resolve)
    else resolve(undefined)
    try {
      const isThere = await fleet.tell(nodeId, { kind: 'let-go', log, ticket, ...(isNoted ? { from: node.id } : {}) })
      return isThere ? await promise : undefined
    } finally {
      timers.clear(timer)
      asked.delete(question)
    }
  }

  function cameBefore(following: Following, { previous, ticket }: ReadResult): Promise<Came | undefined> {
    const name = nameOf(following.key)
    if (previous === undefined) return Promise.resolve(undefined)
    if (previous === node.id) {
      const here = readers.get(name)
      return here && here.ticket < ticket ? cameOf(here) : Promise.resolve(undefined)
    }
    return replace(previous, name, ticket, following.note !== undefined).catch((error) => {
      node.report(error, 'stream', undefined, following.ref.id)
      return undefined
    })
  }

  return {
    open(following, attached, after) {
      const { ref, key } = following
      const name = nameOf(key)
      const release = sessions.use(ref, key)
      const reader: Reader = new Reader(node, following, attached.ticket, after, cameBefore(following, attached), {
        over(closed, until) {
          release()
          following.closed?.()
          const forget = () => {
            if (readers.get(name) === closed) readers.delete(name)
            if (until) leaving.delete(until)
          }
          if (!until) return forget()
          leaving.add(until)
          void until.then(forget)
        },
        gone: () => gone(ref),
      })
      const other = readers.get(name)
      // Replies may come in another order than the steps were done in.
      if (other?.open && other.ticket > reader.ticket) reader.letGo()
      else {
        readers.set(name, reader)
        other?.letGo()
      }
      return reader
    },
    async wake(key, readerNode) {
      const log = nameOf(key)
      if (readerNode === undefined) return false
      if (readerNode !== node.id) return fleet.tell(readerNode, { kind: 'wake', log })
      const reader = readers.get(log)
      reader?.wake()
      return reader?.open === true
    },
    async hangUp(key, readerNode, retryMs) {
      const log = nameOf(key)
      if (readerNode === node.id) hangUp(log, retryMs)
      else if (readerNode !== undefined) await fleet.tell(readerNode, { kind: 'hang-up', log, retryMs })
    },
    drop(sessionId) {
      for (const reader of [...readers.values()]) if (reader.following.ref.id === sessionId) reader.close()
    },
    async close() {
      await Promise.all([...readers.values()].map((reader) => reader.settled))
      for (const reader of [...readers.values()]) reader.leave()
      await Promise.all(leaving)
    },
  }
}
