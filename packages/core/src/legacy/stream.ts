// A call's own stream: one writer that numbers, sends first and appends behind; and its resumption by whoever comes.
import { nanoid } from 'nanoid'
import type { Outlet } from '../answer.ts'
import type { Call } from '../calls.ts'
import { Connection } from '../connection.ts'
import { type Reply, refuse } from '../exchange.ts'
import type { Node } from '../node.ts'
import { REVISIONS } from '../protocol.ts'
import * as REFUSE from '../refusals.ts'
import { frame, primingFrame, retryFrame, SSE_HEADERS } from '../sse.ts'
import type { Key } from '../store.ts'
import { type Owners, ownerText } from './owners.ts'
import { PAGE, RETRY_MS, type Readers } from './reader.ts'
import type { SessionRef, Sessions } from './session.ts'

const STREAM_ID = /^[\w-]{12}$/
/** A cursor may be ahead of what is stored, since events go out first; but not by any number. */
const AHEAD = 100_000
/** A client that was hung up on comes back after this, if the handler says nothing else. */
const HANG_UP_RETRY_MS = 1000

export interface CallStreams {
  /** The stream of a call that turns into one. */
  open(call: Call, ref: SessionRef): Outlet
  /** 2025-11-25: ends the connection, not the stream, once it can be resumed. */
  hangUp(call: Call, retryMs: number | undefined): Promise<void>
  /** Another connection for a stream (D-03, D-05). */
  resume(ref: SessionRef, streamId: string, after: number): Promise<Reply>
  /** The session is over: its streams end, with nothing stored any more. */
  drop(sessionId: string): void
  /** Resolves when what was said is stored, or can't be. */
  settled(): Promise<void>
}

interface Shared {
  readonly node: Node
  readonly sessions: Sessions
  readonly readers: Readers
  readonly writers: Map<string, Writer>
  readonly limit: { entries: number; bytes: number }
  readonly ttlMs: number
  /** How long a stream can be resumed after its end. */
  readonly keptMs: number
  /** The session is gone. */
  readonly gone: (ref: SessionRef) => void
}

class Writer implements Outlet {
  readonly id: string = nanoid(12)
  readonly key: Key
  readonly reply: Reply
  readonly #shared: Shared
  readonly #call: Call
  readonly #ref: SessionRef
  readonly #connection: Connection
  /** Events go straight to the first connection, for as long as nobody else has attached. */
  #direct = true
  /** making: the record is not there yet, so no id may go out. bare: there is none, so no id ever will. */
  #state: 'making' | 'stored' | 'bare' = 'making'
  #held: string[] = []
  #last = 0
  /** Events up to #last that are not stored yet. */
  #behind: string[] = []
  #behindSize = 0
  #ended = false
  /** The record lives for as long as the call runs, whether it says something or not. */
  readonly #release: () => void
  /** Settles when it is known whether the stream has a record. */
  readonly #made: Promise<void>
  #work: Promise<void>

