// Legacy sessions: the record in the store, its sliding life, its owner, its values.
import { nanoid } from 'nanoid'
import type { Node } from '../node.ts'
import type { ProtocolVersion } from '../protocol.ts'
import type { Context, Json, LogLevel, Principal } from '../server.ts'
import type { Key } from '../store.ts'
import type { Timer } from '../timers.ts'

/** 22 characters of 6 bits: 132 bits from a secure source (C-03). */
const ID_LENGTH = 22
const ID = /^[\w-]{22}$/
/** Parsed records at hand. Few, since idle sessions must stay cheap. */
const PARSED = 1024
/** A renewal younger than this share of the TTL is good enough at the end of a use. */
const FRESH = 1 / 20
/** Sessions that are looked at in one go when their time is up. */
const SWEEP = 100
/** Sessions that are looked at to find one that can be ended to make room. */
const EVICT_TRIES = 16
/** In the place of a record: the session is over, and whoever wrote it deletes the rest. */
const OVER = 'over '
const OVER_MS = 10_000

/** What is stored of a session (R06). `v` is the version of this shape. */
export interface SessionRecord {
  v: 1
  version: ProtocolVersion
  client: Context['client']
  /** Store time, ms. */
  createdAt: number
  /** The node that made it, which hears of its end. */
  node: string
  /** Place in `events` at which it began. */
  events: number
  /** `notifications/initialized` has come. */
  ready?: true
  logLevel?: LogLevel
  /** Subscribed URIs, each with the place in `events` from which it counts. */
  subscriptions?: Record<string, number>
  /** The fingerprints of the listings that it was given or told of last, and when it was told, store time. */
  listings?: Record<string, string>
  toldAt?: number
  /** Names the change of `listings`. */
  toldBy?: string
}

export type EndReason = 'deleted' | 'expired' | 'evicted' | 'closed'

/** Names a session for its owner: the name holds the principal, so that another one finds and renews nothing (C-08, S06). */
export interface SessionRef {
  readonly id: string
  readonly principal: Principal | undefined
  readonly key: Key
  /** The log of its standalone stream. */
  readonly standalone: Key
  /** Nodes that ran long calls of it, and late cancels. */
  readonly members: Key
  readonly values: Key
  /** The principal's id, for who knows the session by its id alone. */
  readonly owner: Key
}

export interface Sessions {
  /** Sessions that this node has started and that are not known to be over. */
  readonly count: number
  isKnown(id: string): boolean
  ref(id: string, principal: Principal | undefined): SessionRef | undefined
  /** undefined: this node has all the sessions that it may have, and all are busy. */
  start(record: SessionRecord, principal: Principal | undefined): Promise<SessionRef | undefined>
  /** The record, with its life renewed; undefined: no such session for this principal. */
  find(ref: SessionRef): Promise<SessionRecord | undefined>
  /** Changes the record; undefined: it is gone. `change` returns undefined to leave it as it is. */
  update(
    ref: SessionRef,
    change: (record: SessionRecord) => SessionRecord | undefined,
  ): Promise<SessionRecord | undefined>
  /** An open stream or a running call keeps it alive, and its log (R05, S04). Call the result when that ends. */
  use(ref: SessionRef, log?: Key): () => void
  /** The record as it is, no life renewed. */
  peek(ref: SessionRef): Promise<SessionRecord | undefined>
  /** By its id alone, whoever it belongs to. */
  locate(id: string): Promise<SessionRef | undefined>
  /** Deletes its records. False: there was none, or somebody else is at it. */
  remove(ref: SessionRef): Promise<boolean>
  /** It is over: nothing of it is kept here. */
  forget(id: string): void
  /** Those that this node has started. */
  refs(): SessionRef[]
  getValue(ref: SessionRef, name: string): Promise<Json | undefined>
  setValue(ref: SessionRef, name: string, value: Json): Promise<void>
  close(): void
}

/** Of a session that this node has started. */
interface Known {
  usedAt: number
  ref: SessionRef
}

interface Use {
  count: number
  logs: Key[]
  renewedAt: number
  timer: Timer | undefined
}

