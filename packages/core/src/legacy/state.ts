// What the legacy era keeps: sessions with their streams, asks and members, put together.
import type { Call } from '../calls.ts'
import { notificationText } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { Settings } from '../options.ts'
import type { Principal, Session } from '../server.ts'
import type { Timer } from '../timers.ts'
import { createAsks, type LegacyAsks } from './asks.ts'
import { createListings, type Listings } from './listings.ts'
import { createMembers, type Members } from './members.ts'
import { createOwners } from './owners.ts'
import { createReaders } from './reader.ts'
import { createSessions, type EndReason, type SessionRecord, type SessionRef, type Sessions } from './session.ts'
import { createStandalone, type Standalone } from './standalone.ts'
import { type CallStreams, createCallStreams } from './stream.ts'

export interface State {
  readonly sessions: Sessions
  readonly streams: CallStreams
  readonly standalone: Standalone
  readonly asks: LegacyAsks
  readonly members: Members
  readonly listings: Listings
  /** undefined: no room for another one. */
  start(
    first: Pick<SessionRecord, 'version' | 'client' | 'listings'>,
    principal: Principal | undefined,
  ): Promise<SessionRef | undefined>
  /** False: there was none. */
  end(ref: SessionRef, reason: EndReason): Promise<boolean>
  /** The session as the app sees it. */
  sessionOf(ref: SessionRef): Session
  session(id: string): Promise<Session | undefined>
  refOf(call: Call): SessionRef | undefined
  /** The call takes its time: its session is in use, and other nodes may have to reach it. */
  runsLong(call: Call): void
  subscribe(ref: SessionRef, uri: string, on: boolean): Promise<void>
  close(): Promise<void>
}

/** Another node that has ended a session tells so within this time. */
const TELL_MS = 1000
/** How long a close waits for a store that is away. */
const SETTLE_MS = 2000

