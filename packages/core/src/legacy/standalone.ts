// The standalone stream of a session: messages from any node, change notifications, one reader at a time.
import { nanoid } from 'nanoid'
import { type Change, type Placed, wantOf } from '../changes.ts'
import { type Reply, refuse } from '../exchange.ts'
import { notificationText } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { REVISIONS } from '../protocol.ts'
import * as REFUSE from '../refusals.ts'
import { frame, primingFrame, retryFrame, SSE_HEADERS } from '../sse.ts'
import type { Append, Appended, Entry, ReadResult } from '../store.ts'
import type { Timer } from '../timers.ts'
import { PAGE, type Reader, type Readers } from './reader.ts'
import type { SessionRecord, SessionRef, Sessions } from './session.ts'

/** How long the old holder of the stream is waited for, to say how far it came in `events`. */
const OLD_HOLDER_MS = 1000
/** When a client should come back that was sent away by a drain. */
const DRAIN_RETRY_MS = 1000

const LISTINGS = ['tools', 'prompts', 'resources'] as const

export interface Standalone {
  /** A GET, with both cursors where it had an event id: the newest wins (R17, S18). */
  open(ref: SessionRef, record: SessionRecord, cursor?: Cursor): Promise<Reply>
  /** Appends for whoever reads, now or later. `deadline`, store time: not delivered after it. */
  send(ref: SessionRef, json: string, options?: { needReader?: true; deadline?: number }): Promise<Appended>
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

/** What a session wants to hear of. */
function wantsOf(record: SessionRecord): ReadonlySet<string> {
  const uris = Object.keys(record.subscriptions ?? {})
  return new Set<string>([...LISTINGS, ...uris.map((uri) => wantOf({ kind: 'resource', uri }))])
}

function changeText(change: Change): string {
  return change.kind === 'resource'
    ? notificationText('notifications/resources/updated', { uri: change.uri })
    : notificationText(`notifications/${change.kind}/list_changed`)
}

/** One open standalone stream. */
class Holder {
  readonly reader: Reader
  wants: ReadonlySet<string>
  /** Place in `events` up to which this connection was served. */
  place: number
  ping: Timer | undefined
  subscriptions: Record<string, number>
  /** Changes that came while what was missed is still being read. */
  #queue: Placed[] | undefined = []

  constructor(reader: Reader, record: SessionRecord, place: number) {
    this.reader = reader
    this.wants = wantsOf(record)
    this.subscriptions = record.subscriptions ?? {}
    this.place = place
  }

  get cursor(): string {
    return `g.${this.reader.after}.${this.place}`
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
    return change.uri === undefined || place > (this.subscriptions[change.uri] ?? 0)
  }

  /** Of those that share a place only the last has an id: a cursor means that all of them were seen. */
  #deliver(changes: readonly Change[], place: number): void {
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
  const asked = new Map<string, (place: number) => void>()

  node.fleet.receive('place?', ({ session, from }) => {
    // The old holder is asked as it is told to let go; it answers with how far it came, or not at all.
    const holder = holders.get(session as string)
    if (!holder) return
    const { place } = holder
    holder.reader.close()
    node.fleet.tell(from as string, { kind: 'place', session, place }).catch((error) => node.report(error, 'stream'))
  })
  node.fleet.receive('place', ({ session, place }) => asked.get(session as string)?.(place as number))
  node.fleet.receive('wants', ({ session }) => {
    const holder = holders.get(session as string)
    if (holder) refresh(holder).catch((error) => node.report(error, 'stream', undefined, session as string))
  })

  /** The record of the stream is made on first need, and attached to. */
  async function attach(ref: SessionRef, cursor: Cursor | undefined): Promise<ReadResult> {
    for (;;) {
      const attached = await store.log.read(ref.standalone, node.id, {
        guard: ref.key,
        take: 'attach',
        max: PAGE,
        ttlMs,
        ...(cursor ? { after: cursor.n } : {}),
      })
      if (attached.state !== 'unknown') return attached
      const { state } = await store.log.append(ref.standalone, [], { guard: ref.key, ttlMs, limit })
      if (state === 'gone') return { ...attached, state }
    }
  }

