// Change notifications: published once for the fleet, and served from there to the connections that want them.
import { nanoid } from 'nanoid'
import type { Node } from './node.ts'
import type { ListKind, Notify } from './server.ts'
import type { Entry, Key, Subscription, Why } from './store.ts'

/** The topic that every node follows. */
const EVENTS_TOPIC = 'events'
/** Entries that are read in one step. */
const PAGE = 1000
/** Changes that wait for a store that is away. */
const KEPT = 1000
const RETRY_MS = 1000
const LISTINGS: readonly ListKind[] = ['tools', 'prompts', 'resources']
/** The listings that the fleet was told of last, and some before them. */
const LISTINGS_KEY: Key = { tag: 'listings', name: 'fingerprints' }
const PAST = 24

interface Told {
  now: string[]
  past: string[]
  /** Another one for each writer, so that of two that write the same only one has written it. */
  by: string
}

export interface Change {
  kind: ListKind | 'resource' | 'task'
  /** Of the resource; or the id of the task. */
  uri?: string
}

/** A change, and its last place in `events`. */
export interface Placed {
  change: Change
  place: number
}

/** A connection that wants to hear of changes. */
export interface Listener {
  /** As `wantOf` says. */
  readonly wants: ReadonlySet<string>
  /** What has changed at one place in `events`. */
  changed(changes: readonly Change[], place: number): void
}

export interface Changes {
  readonly notify: Notify
  publish(change: Change): Promise<void>
  /** Listings, as `printOf` says, whose change was published: who knows one of them has heard, or will. Call `place()` first. */
  readonly superseded: ReadonlySet<string>
  /** Where this node is in `events`; follows it from now on. */
  place(): Promise<number>
  /** From the node's place on. Call `place()` first. Returns the place. */
  listen(listener: Listener): number
  unlisten(listener: Listener): void
  /** What came after `after` and up to `upTo`, of what is wanted, each once, by place; all of it if some is lost. */
  since(after: number, upTo: number, wants: ReadonlySet<string>): Promise<Placed[]>
  close(): Promise<void>
}

/** The listing of a kind: two kinds may have equal fingerprints, as empty ones do. */
export function printOf(kind: ListKind, fingerprint: string): string {
  return `${kind} ${fingerprint}`
}

export function wantOf({ kind, uri }: Change): string {
  return uri === undefined ? kind : `${kind} ${uri}`
}

function changeOf(want: string): Change {
  const space = want.indexOf(' ')
  return space === -1
    ? { kind: want as ListKind }
    : { kind: want.slice(0, space) as 'resource' | 'task', uri: want.slice(space + 1) }
}

