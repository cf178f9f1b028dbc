// The standalone stream of a session: messages from any node, change notifications, one reader at a time.
import { type Change, type Placed, wantOf } from '../changes.ts'
import { type Reply, refuse } from '../exchange.ts'
import { notificationText } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { REVISIONS } from '../protocol.ts'
import * as REFUSE from '../refusals.ts'
import { frame, primingFrame, retryFrame, SSE_HEADERS } from '../sse.ts'
import { type Entry, type ReadResult, type State, StoreUnavailable } from '../store.ts'
import type { Timer } from '../timers.ts'
import { createOutbox, type Sent } from './outbox.ts'
import { PAGE, type Reader, type Readers } from './reader.ts'
import type { SessionRecord, SessionRef, Sessions } from './session.ts'

/** When a client should come back that was sent away by a drain. */
const DRAIN_RETRY_MS = 1000

const LISTINGS = ['tools', 'prompts', 'resources'] as const

export interface Standalone {
  /** A GET, with both cursors where it had an event id: the newest wins (R17, S18). */
  open(ref: SessionRef, record: SessionRecord, cursor?: Cursor): Promise<Reply>
  /** Appends for whoever reads, now or later. `deadline`, store time: not delivered after it. */
  send(ref: SessionRef, json: string, options?: { needReader?: true; deadline?: number }): Promise<Sent>
  /** The node that reads it, if there is one. */
  readerOf(ref: SessionRef): Promise<string | undefined>
  /** The session's subscriptions have changed. */
  wantsChanged(ref: SessionRef): Promise<void>
  /** Ends the streams in good order, so that their clients go elsewhere. */
  drain(): void
}

export interface Cursor {
  /** In the session's log. */
  n: number
  /** In `events`. */
  e: number
}

/** A message that is of no use after a time says so in front. */
function withDeadline(json: string, deadline: number | undefined): string {
  return deadline === undefined ? json : `@${deadline} ${json}`
}

function textOf({ text }: Entry, now: number): string | undefined {
  if (!text.startsWith('@')) return text
  const space = text.indexOf(' ')
  return Number(text.slice(1, space)) < now ? undefined : text.slice(space + 1)
}

function changeText(change: Change): string {
  return change.kind === 'resource'
    ? notificationText('notifications/resources/updated', { uri: change.uri })
    : notificationText(`notifications/${change.kind}/list_changed`)
}

/** One open standalone stream. */
class Holder {
  readonly reader: Reader
  readonly record: SessionRecord
  wants: ReadonlySet<string> = new Set()
  /** Place in `events` up to which the session was served. */
  place: number
  ping: Timer | undefined
  /** Begins, then follows the session's subscriptions: one thing after the other. */
  work: Promise<void> = Promise.resolve()
  #subscriptions: Readonly<Record<string, number>> = {}
  /** Changes that came while what was missed is still being read. */
  #queue: Placed[] | undefined = []

  constructor(reader: Reader, record: SessionRecord, place: number) {
    this.reader = reader
    this.record = record
    this.place = place
    this.follow(record)
  }

  get cursor(): string {
    return `g.${this.reader.after}.${this.place}`
  }

  /** What the session wants to hear of. */
  follow({ subscriptions = {} }: SessionRecord): void {
    const resources = Object.keys(subscriptions).map((uri) => wantOf({ kind: 'resource', uri }))
    this.wants = new Set<string>([...LISTINGS, ...resources])
    this.#subscriptions = subscriptions
  }