export function createState(node: Node, { ttlMs, max }: Exclude<Settings['sessions'], false>): State {
  const { calls, changes, store, fleet, settings, timers } = node
  const sessions = createSessions(node, ttlMs, max, { evict, expired: gone })
  const readers = createReaders(node, sessions, gone)
  const streams = createCallStreams(node, sessions, readers, createOwners(node), ttlMs, gone)
  const standalone: Standalone = createStandalone(node, sessions, readers, ttlMs, (ref) => ping(ref))
  const asks = createAsks(node, standalone, refOf, streams.hangUp)
  const members = createMembers(node, ttlMs)
  const listings = createListings(node, sessions, standalone)
  const long = new WeakSet<Call>()

  /** Sessions that this node is ending. */
  const ending = new Set<string>()
  /** Sessions that are not there any more, and of which no other node has said yet that it has ended them. */
  const missing = new Map<string, Timer>()

  fleet.receive('ended', ({ session }) => {
    const id = session as string
    timers.clear(missing.get(id))
    missing.delete(id)
    drop(id)
  })

  /** What this node holds of a session that is over: calls, streams, asks. */
  function drop(id: string): void {
    const error = new DOMException('the session has ended', 'AbortError')
    streams.drop(id)
    calls.each((call) => {
      if (call.session?.id === id) call.cancel(error)
    })
    readers.drop(id)
    asks.drop(id)
    sessions.forget(id)
    node.server.ended?.(id)
  }

  /** It is not in the store any more. Who has ended it tells the app; if nobody has, its home node does (R06). */
  function gone({ id }: SessionRef): void {
    const isHome = sessions.isKnown(id)
    drop(id)
    if (!isHome || ending.has(id)) return
    if (node.ownsStore) tellApp(id, 'expired')
    else
      missing.set(
        id,
        timers.after(TELL_MS, () => tellMissing(id)),
      )
  }

  function tellMissing(id: string): void {
    missing.delete(id)
    tellApp(id, 'expired')
  }

  function tellApp(id: string, reason: EndReason): void {
    const told = async () => settings.onSessionEnd?.({ id }, reason)
    told().catch((error) => node.report(error, 'onSessionEnd', undefined, id))
  }

  /** The nodes that may have something of it, which have to hear of its end. */
  async function nodesOf(ref: SessionRef): Promise<string[]> {
    const [nodes, reader] = await Promise.all([members.nodes(ref), standalone.readerOf(ref)])
    return [...new Set(reader === undefined ? nodes : [...nodes, reader])].filter((id) => id !== node.id)
  }

  async function end(ref: SessionRef, reason: EndReason): Promise<boolean> {
    const record = await sessions.peek(ref)
    if (!record) return false
    const nodes = new Set(await nodesOf(ref))
    if (record.node !== node.id) nodes.add(record.node)
    ending.add(ref.id)
    try {
      if (!(await sessions.remove(ref))) return false
    } finally {
      ending.delete(ref.id)
    }
    drop(ref.id)
    tellApp(ref.id, reason)
    await Promise.all([...nodes].map((id) => fleet.tell(id, { kind: 'ended', session: ref.id })))
    return true
  }

  /** Another node renews what it uses at each third of the TTL. */
  async function isBusyElsewhere(ref: SessionRef): Promise<boolean> {
    return (await store.kv.ttl(ref.key)) > (ttlMs * 2) / 3 && (await nodesOf(ref)).length > 0
  }

  async function evict(ref: SessionRef): Promise<boolean> {
    if (await isBusyElsewhere(ref)) return false
    if (!(await end(ref, 'evicted'))) gone(ref)
    return true
  }

  function refOf(call: Call): SessionRef | undefined {
    return call.session && sessions.ref(call.session.id, call.principal)
  }

  async function ping(ref: SessionRef): Promise<unknown> {
    const record = await sessions.find(ref)
    if (!record) throw new Error('the session is over')
    return asks.request(ref, record, 'ping', undefined, { timeoutMs: settings.streams.pingTimeoutMs })
  }

  function sessionOf(ref: SessionRef): Session {
    return {
      id: ref.id,
      ...(ref.principal ? { principal: ref.principal } : {}),
      get: (key) => sessions.getValue(ref, key) as Promise<never>,
      set: (key, value) => sessions.setValue(ref, key, value),
      async send(method, params) {
        const { state, isRead } = await standalone.send(ref, notificationText(method, params))
        if (state !== 'ok') return 'gone'
        return isRead ? 'delivered' : 'kept'
      },
      async request(method, params, options) {
        const record = await sessions.peek(ref)
        if (!record) throw new Error('the session is over')
        return asks.request(ref, record, method, params, options)
      },
      async end() {
        await end(ref, 'closed')
      },
    }
  }

  return {
    sessions,
    streams,
    standalone,
    asks,
    members,
    listings,
    async start(first, principal) {
      listings.know(first.listings ?? {})
      const record: SessionRecord = {
        v: 1,
        ...first,
        createdAt: store.now(),
        node: node.id,
        events: await changes.place(),
      }
      return sessions.start(record, principal)
    },
    end,
    sessionOf,
    async session(id) {
      const ref = await sessions.locate(id)
      return ref && sessionOf(ref)
    },
    refOf,
    runsLong(call) {
      const ref = refOf(call)
      if (!ref || long.has(call)) return
      long.add(call)
      call.whenOver(sessions.use(ref))
      members.join(call, ref).catch((error) => node.report(error, 'members', call.message.method, ref.id))
    },
    async subscribe(ref, uri, on) {
      const place = await changes.place()
      await sessions.update(ref, (record) => {
        const { [uri]: had, ...others } = record.subscriptions ?? {}
        if ((had !== undefined) === on) return undefined
        return { ...record, subscriptions: on ? { ...others, [uri]: place } : others }
      })
      await standalone.wantsChanged(ref)
    },
    async close() {
      // What was said goes out and is stored, and the next nodes learn how far the streams came.
      const late = new Promise<void>((resolve) => timers.after(SETTLE_MS, resolve))
      await Promise.race([streams.settled().then(() => readers.close()), late])
      for (const id of missing.keys()) tellMissing(id)
      if (node.ownsStore) {
        for (const { id } of sessions.refs()) {
          drop(id)
          tellApp(id, 'closed')
        }
      }
      sessions.close()
    },
  }
}
