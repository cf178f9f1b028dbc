// Nodes and connections that are killed at any moment, under load.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../redis/servers.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'
import { type Answer, listenModern, openSession } from './support/wire.ts'

const isFull = process.env.FAIRLEAD_FULL === '1'
const LEASE_MS = 1000

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** A client that comes back with what it has seen until the stream has its end. Gives the messages of all connections. */
async function persist(first: Answer, again: (id: string) => Promise<Answer>): Promise<Answer[]> {
  const answers = [first]
  for (;;) {
    const answer = answers.at(-1)!
    await answer.over
    const ids = answers.flatMap(({ lastId }) => lastId ?? [])
    if (answers.some(({ messages }) => messages.some(({ result, error }) => result ?? error))) return answers
    const next = await again(ids.at(-1)!).catch(() => undefined)
    if (next?.status === 200) answers.push(next)
    else await sleep(20)
  }
}

const steps = (answers: readonly Answer[]) =>
  answers.flatMap(({ messages }) =>
    messages.map(({ params, result, error }) => params?.progress ?? result?.content[0].text ?? error?.message),
  )

describe('S60 CLIENT KILL of every connection at random moments', () => {
  const ROUNDS = isFull ? 200 : 20
  let fleet: Fleet
  let killer: Redis
  beforeAll(async () => {
    fleet = await startFleet(2, ['--lease-ms', '2000'], { redisUrl: redis.url })
    killer = new Redis(redis.url)
  })
  afterAll(async () => {
    killer.disconnect()
    await fleet.stop()
  })

  test(
    `${ROUNDS} rounds of calls, resumed calls, messages and changes: nothing lost, nothing doubled`,
    async () => {
      const [a = '', b = ''] = fleet.nodes.map(({ url }) => url)
      let killed = 0
      for (let round = 0; round < ROUNDS; round++) {
        const on = round % 2 === 0 ? a : b
        const other = on === a ? b : a
        const session = await insist(() => openSession(on))
        const stream = await insist(() => session.listen(other))
        const listen = await listenModern(other, { promptsListChanged: true })
        let isOver = false
        const killing = (async () => {
          while (!isOver) {
            await sleep(Math.random() * 40)
            killed += Number(await killer.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))
            // On a busy machine too some step gets through between two kills.
            await insist(() => session.request(on, 'tools/list'))
            await insist(() => session.request(other, 'tools/list'))
          }
        })()
        killing.catch(() => {}) // told where it is awaited
        const call = await session.steps(on, { n: 10, ms: 8 })
        const dropped = await session.steps(on, { n: 10, ms: 8 })
        const sending = (async () => {
          for (let n = 0; n < 10; n++) {
            const uri = `x://${n}`
            // Its store step has an own token for each command: what is repeated here is what was refused.
            await fleet.nodes[round % 2]!.control('notify', { kind: 'resource', uri, sessionId: session.id })
          }
          await fleet.nodes[round % 2]!.control('notify', { kind: 'prompts' })
        })()
        await dropped.has(3)
        await dropped.leave()
        const resumed = persist(dropped, (id) => session.listen(other, id))
        const [, connections] = await Promise.all([call.over, resumed, sending])
        isOver = true
        await killing
        const all = [...Array.from({ length: 10 }, (_, i) => i + 1), '10 steps']
        expect(steps([call]), `round ${round}`).toEqual(all)
        expect(steps(connections), `round ${round}, resumed`).toEqual(all)
        const uris = () => stream.messages.flatMap(({ params }) => (params?.uri ? [params.uri] : []))
        await until(`round ${round}: messages`, () => uris().length >= 10 && listen.messages.length >= 2)
        await until('the change', () => stream.messages.some(({ method }) => method?.endsWith('prompts/list_changed')))
        expect(uris()).toEqual(Array.from({ length: 10 }, (_, n) => `x://${n}`))
        expect(listen.messages.slice(1).map(({ method }) => method)).toEqual(['notifications/prompts/list_changed'])
        expect(stream.isOver || listen.isOver).toBe(false)
        await Promise.all([stream.leave(), listen.leave()])
        await insist(() => session.end(on))
      }
      expect(killed).toBeGreaterThan(ROUNDS * 2)
      console.log(`CLIENT KILL: ${ROUNDS} rounds, ${killed} connections killed`)
    },
    ROUNDS * 3000,
  )
})

/** A client that repeats what was answered with 503. */
async function insist<T>(request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const answer = await request()
      if ((answer as Partial<Answer>).status !== 503) return answer
    } catch (error) {
      if (!String(error).includes('503')) throw error
    }
    await sleep(10)
  }
}

