// The bus: topics of numbered entries, and their followers, which read on from their place when something is new.
import type { Bus, Entry, Key, Subscription, Why } from '../store.ts'
import { entriesAfter, numberOf, push, trim, trimHandled } from './numbered.ts'
import type { Records, TopicRecord } from './records.ts'

/** Topics lie under a tag that no session, node or task can have. */
const TOPICS = '\0topics'
/** Nobody trims it: those who come back read on from where they were. */
const EVENTS = 'events'
const EVENTS_KEPT = 10_000
const TOPIC_MAX = 100_000
/** The oldest are dropped so many at a time: moving 100,000 entries up is not for each publish. */
const TRIM_AT_ONCE = 500
/** The life of a topic that was made by a publish; those that are followed have a life of their own. */
const UNFOLLOWED_MS = 60_000

interface Follower {
  place: number
  handled: number
  /** The one who subscribed knows the place. */
  ready: boolean
  readonly on: (entries: Entry[], why: Why) => void
}

export function memoryBus(records: Records): { bus: Bus; clear(): void } {
  const followers = new Map<string, Set<Follower>>()
  /** Topics with something new. */
  const fresh = new Set<string>()

  const keyOf = (topic: string): Key => ({ tag: TOPICS, name: topic })
  const find = (topic: string, at: number) => records.find(keyOf(topic), at) as TopicRecord | undefined

  function create(topic: string, at: number, ttlMs: number): TopicRecord {
    const record: TopicRecord = {
      kind: 'topic',
      tag: TOPICS,
      name: topic,
      expires: at + ttlMs,
      weight: 0,
      items: [],
      last: at,
      // What an earlier topic of this name may have held is missing.
      floor: at,
      bytes: 0,
    }
    records.put(TOPICS, record)
    return record
  }

  /** Gives the topic a life at least as long; makes it if it has lapsed. */
  function renew(topic: string, ttlMs: number): TopicRecord {
    const at = records.step()
    let record = find(topic, at)
    if (record === undefined) {
      records.roomFor([], true)
      record = create(topic, at, ttlMs)
    }
    record.expires = Math.max(record.expires, at + ttlMs)
    return record
  }

  /** Followers hear later, never inside of a step. */
  function wake(topic: string): void {
    if (!followers.has(topic)) return
    if (fresh.size === 0) queueMicrotask(deliver)
    fresh.add(topic)
  }

  function deliver(): void {
    const topics = [...fresh]
    fresh.clear()
    for (const topic of topics) {
      const record = find(topic, records.now())
      if (record === undefined) continue
      for (const follower of [...(followers.get(topic) ?? [])]) {
        if (followers.get(topic)?.has(follower) && follower.ready) tell(follower, record)
      }
    }
  }

  function tell(follower: Follower, record: TopicRecord): void {
    const { place, on } = follower
    const gap = place < record.floor || place > record.last
    const entries = entriesAfter(record, place > record.last ? 0 : place, TOPIC_MAX)
    follower.place = record.last
    if (!gap && entries.length === 0) return
    try {
      on(entries, gap ? 'gap' : 'live')
    } catch {
      // The others still hear, and so does it the next time.
    }
  }

  const bus: Bus = {
    async publish(topic, text, { token, followed }) {
      const at = records.step()
      const found = find(topic, at)
      if (found === undefined && followed) return 0
      const known = found && numberOf(found, token)
      if (known !== undefined) return known
      records.roomFor([text], found === undefined)
      const record = found ?? create(topic, at, UNFOLLOWED_MS)
      push(record, record.last + 1, text, token)
      const keep = topic === EVENTS ? EVENTS_KEPT : TOPIC_MAX - TRIM_AT_ONCE
      if (record.items.length > keep + TRIM_AT_ONCE) trim(record, keep, Number.POSITIVE_INFINITY)
      records.settle(record)
      wake(topic)
      return record.last
    },

    subscribe(topic, { after, ttlMs }, on) {
      let follower: Follower
      try {
        const record = renew(topic, ttlMs)
        follower = { place: after ?? record.last, handled: 0, ready: false, on }
      } catch (error) {
        return Promise.reject(error)
      }
      const mine = followers.get(topic)
      if (mine === undefined) followers.set(topic, new Set([follower]))
      else mine.add(follower)

      const subscription: Subscription = {
        place: follower.place,
        handled(n) {
          follower.handled = Math.max(follower.handled, n)
        },
        async renew() {
          const record = renew(topic, ttlMs)
          if (topic !== EVENTS) trimHandled(record, follower.handled)
          records.settle(record)
          wake(topic)
        },
        async stop() {
          const all = followers.get(topic)
          if (all?.delete(follower) && all.size === 0) followers.delete(topic)
        },
      }
      const subscribed = Promise.resolve(subscription)
      // The caller, who waits for it too, comes first: told is only who knows the place.
      void subscribed
        .then(() => {})
        .then(() => {
          follower.ready = true
          wake(topic)
        })
      return subscribed
    },

    async read(topic, after, max) {
      const record = find(topic, records.step())
      if (record === undefined) return { entries: [], gap: true }
      const { floor, last } = record
      return after > last
        ? { entries: entriesAfter(record, 0, max), gap: true }
        : { entries: entriesAfter(record, after, max), gap: after < floor }
    },
  }
  return { bus, clear: () => followers.clear() }
}