interface Hooks {
  /** Ends a session to make room. False: it is busy on another node. */
  evict(ref: SessionRef): Promise<boolean>
  /** It has come to the end of its life. */
  expired(ref: SessionRef): void
}

export function createSessions(node: Node, ttlMs: number, max: number, hooks: Hooks): Sessions {
  const { store, timers } = node
  /** By last use, the longest unused first. */
  const known = new Map<string, Known>()
  const uses = new Map<string, Use>()
  const parsed = new Map<string, { text: string; record: SessionRecord }>()
  let sweeper: Timer | undefined
  /** Sessions that are being made. */
  let starting = 0

  function refOf(id: string, principal: Principal | undefined): SessionRef {
    return {
      id,
      principal,
      key: { tag: id, name: principal ? `session:${encodeURIComponent(principal.id)}` : 'session' },
      standalone: { tag: id, name: 'g' },
      members: { tag: id, name: 'members' },
      values: { tag: id, name: 'values' },
      owner: { tag: id, name: 'owner' },
    }
  }

  function parse(id: string, text: string): SessionRecord {
    const hit = parsed.get(id)
    if (hit?.text === text) return hit.record
    const record = JSON.parse(text) as SessionRecord
    if (parsed.size >= PARSED) parsed.clear()
    parsed.set(id, { text, record })
    return record
  }

  /** The text of the record, with the session's other records and these logs renewed. */
  async function renew(ref: SessionRef, logs: readonly Key[] = []): Promise<string | undefined> {
    const others = [ref.standalone, ref.members, ref.values, ref.owner, ...logs]
    return living(await store.kv.get(ref.key, ttlMs, others))
  }

  function touch(id: string): void {
    const own = known.get(id)
    if (!own) return
    known.delete(id)
    own.usedAt = Date.now()
    known.set(id, own)
  }

  function forget(id: string): void {
    parsed.delete(id)
    const use = uses.get(id)
    if (use) timers.clear(use.timer)
    uses.delete(id)
    if (known.delete(id)) node.observe('session', { id, state: 'end' })
    if (known.size > 0) return
    timers.clear(sweeper)
    sweeper = undefined
  }

  function watch(): void {
    const [oldest] = known.values()
    if (sweeper || !oldest) return
    sweeper = timers.after(Math.max(oldest.usedAt + ttlMs - Date.now(), 0) + 1, () => void sweep())
  }

  /** Looks whether those that this node has not used for a TTL are over; another node may have used them. */
  async function sweep(): Promise<void> {
    const mine = sweeper
    const due: Known[] = []
    for (const own of known.values()) {
      if (own.usedAt + ttlMs > Date.now() || due.length === SWEEP) break
      due.push(own)
    }
    for (const own of due) {
      if (uses.has(own.ref.id)) {
        touch(own.ref.id)
        continue
      }
      try {
        const left = await store.kv.ttl(own.ref.key)
        if (left === 0) hooks.expired(own.ref)
        else if (known.get(own.ref.id) === own) {
          known.delete(own.ref.id)
          known.set(own.ref.id, { ...own, usedAt: Date.now() - (ttlMs - left) })
        }
      } catch {
        touch(own.ref.id) // the store is away: later
      }
    }
    if (sweeper === mine) sweeper = undefined
    watch()
  }

  /** Makes room by ending those that are unused for longest; a busy one is never touched. */
  async function makeRoom(): Promise<boolean> {
    const isRoom = () => known.size + starting <= max
    if (isRoom()) return true
    let tries = 0
    for (const { ref } of [...known.values()]) {
      if (uses.has(ref.id) || !known.has(ref.id)) continue
      if (!(await hooks.evict(ref))) touch(ref.id)
      if (isRoom()) return true
      if (++tries === EVICT_TRIES) break
    }
    return false
  }

  function keepAlive(ref: SessionRef, use: Use): void {
    use.timer = timers.after(ttlMs / 3, () => {
      use.renewedAt = Date.now()
      touch(ref.id)
      renew(ref, use.logs).then(
        (text) => {
          if (text === undefined) hooks.expired(ref)
        },
        () => {}, // the next third will do
      )
      keepAlive(ref, use)
    })
  }

  const sessions: Sessions = {
    get count() {
      return known.size
    },
    isKnown: (id) => known.has(id),
    ref: (id, principal) => (ID.test(id) ? refOf(id, principal) : undefined),
    async start(record, principal) {
      starting++
      const ref = refOf(nanoid(ID_LENGTH), principal)
      try {
        if (!(await makeRoom())) return undefined
        await store.kv.add(ref.key, JSON.stringify(record), ttlMs)
        if (principal) await store.kv.add(ref.owner, principal.id, ttlMs, ref.key)
        known.set(ref.id, { usedAt: Date.now(), ref })
      } finally {
        starting--
      }
      watch()
      node.observe('session', { id: ref.id, state: 'start' })
      return ref
    },
    async find(ref) {
      const text = await renew(ref)
      if (text === undefined) {
        // Another principal's request proves nothing about the session.
        if (known.get(ref.id)?.ref.key.name === ref.key.name) hooks.expired(ref)
        return undefined
      }
      touch(ref.id)
      return parse(ref.id, text)
    },
    async update(ref, change) {
      for (;;) {
        const text = living(await store.kv.get(ref.key))
        if (text === undefined) return undefined
        const record = JSON.parse(text) as SessionRecord
        const changed = change(record)
        if (!changed) return record
        if (await store.kv.swap(ref.key, text, JSON.stringify(changed), ttlMs)) return changed
      }
    },
    use(ref, log) {
      const use = uses.get(ref.id) ?? { count: 0, logs: [], renewedAt: Date.now(), timer: undefined }
      uses.set(ref.id, use)
      if (log) use.logs.push(log)
      if (use.count++ === 0) keepAlive(ref, use)
      let over = false
      return () => {
        if (over) return
        over = true
        if (log) use.logs.splice(use.logs.indexOf(log), 1)
        if (--use.count > 0 || uses.get(ref.id) !== use) return
        uses.delete(ref.id)
        timers.clear(use.timer)
        touch(ref.id)
        if (Date.now() - use.renewedAt > ttlMs * FRESH) renew(ref).catch(() => {})
      }
    },
    async peek(ref) {
      const text = living(await store.kv.get(ref.key))
      return text === undefined ? undefined : parse(ref.id, text)
    },
    async locate(id) {
      if (!ID.test(id)) return undefined
      const bare = refOf(id, undefined)
      if (living(await store.kv.get(bare.key)) !== undefined) return bare
      const owner = await store.kv.get(bare.owner)
      return owner === undefined ? undefined : refOf(id, { id: owner })
    },
    async remove(ref) {
      // Who puts this in the record's place has ended it: the reply to a delete that was repeated would not tell.
      const over = OVER + nanoid()
      for (;;) {
        const text = living(await store.kv.get(ref.key))
        if (text === undefined) return false
        if (await store.kv.swap(ref.key, text, over, OVER_MS)) break
      }
      await store.kv.delete([ref.key, ref.standalone, ref.members, ref.values, ref.owner])
      return true
    },
    forget,
    refs: () => [...known.values()].map(({ ref }) => ref),
    async getValue(ref, name) {
      const text = await store.kv.get(ref.values)
      const values = text === undefined ? {} : (JSON.parse(text) as Record<string, Json>)
      return Object.hasOwn(values, name) ? values[name] : undefined
    },
    async setValue(ref, name, value) {
      for (;;) {
        const first = JSON.stringify({ [name]: value })
        const text = (await store.kv.get(ref.values)) ?? (await store.kv.add(ref.values, first, ttlMs, ref.key))
        if (text === undefined) throw new Error('the session is over')
        const values = JSON.parse(text) as Record<string, Json>
        if (await store.kv.swap(ref.values, text, JSON.stringify({ ...values, [name]: value }), ttlMs)) return
      }
    },
    close() {
      timers.clear(sweeper)
      for (const { timer } of uses.values()) timers.clear(timer)
    },
  }
  return sessions
}

function living(text: string | undefined): string | undefined {
  return text?.startsWith(OVER) ? undefined : text
}
