// Connections are killed at random moments, under load: nothing may be lost, nothing doubled.
// 20 rounds; 200 with FAIRLEAD_FULL=1.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Entry, type ReadResult, type Store, StoreUnavailable, type Why } from '@fairlead/core'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster, startRedis } from '../../../runtime-tests/redis/servers.ts'
import { newPrefix } from '../test-support/flavours.ts'
import { redisStore } from './redis-store.ts'

const ROUNDS = process.env.FAIRLEAD_FULL === '1' ? 200 : 20
const LIFE_MS = 600_000
const EACH = 60

const settings = [
  {
    name: 'one Redis',
    async start() {
      const { url, stop } = await startRedis()
      return { urls: [url], connection: () => new Redis(url, { lazyConnect: true }), stop }
    },
  },
  {
    name: 'a cluster',
    async start() {
      const { urls, up, stop } = await startCluster()
      await up
      return { urls, connection: () => new Cluster([...urls], { lazyConnect: true }), stop }
    },
  },
]

/** A caller that repeats its step, with the same arguments, until it knows that it was done. */
async function insist<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      unknown++
    }
  }
}
let unknown = 0

describe.each(settings)('S60 CLIENT KILL at random on $name', ({ start }) => {
  let system: Awaited<ReturnType<typeof start>>
  let killers: Redis[]
  let kills = 0
  const opened: Store[] = []
  beforeAll(async () => {
    system = await start()
    killers = system.urls.map((url) => new Redis(url))
  })
  afterAll(async () => {
    for (const killer of killers) killer.disconnect()
    await Promise.all(opened.map((store) => store.close()))
    await system.stop()
  })

  function open(count: number): Store[] {
    const prefix = newPrefix()
    const stores = Array.from({ length: count }, () => redisStore(system.connection(), { prefix }))
    opened.push(...stores)
    return stores
  }

  /** Until `isOver`: one connection after the other, and now and then all of them. */
  async function kill(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await sleep(Math.random() * 25)
      const killer = killers[Math.floor(Math.random() * killers.length)]!
      if (Math.random() < 0.2) kills += Number(await killer.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))
      else {
        const ids = [
          ...((await killer.call('CLIENT', 'LIST', 'TYPE', 'normal')) as string).matchAll(/^id=(\d+)/gm),
        ].map(([, id]) => id!)
        const id = ids[Math.floor(Math.random() * ids.length)]!
        kills += Number(await killer.call('CLIENT', 'KILL', 'ID', id, 'SKIPME', 'yes'))
      }
    }
  }

  it(`${ROUNDS} rounds: every follower hears every entry once, in order, and is told of no gap`, {
    timeout: 300_000,
  }, async () => {
    const [a, b] = open(2) as [Store, Store]
    const topics = ['events', 'inbox:a', 'inbox:b']
    const followers = await Promise.all(
      topics.flatMap((topic) =>
        [a, b].map(async (store) => {
          const heard: Entry[] = []
          const whys = new Set<Why>()
          const { place } = await store.bus.subscribe(topic, { ttlMs: LIFE_MS }, (entries, why) => {
            heard.push(...entries)
            whys.add(why)
          })
          return { topic, place, heard, whys }
        }),
      ),
    )
    const killed = kills
    let published = 0
    for (let round = 0; round < ROUNDS; round++) {
      let isOver = false
      const publisher = async (store: Store, topic: string, name: string) => {
        for (let i = 0; i < EACH / 2; i++) {
          const token = randomUUID()
          await insist(() => store.bus.publish(topic, `${round} ${name} ${i}`, { token }))
        }
      }
      const killing = kill(() => isOver)
      await Promise.all(topics.flatMap((topic) => [publisher(a, topic, 'a'), publisher(b, topic, 'b')]))
      isOver = true
      await killing
      published += EACH
      const deadline = Date.now() + 10_000
      while (followers.some(({ heard }) => heard.length < published) && Date.now() < deadline) await sleep(5)
    }
    for (const { topic, place, heard, whys } of followers) {
      expect(
        heard.map(({ n }) => n - place),
        topic,
      ).toEqual(Array.from({ length: published }, (_, i) => i + 1))
      for (const name of ['a', 'b']) {
        const own = heard.map(({ text }) => text).filter((text) => text.includes(` ${name} `))
        const sent = Array.from(
          { length: ROUNDS * (EACH / 2) },
          (_, i) => `${Math.floor(i / (EACH / 2))} ${name} ${i % (EACH / 2)}`,
        )
        expect(own, `${topic} of ${name}`).toEqual(sent)
      }
      expect(whys.has('gap'), topic).toBe(false)
    }
    expect(followers.some(({ whys }) => whys.has('back'))).toBe(true)
    expect(kills - killed).toBeGreaterThan(ROUNDS)
  })

  it('S18 4,000 token appends, claimed by readers that take over from each other: none lost, none doubled', {
    timeout: 300_000,
  }, async () => {
    const stores = open(4)
    const log = { tag: newPrefix(), name: 'g' }
    const options = { ttlMs: LIFE_MS, limit: { entries: 10_000, bytes: 10_000_000 } }
    await insist(() => stores[0]!.log.append(log, [], options))
    const got: string[] = []
    let cursor = 0
    let isWritten = false
    let isOver = false
    let current = ''
    let handOvers = 0
    const killing = kill(() => isOver)

    const writing = Promise.all(
      [0, 1].map(async (writer) => {
        for (let i = 0; i < 2000; i++) {
          const token = randomUUID()
          await insist(() => stores[writer]!.log.append(log, [`${writer} ${i}`], { ...options, token }))
        }
      }),
    ).then(() => {
      isWritten = true
    })

    /** One connection of a client, which has a cursor: it reads until another one has taken over. */
    async function connection(store: Store): Promise<void> {
      const me = randomUUID()
      current = me
      handOvers++
      let read: ReadResult
      try {
        read = await store.log.read(log, me, { take: 'attach', after: cursor, max: 20 })
      } catch {
        return // 503: the client comes again
      }
      while (current === me && read.state === 'ok') {
        for (const { n, text } of read.entries) {
          got.push(text)
          cursor = n
        }
        const { ticket } = read
        read = await insist(() => store.log.read(log, me, { take: 'next', ticket, after: cursor, max: 20 }))
        if (isWritten && read.state === 'ok' && read.entries.length === 0) return
      }
    }
    const connections: Promise<void>[] = []
    while (!isWritten || cursor === 0) {
      connections.push(connection(stores[2 + (handOvers % 2)]!))
      await sleep(Math.random() * 12)
    }
    await Promise.all([writing, ...connections])
    isOver = true
    await killing
    // What the last one left over; one may still find its connection dead.
    for (let tries = 0; got.length < 4000 && tries < 20; tries++) await connection(stores[2]!)
    for (const writer of ['0', '1']) {
      const own = got.filter((text) => text.startsWith(`${writer} `))
      expect(own).toEqual(Array.from({ length: 2000 }, (_, i) => `${writer} ${i}`))
    }
    expect(got).toHaveLength(4000)
    expect(handOvers).toBeGreaterThan(20)
    console.log(`${handOvers} hand-overs, ${kills} connections killed, ${unknown} steps of unknown outcome`)
  })
})
