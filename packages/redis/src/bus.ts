// The bus: topics, and what this view of the store follows.
import type { Bus, Subscription } from '@fairlead/core'
import type { Clock } from './clock.ts'
import type { Commands } from './commands.ts'
import { Following } from './following.ts'
import type { Names, TopicKeys } from './keys.ts'
import { count, evaluate, life } from './scripts.ts'
import type { Source } from './source.ts'
import { Follower, type Found, Topic, type TopicReply, topicReply } from './topic.ts'
import { FOLLOW, PUBLISH, READ_TOPIC } from './topic-scripts.ts'

/** Nobody trims it: those who come back read on from where they were. */
const EVENTS = 'events'
const EVENTS_KEPT = 10_000
/** Every node follows it: with many changes a follower takes what has come in so many ms, not each. */
const EVENTS_PAUSE_MS = 10
const TOPIC_MAX = 100_000
/** As often as PUBLISH trims, so many more may be there. */
const TRIM_AT_ONCE = 500
/** The life of a topic that was made by a publish; those that are followed have a life of their own. */
const UNFOLLOWED_MS = 60_000

export interface RedisBus {
  readonly bus: Bus
  /** Nobody hears anything any more. */
  close(): void
}

export function redisBus(commands: Commands, source: Source, names: () => Names, clock: Clock): RedisBus {
  const topics = new Map<string, Topic>()
  const followings = new Set<Following>()

  function topicOf(name: string): Topic {
    const known = topics.get(name)
    if (known) return known
    const topic = new Topic(names().topic(name), name === EVENTS ? EVENTS_PAUSE_MS : 0)
    topics.set(name, topic)
    return topic
  }

  /** A new life for a topic, which is made if it is not there. */
  async function renew(keys: TopicKeys, ttlMs: number, handled = 0): Promise<Found> {
    let sent = 0
    const reply = await commands.run((client) => {
      sent = Date.now()
      return evaluate(client, FOLLOW, keys, [life(ttlMs), handled])
    })
    const [last, before, server] = reply as [number, number, number]
    clock.measured(server, sent)
    return { last, before }
  }

  /** The connection that this topic is read by. */
  function followingOf(topic: Topic): Following {
    for (const following of followings) if (source.sharesReads || following.topics.has(topic)) return following
    const following: Following = new Following({
      open: ({ keys }) => source.reads(keys[0], commands.client),
      async revive({ keys, followers }) {
        for (const follower of followers) follower.compare(await renew(keys, follower.ttlMs))
      },
      over: () => void followings.delete(following),
    })
    followings.add(following)
    return following
  }

  const bus: Bus = {
    publish(name, text, { token, followed }) {
      const keys = names().topic(name)
      const keep = name === EVENTS ? EVENTS_KEPT : TOPIC_MAX - TRIM_AT_ONCE
      const args = [text, token, followed ? 1 : 0, keep, UNFOLLOWED_MS]
      return commands.run(async (client) => (await evaluate(client, PUBLISH, keys, args)) as number)
    },

    async subscribe(name, { after, ttlMs }, on) {
      const keys = names().topic(name)
      const found = await renew(keys, ttlMs)
      const follower = new Follower(after ?? found.last, ttlMs, on)
      follower.compare(found)
      // What is told comes after what the caller does with the place.
      setImmediate(() => {
        if (follower.stopped || commands.closed) return
        const topic = topicOf(name)
        followingOf(topic).follow(topic, follower)
      })
      const subscription: Subscription = {
        place: follower.place,
        handled: (n) => follower.handled(n),
        async renew() {
          const found = await renew(keys, ttlMs, name === EVENTS ? 0 : follower.done)
          const topic = topics.get(name)
          if (follower.compare(found) && topic?.followers.has(follower)) followingOf(topic).lookAgain()
        },
        async stop() {
          follower.stopped = true
          const topic = topics.get(name)
          if (!topic?.followers.delete(follower) || topic.followers.size > 0) return
          topics.delete(name)
          for (const following of [...followings]) following.drop(topic)
        },
      }
      return subscription
    },

    async read(name, after, max) {
      const keys = names().topic(name)
      const reply = await commands.run((client) => evaluate(client, READ_TOPIC, keys, [after, count(max)]))
      const { entries, isWhole } = topicReply(reply as TopicReply)
      return { entries, gap: !isWhole }
    },
  }

  return {
    bus,
    close() {
      for (const topic of topics.values()) for (const follower of topic.followers) follower.stopped = true
      topics.clear()
      for (const following of [...followings]) following.close()
    },
  }
}
