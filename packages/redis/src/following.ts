// One connection for blocking reads, and the topics that are followed on it.
import type { Redis } from 'ioredis'
import { evaluate } from './scripts.ts'
import { retryDelay } from './source.ts'
import { entriesOf, type Follower, type Topic, type TopicReply, topicReply } from './topic.ts'
import { READ_TOPIC } from './topic-scripts.ts'

/** Entries that one reply holds at most. */
const PAGE = 1000
/** A topic lives for two leases; a read ends after a third of one. */
const BLOCKS_PER_LIFE = 6
const BLOCK_MIN_MS = 100
const BLOCK_MAX_MS = 10_000
/** A reply that is so late comes no more: the connection is dead. */
const LATE_MS = 2000

interface Hooks {
  /** A connection for the reads of this topic, not connected yet. */
  open(topic: Topic): Redis
  /** Gives the topic its life again, and has its followers compare their places. Rejects while the store is away. */
  revive(topic: Topic): Promise<void>
  /** It has come to its end, and takes no more topics. */
  over(): void
}

export class Following {
  readonly topics: Set<Topic> = new Set()
  readonly #hooks: Hooks
  #connection: Redis | undefined
  /** A blocking read is under way. */
  #isReading = false
  /** Its connection was closed from here, to begin another read. */
  #isInterrupted = false
  #isRunning = false
  #isClosed = false

  constructor(hooks: Hooks) {
    this.#hooks = hooks
  }

  /** A new follower of a topic. */
  follow(topic: Topic, follower: Follower): void {
    const isNew = !this.topics.has(topic)
    this.topics.add(topic)
    topic.followers.add(follower)
    // What the read under way will not give is looked up.
    if (this.#isReading && !isNew && follower.place < topic.readFrom) follower.look ??= 'place'
    if (!this.#isRunning) {
      this.#isRunning = true
      void this.#run()
    } else if (isNew || follower.look) this.lookAgain()
  }

  /** Ends the read that is under way: there is another topic, or a follower that is to have a look. */
  lookAgain(): void {
    if (!this.#isReading) return
    // A blocking read can be ended without help of the server only by ending its connection.
    this.#isInterrupted = true
    this.#connection?.disconnect()
  }

  drop(topic: Topic): void {
    this.topics.delete(topic)
    if (this.topics.size === 0) this.close()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#hooks.over()
    this.#connection?.disconnect()
  }

  async #run(): Promise<void> {
    let isCutOff = false
    for (let tries = 0; !this.#isClosed; tries++) {
      this.#isInterrupted = false
      try {
        // First, since in a cluster it also learns where the topic is now.
        if (isCutOff) for (const topic of this.topics) await this.#hooks.revive(topic)
        if (this.#isClosed) return
        const connection = this.#hooks.open([...this.topics][0]!)
        this.#connection = connection
        connection.on('error', () => {})
        await this.#bounded(connection, LATE_MS, connection.connect())
        if (isCutOff) for (const follower of this.#followers()) follower.look = 'back'
        isCutOff = false
        tries = 0
        while (!this.#isClosed) await this.#read(connection)
      } catch {
        // What matters of it is that the connection is gone.
      }
      this.#connection?.disconnect()
      if (this.#isInterrupted || this.#isClosed) continue
      isCutOff = true
      await pause(retryDelay(tries))
    }
  }

  *#followers(): Generator<Follower> {
    for (const topic of this.topics) yield* topic.followers
  }

  async #read(connection: Redis): Promise<void> {
    for (const topic of this.topics) {
      for (const follower of topic.followers) if (follower.look) await this.#look(connection, topic, follower)
    }
    const now = Date.now()
    let blockMs = BLOCK_MAX_MS
    const due: Topic[] = []
    for (const topic of this.topics) {
      blockMs = Math.min(blockMs, Math.max(topic.ttlMs / BLOCKS_PER_LIFE, BLOCK_MIN_MS))
      if (topic.pausedUntil > now) blockMs = Math.min(blockMs, topic.pausedUntil - now)
      else due.push(topic)
    }
    if (due.length === 0) return pause(blockMs)

    for (const topic of this.topics) topic.readFrom = topic.place
    const keys = due.map(({ keys }) => keys[0])
    const places = due.map(({ readFrom }) => `${readFrom}-0`)
    blockMs = Math.ceil(blockMs)
    this.#isReading = true
    const reading = connection.xread('COUNT', PAGE, 'BLOCK', blockMs, 'STREAMS', ...keys, ...places)
    const replies = await this.#bounded(connection, blockMs + LATE_MS, reading).finally(() => {
      this.#isReading = false
    })
    if (!replies) return
    for (const [key, entries] of replies) {
      if (!this.#isClosed) due.find(({ keys }) => keys[0] === key)?.heard(entriesOf(entries))
    }
    // The steps that this has led to go out before the next read.
    await new Promise((resolve) => setImmediate(resolve))
  }

  async #look(connection: Redis, topic: Topic, follower: Follower): Promise<void> {
    for (;;) {
      const looking = evaluate(connection, READ_TOPIC, topic.keys, [follower.place, PAGE])
      const reply = (await this.#bounded(connection, LATE_MS, looking)) as TopicReply
      const { entries, isWhole, last } = topicReply(reply)
      // Where there is no topic, the renewal that makes it again finds that the place is not in it.
      if (last === undefined) follower.look = undefined
      else follower.looked(entries, isWhole, last)
      if (entries.length < PAGE) return
    }
  }

  /** Ends the connection when its reply is late. */
  async #bounded<T>(connection: Redis, ms: number, reply: Promise<T>): Promise<T> {
    const late = setTimeout(() => connection.disconnect(), ms)
    try {
      return await reply
    } finally {
      clearTimeout(late)
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
