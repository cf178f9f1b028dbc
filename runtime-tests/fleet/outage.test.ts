// Redis is away: fast refusals where state is needed, service where it is not, and nothing that was acknowledged is lost.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { textOf } from '../../fixtures/raw.ts'
import { type RedisServer, startRedis } from '../redis/servers.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'
import { listenModern, modernAsk, openSession, send } from './support/wire.ts'

const isFull = process.env.FAIRLEAD_FULL === '1'

let redis: RedisServer
let fleet: Fleet
let a: string
let b: string
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  fleet = await startFleet(2, ['--lease-ms', '1000'], { redisUrl: redis.url })
  ;[a, b] = fleet.nodes.map(({ url }) => url) as [string, string]
})
afterEach(async () => {
  redis.child.kill('SIGCONT')
  for (const node of fleet.nodes) expect(await node.stats()).toMatchObject({ uncaught: 0 })
  await fleet.stop()
})

async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const start = performance.now()
  return [await work, performance.now() - start]
}

/** Connections stay open and nothing comes; or they are refused, and what was there is lost. */
const outages: { how: 'silent' | 'gone'; away(): Promise<void>; back(): Promise<void> }[] = [
  {
    how: 'silent',
    away: async () => void redis.child.kill('SIGSTOP'),
    back: async () => void redis.child.kill('SIGCONT'),
  },
  {
    how: 'gone',
    away: () => redis.stop(),
    async back() {
      redis = await startRedis({ port: redis.port })
    },
  },
]

describe.each(outages)('S58 W26 Redis is $how', ({ how, away, back }) => {
  test('503 with Retry-After within 3 s, never 404; what needs no state is served; it recovers by itself', async () => {
    const session = await openSession(a)
    const stream = await session.listen(b)
    const listen = await listenModern(a, { promptsListChanged: true })
    const running = await session.call(a, 'slow', { ms: 400, text: 'on its way' })
    await away()
    const init = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const refused = [
      () => session.request(a, 'tools/list'),
      () => session.listen(b, stream.lastId),
      () => session.end(b),
      () => session.notify(a, 'notifications/cancelled', { requestId: 1 }),
      () => send(a, 'POST', {}, { jsonrpc: '2.0', id: 1, method: 'initialize', params: init }),
    ]
    const answers = await Promise.all(refused.map((request) => timed(request())))
    for (const [answer, took] of answers) {
      expect(answer.status).toBe(503)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(took).toBeLessThan(3000)
    }
    const [modern, took] = await timed(modernAsk(b, 'echo', { text: 'ahoy' }))
    expect([modern.status, textOf(modern.message!)]).toEqual([200, 'ahoy'])
    expect(took).toBeLessThan(500)
    // A call that is under way has its answer all the same.
    expect(textOf((await running.has(1))[0]!)).toBe('on its way')
    expect(stream.isOver || listen.isOver).toBe(false)

    await back()
    const one = how === 'silent' ? session : await fresh()
    await until('legacy is served again', async () => (await one.request(a, 'tools/list')).status === 200)
    // Told when Redis was away or not: a listener that stayed hears of what comes.
    await until('a change is taken', () =>
      fleet.nodes[1]!.control('notify', { kind: 'prompts' }).then(
        () => true,
        () => false,
      ),
    )
    await listen.has(2)
    expect(listen.messages[1]).toMatchObject({ method: 'notifications/prompts/list_changed' })
    if (how === 'silent') {
      await until('the stream as well', () =>
        stream.messages.some(({ method }) => method === 'notifications/prompts/list_changed'),
      )
      expect(stream.isOver).toBe(false)
    }
    async function fresh() {
      for (;;) {
        const opened = await openSession(a).catch(() => undefined)
        if (opened) return opened
        await sleep(20)
      }
    }
  }, 30_000)
})

test('W7 W26 what was acknowledged before Redis was silent reaches the stream after it', async () => {
  const session = await openSession(a)
  const stream = await session.listen(b)
  const uris: string[] = []
  for (let n = 0; n < 40; n++) {
    if (n === 20) {
      redis.child.kill('SIGSTOP')
      setTimeout(() => redis.child.kill('SIGCONT'), 700)
    }
    const uri = `x://${n}`
    await fleet.nodes[0]!.control('notify', { kind: 'resource', uri, sessionId: session.id })
    uris.push(uri)
  }
  await stream.has(uris.length)
  expect(stream.messages.map(({ params }) => params?.uri)).toEqual(uris)
  expect(stream.isOver).toBe(false)
})

const FAILING = isFull ? 10_000 : 500

test(`S58 ${FAILING} failing requests leave nothing behind`, async () => {
  const session = await openSession(a)
  expect((await session.request(a, 'tools/list')).status).toBe(200)
  await redis.stop()
  const heap = async () => (await fleet.nodes[0]!.control('stats?gc=1')).heapUsed as number
  const round = (count: number) =>
    Promise.all(Array.from({ length: count }, async () => (await session.request(a, 'tools/list')).status))
  await round(100)
  const before = await heap()
  for (let n = 0; n < FAILING; n += 500) expect(new Set(await round(500))).toEqual(new Set([503]))
  await until('none is under way', async () => (await fleet.nodes[0]!.stats()).inFlight === 0)
  expect((await heap()) - before).toBeLessThan(5_000_000)
  redis = await startRedis({ port: redis.port })
  await until('it is served again', async () => (await openSession(a).catch(() => undefined)) !== undefined)
}, 60_000)
