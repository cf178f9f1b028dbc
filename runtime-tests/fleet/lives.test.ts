// What nodes leave in Redis: every key has a life, at every moment, and none is left when nobody uses it.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { newPrefix } from '../../packages/redis/test-support/flavours.ts'
import { watchLives } from '../../packages/redis/test-support/lives.ts'
import { startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'
import { listenModern, modernAsk, openSession } from './support/wire.ts'

const TTL_MS = 3000
const LEASE_MS = 600

const redis = new Redis(inject('redisUrl'))
afterAll(() => redis.disconnect())
const keysOf = async (prefix: string) => {
  const found: string[] = []
  for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) found.push(...(keys as string[]))
  return found
}

test('S57 W6 W23 W14 in use for longer than the TTL on A, then used on B; at no moment a key without a life; after kill -9 none is left', async () => {
  const prefix = newPrefix()
  const watch = watchLives([new Redis(inject('redisUrl'))], prefix)
  const times = ['--ttl-ms', `${TTL_MS}`, '--lease-ms', `${LEASE_MS}`]
  await using fleet = await startFleet(2, times, { prefix })
  const [a = '', b = ''] = fleet.nodes.map(({ url }) => url)
  const [listening, calling] = [await openSession(a), await openSession(a)]
  const idle = await openSession(a)
  const stream = await listening.listen(a)
  const call = await calling.steps(a, { n: 8, ms: 700 })
  // All that a fleet writes.
  await listening.ask(b, 'resources/subscribe', { uri: 'field://counter' })
  await fleet.nodes[1]!.control('notify', { kind: 'resource', uri: 'field://counter' })
  await fleet.nodes[1]!.control('burst', { sessionId: listening.id, count: 3, bytes: 100 })
  const listen = await listenModern(b, { toolsListChanged: true })
  await modernAsk(a, 'ask_twice')
  const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  expect((await modernAsk(a, 'job', { ms: 1 }, {}, tasks)).message!.result.resultType).toBe('task')
  const asked = await calling.call(b, 'ask')
  await calling.answer(a, (await asked.has(1))[0]!.id!, { action: 'decline' })
  await calling.notify(b, 'notifications/cancelled', { requestId: 'none' })
  await (await openSession(b)).end(a)

  const busy = await openSession(a)
  const end = performance.now() + 1.75 * TTL_MS
  while (performance.now() < end) {
    expect((await busy.request(a, 'tools/list')).status).toBe(200)
    await sleep(TTL_MS / 4)
  }
  await call.over
  expect(call.messages.at(-1)!.result.content[0].text).toBe('8 steps')
  const statuses = await Promise.all([busy, listening, calling].map((one) => one.request(b, 'tools/list')))
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await idle.request(b, 'tools/list')).status).toBe(404)
  expect(stream.isOver || listen.isOver).toBe(false)

  await Promise.all(fleet.nodes.map((node) => node.end('SIGKILL')))
  await until('every key of a session or a node is gone', async () => {
    const left = await keysOf(prefix)
    // What the fleet keeps beyond its nodes: keys of requestState, what happened once, tasks.
    return left.every((key) => /\{(keys|chain:|task:)/.test(key))
  })
  const lasting = await keysOf(prefix)
  for (const key of lasting) expect(await redis.pttl(key), key).toBeGreaterThan(0)
  expect(await watch.stop()).toEqual([])
  expect(watch.looks).toBeGreaterThan(100)
  console.log(`S57: ${watch.looks} looks at keys; kept for longer: ${lasting.map((key) => key.slice(prefix.length))}`)
  if (lasting.length > 0) await redis.del(...lasting)
}, 30_000)

test('S57 kill -9 after legacy sessions, listens and changes: when the lives are over, no key is left', async () => {
  const prefix = newPrefix()
  await using fleet = await startFleet(2, ['--ttl-ms', '1500', '--lease-ms', '400'], { prefix })
  const [a = '', b = ''] = fleet.nodes.map(({ url }) => url)
  const session = await openSession(a)
  await session.listen(b)
  await session.call(a, 'slow', { ms: 60_000, text: 'never' })
  await listenModern(b, { toolsListChanged: true })
  await fleet.nodes[0]!.control('notify', { kind: 'tools' })
  // Nodes that live on keep what they need: that is what comes to an end with them.
  await sleep(1000)
  expect((await keysOf(prefix)).length).toBeGreaterThan(5)
  await Promise.all(fleet.nodes.map((node) => node.end('SIGKILL')))
  await until('no key is left', async () => (await keysOf(prefix)).length === 0)
}, 30_000)

test('W10 W23 no KEYS, no SCAN; every key has the prefix', async () => {
  const prefix = newPrefix()
  const monitor = await redis.monitor()
  const seen: string[][] = []
  monitor.on('monitor', (_time, args: string[]) => void seen.push(args))
  await using fleet = await startFleet(2, ['--lease-ms', '400'], { prefix })
  const [a = '', b = ''] = fleet.nodes.map(({ url }) => url)
  const session = await openSession(a)
  const stream = await session.listen(b)
  await fleet.nodes[0]!.control('burst', { sessionId: session.id, count: 2, bytes: 1 })
  await stream.has(2)
  await (await session.call(a, 'slow', { ms: 500, text: 'x' })).over
  await session.end(a)
  await Promise.all(fleet.nodes.map((node) => node.end()))
  monitor.disconnect()
  const own = seen.filter((args) => args.some((arg) => arg.startsWith(prefix)))
  expect(own.length).toBeGreaterThan(20)
  const names = new Set(own.map(([name]) => name!.toLowerCase()))
  for (const name of ['keys', 'scan', 'hscan', 'flushdb', 'flushall', 'config', 'client', 'monitor'])
    expect(names).not.toContain(name)
})