  changed(changes: readonly Change[], place: number): void {
    if (this.#queue) for (const change of changes) this.#queue.push({ change, place })
    else this.#deliver(changes, place)
  }

  /** What was missed comes first, then what came meanwhile. */
  caughtUp(missed: readonly Placed[], upTo: number): void {
    this.#deliver(
      missed.filter(({ change, place }) => this.#isWanted(change, place)).map(({ change }) => change),
      upTo,
    )
    const queue = this.#queue ?? []
    this.#queue = undefined
    for (const { change, place } of queue) if (place > upTo) this.#deliver([change], place)
  }

  /** A subscription counts from where it began. */
  #isWanted(change: Change, place: number): boolean {
    return change.uri === undefined || place > (this.#subscriptions[change.uri] ?? Number.POSITIVE_INFINITY)
  }

  /** Of those that share a place only the last has an id: a cursor means that all of them were seen. */
  #deliver(changes: readonly Change[], place: number): void {
    // What a connection that is over has not sent is for the next one.
    if (!this.reader.open) return
    const wanted = changes.filter((change) => this.#isWanted(change, place))
    this.place = Math.max(this.place, place)
    wanted.forEach((change, i) => {
      const id = i === wanted.length - 1 ? this.cursor : undefined
      this.reader.connection.write(frame(changeText(change), id))
    })
  }
}

export function createStandalone(
  node: Node,
  sessions: Sessions,
  readers: Readers,
  ttlMs: number,
  ping: (ref: SessionRef) => Promise<unknown>,
): Standalone {
  const { store, changes, timers, settings } = node
  const limit = { entries: settings.streams.maxEvents, bytes: settings.streams.maxBytes }
  const holders = new Map<string, Holder>()
  const outbox = createOutbox(node, readers, ttlMs, limit)

  node.fleet.receive('wants', ({ session }) => {
    refreshed(session as string).catch((error) => node.report(error, 'stream', undefined, session as string))
  })

  /** The record of the stream is made on first need, and attached to. */
  async function attach(ref: SessionRef, cursor: Cursor | undefined): Promise<ReadResult> {
    for (;;) {
      const attached = await store.log.read(ref.standalone, node.id, {
        guard: ref.key,
        take: 'attach',
        max: PAGE,
        ttlMs,
        ...(cursor ? { after: cursor.n, note: String(cursor.e) } : {}),
      })
      if (attached.state !== 'unknown') return attached
      const { state } = await poke(ref)
      if (state === 'gone') return { ...attached, state }
    }
  }

  function poke(ref: SessionRef): Promise<{ state: State; reader?: string }> {
    return store.log.append(ref.standalone, [], { guard: ref.key, ttlMs, limit })
  }

  /** The stream goes on where the last one ended: with what is in the log, and with what was missed in `events`. */
  async function begin(holder: Holder, attached: ReadResult, isExact: boolean): Promise<void> {
    const { reader, record } = holder
    const before = isExact ? undefined : await reader.before
    let first = attached
    if (before) {
      holder.place = Number(before.note)
      if (before.after < reader.after) {
        reader.goBack(before.after)
        first = { ...attached, entries: [] }
      }
    }
    if (REVISIONS[record.version].priming) reader.connection.write(primingFrame(holder.cursor))
    reader.start(first)
    await reader.confirmed
    // Again: a subscription that was stored just before the attach has poked nobody.
    const now = await sessions.peek(reader.following.ref)
    if (!now || !reader.open) return
    holder.follow(now)
    const upTo = changes.listen(holder)
    const from = holder.place
    holder.caughtUp(from < upTo ? await changes.since(from, upTo, holder.wants) : [], upTo)
    schedulePing(holder)
  }

  async function refreshed(sessionId: string): Promise<void> {
    const holder = holders.get(sessionId)
    if (!holder) return
    holder.work = holder.work.then(() => refresh(holder))
    await holder.work
  }

  /** Reads the subscriptions again, and what came since a new one began. */
  async function refresh(holder: Holder): Promise<void> {
    const record = await sessions.peek(holder.reader.following.ref)
    if (!record || !holder.reader.open) return
    const before = holder.wants
    changes.unlisten(holder)
    holder.follow(record)
    const upTo = changes.listen(holder)
    for (const [uri, since] of Object.entries(record.subscriptions ?? {})) {
      const want = wantOf({ kind: 'resource', uri })
      if (before.has(want) || since >= upTo) continue
      for (const { change, place } of await changes.since(since, upTo, new Set([want]))) holder.changed([change], place)
    }
  }

  /** R24: a client that answers no ping loses this connection, and nothing else. */
  function schedulePing(holder: Holder): void {
    const { pingMs } = settings.streams
    if (pingMs === 0 || !holder.reader.open) return
    holder.ping = timers.after(pingMs, () => {
      ping(holder.reader.following.ref).then(
        () => schedulePing(holder),
        // It is not the client's fault if the store is away.
        (error) => (error instanceof StoreUnavailable ? schedulePing(holder) : holder.reader.leave()),
      )
    })
  }

  return {
    async open(ref, record, cursor) {
      await node.fleet.join()
      await changes.place()
      const attached = await attach(ref, cursor)
      if (attached.state === 'gone') return refuse(REFUSE.sessionUnknown)
      // Beyond the last means the last. What is no longer kept is not replayed from the middle: the stream goes on live.
      const isKept = !cursor || (cursor.n >= attached.oldest - 1 && cursor.n <= attached.last)
      const after = cursor ? (isKept ? cursor.n : attached.last) : (attached.entries[0]?.n ?? attached.last + 1) - 1
      let holder: Holder
      const reader = readers.open(
        {
          ref,
          key: ref.standalone,
          frame: (entry) => {
            const text = textOf(entry, store.now())
            return text === undefined ? undefined : frame(text, `g.${entry.n}.${holder.place}`)
          },
          note: () => String(holder.place),
          closed: () => {
            changes.unlisten(holder)
            timers.clear(holder.ping)
            if (holders.get(ref.id) === holder) holders.delete(ref.id)
          },
        },
        attached,
        after,
      )
      holder = new Holder(reader, record, cursor ? cursor.e : Number(attached.note ?? record.events))
      if (!reader.isLetGo) holders.set(ref.id, holder)
      if (cursor) node.observe('stream', { state: 'resume' })
      const first = isKept ? attached : { ...attached, entries: [] }
      holder.work = begin(holder, first, cursor !== undefined).catch((error) => {
        // The client comes back with the place that it had.
        node.report(error, 'stream', undefined, ref.id)
        reader.leave()
      })
      return { status: 200, headers: SSE_HEADERS, body: reader.connection }
    },
    send: (ref, json, { needReader, deadline } = {}) =>
      outbox.send(ref, withDeadline(json, deadline), needReader ?? false),
    readerOf: async (ref) => (await poke(ref)).reader,
    async wantsChanged(ref) {
      const { reader } = await poke(ref)
      if (reader === node.id) await refreshed(ref.id)
      else if (reader !== undefined) await node.fleet.tell(reader, { kind: 'wants', session: ref.id })
    },
    drain() {
      for (const holder of [...holders.values()]) {
        if (REVISIONS[holder.record.version].priming) holder.reader.connection.write(retryFrame(DRAIN_RETRY_MS))
        holder.reader.leave()
      }
    },
  }
}