export function createChanges(node: Node): Changes {
  const { store, settings } = node
  const index = new Map<string, Set<Listener>>()
  const superseded = new Set<string>()
  const unsent = new Map<string, { change: Change; token: string }>()
  /** As long as somebody may know the listings of before: a session, or a client of a node that has just died. */
  const listingsMs = Math.max(2 * settings.leaseMs, settings.sessions ? settings.sessions.ttlMs : 0)
  let listingsRenewedAt = 0
  let retrying = false
  let following: Promise<Subscription> | undefined
  let at = 0

  function follow(): Promise<Subscription> {
    following ??= start().catch((error) => {
      following = undefined
      throw error
    })
    return following
  }

  async function start(): Promise<Subscription> {
    await node.fleet.join()
    // Before it follows: nobody listens here yet, and a start that fails is made again, with one subscription.
    await announce()
    const subscription = await store.bus.subscribe(EVENTS_TOPIC, { ttlMs: 2 * settings.leaseMs }, serve)
    at = Math.max(at, subscription.place)
    node.fleet.onUpkeep(async () => {
      await subscription.renew()
      if (Date.now() - listingsRenewedAt < listingsMs / 3) return
      await store.kv.get(LISTINGS_KEY, listingsMs)
      listingsRenewedAt = Date.now()
    })
    return subscription
  }

  /** A deploy with other listings is told to the listeners of all nodes, by the first node that has them (R28). */
  async function announce(): Promise<void> {
    const { fingerprints } = node.server.describe(settings.versions[0]!)
    const now = LISTINGS.map((kind) => printOf(kind, fingerprints[kind]))
    const first = JSON.stringify({ now, past: [], by: node.id } satisfies Told)
    const text = (await store.kv.get(LISTINGS_KEY, listingsMs)) ?? (await store.kv.add(LISTINGS_KEY, first, listingsMs))
    listingsRenewedAt = Date.now()
    if (text === undefined) return
    const told = JSON.parse(text) as Told
    const changed = LISTINGS.filter((_, i) => told.now[i] !== now[i])
    const past = [...told.now.filter((print, i) => print !== now[i]), ...told.past].slice(0, PAST)
    for (const print of past) superseded.add(print)
    if (changed.length === 0) return
    const next = JSON.stringify({ now, past, by: node.id } satisfies Told)
    if (!(await store.kv.swap(LISTINGS_KEY, text, next, listingsMs))) return
    for (const kind of changed) await publish({ kind })
  }

  function serve(entries: Entry[], why: Why): void {
    const last = entries.at(-1)?.n
    if (last !== undefined) at = Math.max(at, last)
    if (why === 'gap') {
      // What is missing came after the place that was reached, so it counts for who began there.
      if (last === undefined) at++
      // Changes are idempotent: a spurious one is harmless, a lost one is a stale client.
      const everyone = new Set([...index.values()].flatMap((set) => [...set]))
      for (const listener of everyone) tell(listener, [...listener.wants].map(changeOf), at)
      return
    }
    for (const { n, text } of entries) {
      const change = JSON.parse(text) as Change
      for (const listener of [...(index.get(wantOf(change)) ?? [])]) tell(listener, [change], n)
    }
  }

  function tell(listener: Listener, changed: readonly Change[], place: number): void {
    try {
      listener.changed(changed, place)
    } catch (error) {
      node.report(error, 'notify')
    }
  }

  function enter(listener: Listener, wants: Iterable<string>): void {
    for (const want of wants) {
      const set = index.get(want)
      if (set) set.add(listener)
      else index.set(want, new Set([listener]))
    }
  }

  function strike(listener: Listener, wants: Iterable<string>): void {
    for (const want of wants) {
      const set = index.get(want)
      if (set?.delete(listener) && set.size === 0) index.delete(want)
    }
  }

  /** Resolves when it is published; a change that the store can't take now goes out later, once. */
  async function publish(change: Change): Promise<void> {
    // In a store of its own nobody but this node could hear of it.
    if (node.ownsStore && !following) return
    const token = nanoid()
    try {
      await store.bus.publish(EVENTS_TOPIC, JSON.stringify(change), { token })
    } catch (error) {
      if (unsent.size < KEPT) unsent.set(wantOf(change), { change, token })
      if (!retrying) {
        retrying = true
        node.timers.after(RETRY_MS, () => void retry())
      }
      throw error
    }
  }

  async function retry(): Promise<void> {
    retrying = false
    for (const [want, { change, token }] of [...unsent]) {
      unsent.delete(want)
      try {
        await store.bus.publish(EVENTS_TOPIC, JSON.stringify(change), { token })
      } catch {
        unsent.set(want, { change, token })
        if (!retrying) {
          retrying = true
          node.timers.after(RETRY_MS, () => void retry())
        }
        return
      }
    }
  }

  return {
    publish,
    superseded,
    notify: {
      toolsChanged: () => publish({ kind: 'tools' }),
      promptsChanged: () => publish({ kind: 'prompts' }),
      resourcesChanged: () => publish({ kind: 'resources' }),
      resourceUpdated: (uri) => publish({ kind: 'resource', uri }),
    },
    async place() {
      await follow()
      return at
    },
    listen(listener) {
      enter(listener, listener.wants)
      return at
    },
    unlisten(listener) {
      strike(listener, listener.wants)
    },
    async since(after, upTo, wants) {
      const found = new Map<string, Placed>()
      for (let from = after; from < upTo; ) {
        const { entries, gap } = await store.bus.read(EVENTS_TOPIC, from, PAGE)
        if (gap) return [...wants].map((want) => ({ change: changeOf(want), place: upTo }))
        for (const { n, text } of entries) {
          if (n > upTo) break
          const change = JSON.parse(text) as Change
          const want = wantOf(change)
          if (!wants.has(want)) continue
          found.delete(want)
          found.set(want, { change, place: n })
        }
        const last = entries.at(-1)
        if (!last) break
        from = last.n
      }
      return [...found.values()]
    },
    async close() {
      try {
        await (await following)?.stop()
      } catch (error) {
        node.report(error, 'events')
      }
    },
  }
}