  /** How far the holder before this one came in `events`. */
  async function placeBefore(ref: SessionRef, record: SessionRecord, attached: ReadResult): Promise<number> {
    const here = holders.get(ref.id)
    if (here) return here.place
    const { previous, note } = attached
    const noted = note === undefined ? record.events : Number(note)
    if (previous === undefined || previous === node.id) return noted
    const answer = new Promise<number>((resolve) => {
      const timer = timers.after(OLD_HOLDER_MS, () => resolve(noted))
      asked.set(ref.id, (place) => {
        timers.clear(timer)
        resolve(place)
      })
    })
    const isThere = await node.fleet.tell(previous, { kind: 'place?', session: ref.id, from: node.id })
    if (!isThere) asked.get(ref.id)?.(noted)
    const place = await answer
    asked.delete(ref.id)
    return place
  }

  async function catchUp(holder: Holder, from: number, upTo: number): Promise<void> {
    const missed = from < upTo ? await changes.since(from, upTo, holder.wants) : []
    holder.caughtUp(missed, upTo)
  }

  /** Reads the subscriptions again, and what came since a new one began. */
  async function refresh(holder: Holder): Promise<void> {
    const { ref } = holder.reader.following
    const record = await sessions.find(ref)
    if (!record || !holder.reader.open) return
    const before = holder.wants
    changes.unlisten(holder)
    holder.wants = wantsOf(record)
    holder.subscriptions = record.subscriptions ?? {}
    const upTo = changes.listen(holder)
    for (const [uri, since] of Object.entries(holder.subscriptions)) {
      const want = wantOf({ kind: 'resource', uri })
      if (before.has(want) || since >= upTo) continue
      for (const { change, place } of await changes.since(since, upTo, new Set([want]))) holder.changed([change], place)
    }
  }

  /** R24: a client that answers no ping loses this connection, and nothing else. */
  function schedulePing(holder: Holder): void {
    const { pingMs } = settings.streams
    if (pingMs === 0) return
    holder.ping = timers.after(pingMs, () => {
      ping(holder.reader.following.ref).then(
        () => holder.reader.open && schedulePing(holder),
        () => holder.reader.leave(),
      )
    })
  }

  return {
    async open(ref, record, cursor) {
      await node.fleet.join()
      const here = await changes.place()
      const attached = await attach(ref, cursor)
      if (attached.state === 'gone') return refuse(REFUSE.sessionUnknown)
      const before = cursor ? cursor.e : await placeBefore(ref, record, attached)
      // Beyond the last means the last. What is no longer kept is not replayed from the middle: the stream goes on live.
      const isKept = !cursor || (cursor.n >= attached.oldest - 1 && cursor.n <= attached.last)
      const after = cursor ? (isKept ? cursor.n : attached.last) : (attached.entries[0]?.n ?? attached.last + 1) - 1
      let holder: Holder
      const reader = readers.open(
        {
          ref,
          key: ref.standalone,
          frame: (entry, { after: _ }) => {
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
      holder = new Holder(reader, record, before)
      holders.set(ref.id, holder)
      const upTo = changes.listen(holder)
      if (REVISIONS[record.version].priming) reader.connection.write(primingFrame(holder.cursor))
      reader.took(isKept ? attached : { ...attached, entries: [] })
      schedulePing(holder)
      node.observe('stream', { state: cursor ? 'resume' : 'open' })
      catchUp(holder, before, Math.max(upTo, here)).catch((error) => {
        // The client comes back with the place that it had.
        node.report(error, 'stream', undefined, ref.id)
        reader.leave()
      })
      return { status: 200, headers: SSE_HEADERS, body: reader.connection }
    },
    async send(ref, json, options = {}) {
      const append: Append = {
        guard: ref.key,
        ttlMs,
        limit,
        token: nanoid(),
        ...(options.needReader ? { needReader: true } : {}),
      }
      const appended = await store.log.append(ref.standalone, [withDeadline(json, options.deadline)], append)
      if (appended.state === 'ok') readers.wake(ref.standalone, appended.reader)
      return appended
    },
    async wantsChanged(ref) {
      const holder = holders.get(ref.id)
      if (holder) return refresh(holder)
      const { reader } = await store.log.append(ref.standalone, [], { guard: ref.key, ttlMs, limit })
      if (reader !== undefined && reader !== node.id) await node.fleet.tell(reader, { kind: 'wants', session: ref.id })
    },
    drain() {
      for (const holder of [...holders.values()]) {
        holder.reader.connection.write(retryFrame(DRAIN_RETRY_MS))
        holder.reader.leave()
      }
    },
  }
}