describe('S16 R27 a node that dies while it runs calls', () => {
  const ROUNDS = isFull ? 50 : 5
  const CALLS = 6

  test(
    `kill -9, ${ROUNDS} rounds: every client has its result or one error within the lease + 2 s`,
    async () => {
      await using fleet = await startFleet(1, ['--lease-ms', `${LEASE_MS}`], { redisUrl: redis.url })
      const survivor = fleet.nodes[0]!
      let slowest = 0
      for (let round = 0; round < ROUNDS; round++) {
        const doomed = await fleet.add()
        const sessions = await Promise.all(Array.from({ length: CALLS }, () => openSession(doomed.url)))
        const calls = await Promise.all(
          sessions.map((session, i) => session.steps(doomed.url, { n: 2 + i * 4, ms: 20 })),
        )
        await sleep(20 + Math.random() * 100)
        const start = performance.now()
        await doomed.end('SIGKILL')
        const outcomes = await Promise.all(
          calls.map((call, i) => persist(call, (id) => sessions[i]!.listen(survivor.url, id))),
        )
        const took = performance.now() - start
        slowest = Math.max(slowest, took)
        expect(took).toBeLessThan(LEASE_MS + 2000)
        for (const [i, answers] of outcomes.entries()) {
          const seen = steps(answers)
          const end = seen.pop()
          expect([`${2 + i * 4} steps`, 'the server that ran this call is gone']).toContain(end)
          // In order, none twice; what was sent and not yet stored, the client had before.
          expect(seen).toEqual(seen.map((_, n) => n + 1))
          const last = answers.at(-1)!
          // An answer that went straight to the client may not have been stored; it does not come back for another one.
          if (answers.length === 1) continue
          // Whoever resumes again finds that end, and no other.
          const again = await sessions[i]!.listen(survivor.url, last.events.findLast(({ id }) => id)?.id ?? '')
          await again.over
          expect(again.messages).toEqual([])
        }
      }
      console.log(
        `kill -9: ${ROUNDS} rounds, the slowest end after ${Math.round(slowest)} ms with a lease of ${LEASE_MS} ms`,
      )
    },
    ROUNDS * 6000,
  )

  test('SIGSTOP past the lease and SIGCONT: exactly one end, and the node comes back without harm', async () => {
    await using fleet = await startFleet(2, ['--lease-ms', `${LEASE_MS}`], { redisUrl: redis.url })
    const [paused, awake] = fleet.nodes as [Fleet['nodes'][0], Fleet['nodes'][0]]
    const session = await openSession(paused.url)
    const call = await session.call(paused.url, 'slow', { ms: 2500, text: 'too late' })
    const [other, stream] = [await openSession(awake.url), await session.listen(paused.url)]
    await until('the stream has begun', () => call.lastId !== undefined)
    paused.signal('SIGSTOP')
    const begun = performance.now()
    // Its client has given up on it, and comes back twice.
    await call.leave()
    const readers = [await session.listen(awake.url, call.lastId), await session.listen(awake.url, call.lastId)]
    await Promise.all(readers.map(({ over }) => over))
    expect(performance.now() - begun).toBeLessThan(LEASE_MS + 2000)
    paused.signal('SIGCONT')
    // Its handler ends after all; what it says is dropped.
    await until('it is back', async () => (await paused.stats()).finished === 1)
    const ends = [call, ...readers].flatMap(({ messages }) =>
      messages.map(({ result, error }) => result ?? error?.message),
    )
    expect(ends).toEqual(['the server that ran this call is gone'])
    const replay = await session.listen(awake.url, `${call.lastId!.split('.')[0]}.0`)
    await replay.over
    expect(replay.messages.map(({ error }) => error?.message)).toEqual(ends)
    // It is a node as before: served, woken, told.
    expect((await session.request(paused.url, 'tools/list')).status).toBe(200)
    await fleet.nodes[1]!.control('notify', { kind: 'tools' })
    await until('the change', () => stream.messages.some(({ method }) => method?.endsWith('tools/list_changed')))
    const asked = await other.call(paused.url, 'ask')
    await other.answer(awake.url, (await asked.has(1))[0]!.id!, { action: 'accept', content: { name: 'Ada' } })
    expect((await asked.has(2))[1]!.result.content[0].text).toBe('Ada')
    expect(await paused.stats()).toMatchObject({ uncaught: 0 })
    await stream.leave()
  }, 20_000)
})
