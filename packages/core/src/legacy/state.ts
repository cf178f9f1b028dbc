// What the legacy era keeps: sessions with their streams, asks and members, put together.
import type { Call } from '../calls.ts'
import { notificationText } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { Settings } from '../options.ts'
import type { Principal, Session } from '../server.ts'
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

export function createState(node: Node, { ttlMs, max }: Exclude<Settings['sessions'], false>): State {
  const { calls, changes, store, fleet, settings } = node
  const sessions = createSessions(node, ttlMs, max, {
    evict: (ref) => end(ref, 'evicted'),
    expired: (ref) => over(ref.id, 'expired'),
  })
  const readers = createReaders(node, sessions)
  const gone = (ref: SessionRef) => over(ref.id, 'expired')
  const streams = createCallStreams(node, readers, createOwners(node), ttlMs, gone)
  const standalone: Standalone = createStandalone(node, sessions, readers, ttlMs, (ref) => ping(ref))
  const asks = createAsks(node, standalone, refOf, streams.hangUp)
  const members = createMembers(node, ttlMs)
  const listings = createListings(node, sessions, standalone)
  const long = new WeakSet<Call>()

  fleet.receive('ended', ({ session }) => drop(session as string))

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
  }

  /** Drops it, and tells the app if this node is its home. */
  function over(id: string, reason: EndReason): void {
    const isHome = sessions.isKnown(id)
    drop(id)
    if (isHome) tellApp(id, reason)
  }

  function tellApp(id: string, reason: EndReason): void {
    const told = async () => settings.onSessionEnd?.({ id }, reason)
    told().catch((error) => node.report(error, 'onSessionEnd', undefined, id))
  }

  async function end(ref: SessionRef, reason: EndReason): Promise<boolean> {
    const record = await sessions.peek(ref)
    if (!record) return false
    // Who has to hear of it is read before the records go.
    const poke = { guard: ref.key, ttlMs, limit: { entries: 1, bytes: 1 } }
    const [nodes, { reader }] = await Promise.all([members.nodes(ref), store.log.append(ref.standalone, [], poke)])
    if (!(await sessions.remove(ref))) return false
    drop(ref.id)
    tellApp(ref.id, reason)
    for (const id of new Set([...nodes, reader, record.node])) {
      if (id !== undefined && id !== node.id) await fleet.tell(id, { kind: 'ended', session: ref.id })
    }
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
        const { state, reader } = await standalone.send(ref, notificationText(method, params))
        if (state !== 'ok') return 'gone'
        return reader === undefined ? 'kept' : 'delivered'
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
      readers.each((reader) => reader.leave())
      await streams.settled()
      if (node.ownsStore) for (const { id } of sessions.refs()) over(id, 'closed')
      sessions.close()
    },
  }
}