  constructor(shared: Shared, call: Call, ref: SessionRef) {
    this.#shared = shared
    this.#call = call
    this.#ref = ref
    this.key = { tag: ref.id, name: `stream:${this.id}` }
    this.#connection = new Connection(shared.node, () => {
      this.#direct = false
    })
    this.reply = { status: 200, headers: SSE_HEADERS, body: this.#connection }
    shared.writers.set(this.id, this)
    this.#release = shared.sessions.use(ref, this.key)
    this.#made = this.#make()
    this.#work = this.#made
  }

  get settled(): Promise<void> {
    return this.#work
  }

  message(json: string): void {
    if (this.#state === 'making') this.#held.push(json)
    else this.#emit(json)
  }

  end(json: string | undefined): void {
    if (json !== undefined) this.message(json)
    this.#ended = true
    if (this.#state !== 'making') this.#finish()
  }

  /** Somebody else reads now, or will: all goes through the log. */
  letGo(retryMs?: number): void {
    if (this.#state !== 'stored' || !this.#direct) return
    if (retryMs !== undefined) this.#connection.write(retryFrame(retryMs))
    this.#direct = false
    this.#connection.end()
  }

  /** Ends the connection that reads it, wherever that is. */
  async hangUp(retryMs: number): Promise<void> {
    await this.#made
    if (this.#state !== 'stored') return
    this.letGo(retryMs)
    const { node, readers, limit, ttlMs } = this.#shared
    try {
      const { reader } = await node.store.log.append(this.key, [], { guard: this.#ref.key, ttlMs, limit })
      await readers.hangUp(this.key, reader, retryMs)
    } catch (error) {
      this.#report(error)
    }
  }

  /** Nothing more is stored. */
  drop(): void {
    this.#state = 'bare'
    this.#behind = []
    this.#connection.end()
    this.#over()
  }

  #over(): void {
    this.#shared.writers.delete(this.id)
    this.#release()
  }

  async #make(): Promise<void> {
    const { node, ttlMs, limit } = this.#shared
    try {
      await node.fleet.join()
      const { state } = await node.store.log.append(this.key, [], {
        guard: this.#ref.key,
        ttlMs,
        limit,
        first: 1,
        owner: ownerText(node.id, this.#call.message.id),
        reader: node.id,
      })
      this.#state = state === 'ok' ? 'stored' : 'bare'
      if (state === 'gone') this.#shared.gone(this.#ref)
    } catch (error) {
      // The store is away: the stream goes on, but can't be resumed.
      this.#report(error)
      this.#state = 'bare'
    }
    if (this.#state === 'stored' && REVISIONS[this.#call.version].priming) {
      this.#connection.write(primingFrame(`${this.id}.0`))
    }
    for (const json of this.#held) this.#emit(json)
    this.#held = []
    if (this.#ended) this.#finish()
  }

  #emit(json: string): void {
    if (this.#state === 'bare') {
      this.#connection.write(frame(json))
      return
    }
    this.#last++
    if (this.#direct) this.#connection.write(frame(json, `${this.id}.${this.#last}`))
    this.#behind.push(json)
    this.#behindSize += json.length
    // The store may be away: the oldest go first, the newest, which may be the answer, never.
    while (this.#behindSize > this.#shared.limit.bytes && this.#behind.length > 1) {
      this.#behindSize -= this.#behind.shift()!.length
    }
    this.#flush()
  }

  #finish(): void {
    if (this.#direct) this.#connection.end()
    if (this.#state === 'stored') this.#flush()
    else this.drop()
  }

  /** Appends what is behind, one batch after the other; what is said in one go becomes one batch. */
  #flush(): void {
    if (this.#flushing) return
    this.#flushing = true
    this.#work = this.#append()
  }
  #flushing = false

  async #append(): Promise<void> {
    await undefined
    while (this.#state === 'stored' && (this.#behind.length > 0 || this.#ended)) {
      if (await this.#appendBatch()) break
    }
    // In one go with the last look at what is behind: something said in between would stay there.
    this.#flushing = false
  }

  /** True: there is nothing more to append. */
  async #appendBatch(): Promise<boolean> {
    const { node, readers, limit, ttlMs, keptMs } = this.#shared
    const batch = this.#behind
    const end = this.#ended
    const first = this.#last - batch.length + 1
    this.#behind = []
    this.#behindSize = 0
    try {
      const { state, reader } = await node.store.log.append(this.key, batch, {
        guard: this.#ref.key,
        ttlMs: end ? keptMs : ttlMs,
        limit,
        first,
        ...(end ? { end: true } : {}),
      })
      if (state === 'gone') this.#shared.gone(this.#ref)
      // "ended": this node was thought dead, and somebody has ended the stream. That end is the answer.
      if (state !== 'ok') this.drop()
      else {
        if (reader !== node.id) this.letGo()
        readers.wake(this.key, reader).catch((error) => this.#report(error))
      }
      if (end) this.#over()
      return end
    } catch (error) {
      this.#report(error)
      this.#behind = [...batch, ...this.#behind]
      this.#behindSize = this.#behind.reduce((size, text) => size + text.length, 0)
      if (node.stopped) return true
      await new Promise<void>((resolve) => node.timers.after(RETRY_MS, resolve))
      return false
    }
  }

  #report(error: unknown): void {
    this.#shared.node.report(error, 'stream', this.#call.message.method, this.#ref.id)
  }
}

export function createCallStreams(
  node: Node,
  sessions: Sessions,
  readers: Readers,
  owners: Owners,
  ttlMs: number,
  gone: (ref: SessionRef) => void,
): CallStreams {
  const { maxEvents, maxBytes, maxAgeMs } = node.settings.streams
  const writers = new Map<string, Writer>()
  const byCall = new WeakMap<Call, Writer>()
  const limit = { entries: maxEvents, bytes: maxBytes }
  const shared: Shared = { node, sessions, readers, writers, limit, ttlMs, keptMs: Math.min(maxAgeMs, ttlMs), gone }

  // A reader of the log is told by its own; but the first connection reads no log.
  node.fleet.receive('let-go', ({ log }) => writers.get(String(log).split(' stream:')[1] ?? '')?.letGo())

  return {
    open(call, ref) {
      const writer = new Writer(shared, call, ref)
      byCall.set(call, writer)
      return writer
    },
    hangUp: async (call, retryMs = HANG_UP_RETRY_MS) => byCall.get(call)?.hangUp(retryMs),
    async resume(ref, streamId, after) {
      if (!STREAM_ID.test(streamId)) return refuse(REFUSE.eventUnknown)
      await node.fleet.join()
      const key: Key = { tag: ref.id, name: `stream:${streamId}` }
      const attached = await node.store.log.read(key, node.id, { guard: ref.key, take: 'attach', after, max: PAGE })
      const { state, oldest, last, ended, owner } = attached
      if (state === 'gone') return refuse(REFUSE.sessionUnknown)
      const isLegal = state === 'ok' && after >= oldest - 1 && after <= (ended ? last : last + AHEAD)
      if (!isLegal) return refuse(REFUSE.eventUnknown)
      writers.get(streamId)?.letGo()
      const reader = readers.open(
        { ref, key, frame: ({ n, text }) => frame(text, `${streamId}.${n}`) },
        attached,
        after,
      )
      node.observe('stream', { state: 'resume' })
      reader.start(attached)
      if (reader.open && owner !== undefined) owners.watch(owner, reader, { ttlMs: shared.keptMs, limit })
      return { status: 200, headers: SSE_HEADERS, body: reader.connection }
    },
    drop(sessionId) {
      for (const writer of [...writers.values()]) {
        if (writer.key.tag !== sessionId) continue
        writer.drop()
        node.store.kv.delete([writer.key]).catch(() => {}) // it runs out by itself
      }
    },
    async settled() {
      await Promise.all([...writers.values()].map((writer) => writer.settled))
    },
  }
}
