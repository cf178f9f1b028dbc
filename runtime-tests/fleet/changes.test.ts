// Change notifications: published on one node, once for the fleet, served by all.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startRedis } from '../redis/servers.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'
import { type Answer, listenModern, openSession } from './support/wire.ts'

let fleet: Fleet
let urls: string[]
beforeAll(async () => {
  fleet = await startFleet(3, ['--lease-ms', '2000'])
  urls = fleet.nodes.map(({ url }) => url)
})
afterAll(() => fleet.stop())

const methods = (answer: Answer) => answer.messages.map(({ method }) => method?.split('notifications/')[1])
const changes = (answer: Answer) => methods(answer).filter((method) => method !== 'subscriptions/acknowledged')
const COUNTER = 'field://counter'

/** Nothing more comes: what is sent last has arrived, and with it all before it. */
async function settle(fleet: Fleet, answers: readonly Answer[]): Promise<void> {
  await fleet.nodes[0]!.control('notify', { kind: 'prompts' })
  await Promise.all(
    answers.map((answer) => until('the last change', () => methods(answer).includes('prompts/list_changed'))),
  )
}

describe('S54 listens on all nodes', () => {
  test('a change on one: each of them hears it once', async () => {
    const all = { toolsListChanged: true, promptsListChanged: true }
    const [a = '', b = '', c = ''] = urls
    const listens = await Promise.all([a, a, b, c].map((url) => listenModern(url, all)))
    await fleet.nodes[1]!.control('notify', { kind: 'tools' })
    await settle(fleet, listens)
    for (const listen of listens) expect(changes(listen)).toEqual(['tools/list_changed', 'prompts/list_changed'])
    await Promise.all(listens.map((listen) => listen.leave()))
  })

  test('a resource: those who named it', async () => {
    const wants = [{ resourceSubscriptions: [COUNTER] }, { resourceSubscriptions: ['field://item/1'] }]
    const listens = await Promise.all(
      wants.map((want, i) => listenModern(urls[i]!, { ...want, promptsListChanged: true })),
    )
    await fleet.nodes[2]!.control('notify', { kind: 'resource', uri: COUNTER })
    await settle(fleet, listens)
    expect(listens.map(changes)).toEqual([['resources/updated', 'prompts/list_changed'], ['prompts/list_changed']])
    await Promise.all(listens.map((listen) => listen.leave()))
  })

  test('a restart of Redis ends no stream, and the next change is delivered', async () => {
    let redis = await startRedis()
    const { port } = redis
    const own = await startFleet(2, ['--lease-ms', '600'], { redisUrl: redis.url })
    try {
      const [a = '', b = ''] = own.nodes.map(({ url }) => url)
      const listens = await Promise.all([a, a, b].map((url) => listenModern(url, { toolsListChanged: true })))
      await redis.stop()
      redis = await startRedis({ port })
      await until('a change is taken', () =>
        own.nodes[1]!.control('notify', { kind: 'tools' }).then(
          () => true,
          () => false,
        ),
      )
      await Promise.all(listens.map((listen) => listen.has(2)))
      for (const listen of listens) {
        expect(listen.isOver).toBe(false)
        // Perhaps twice, since all that was there before is gone; but not another kind.
        expect(new Set(changes(listen))).toEqual(new Set(['tools/list_changed']))
      }
    } finally {
      await own.stop()
      await redis.stop()
    }
  }, 30_000)
})

describe('S19 subscriptions of sessions', () => {
  test('made and ended on any node: updates go to those who have one, list changes to all, each once', async () => {
    const [a = '', b = '', c = ''] = urls
    const sessions = await Promise.all(urls.map((url) => openSession(url)))
    const [one, two, three] = sessions as [(typeof sessions)[0], (typeof sessions)[0], (typeof sessions)[0]]
    const streams = await Promise.all([one.listen(a), two.listen(b), three.listen(c)])
    // Each on another node than its stream.
    await one.ask(b, 'resources/subscribe', { uri: COUNTER })
    await two.ask(c, 'resources/subscribe', { uri: COUNTER })
    await fleet.nodes[2]!.control('notify', { kind: 'resource', uri: COUNTER })
    await Promise.all([streams[0]!.has(1), streams[1]!.has(1)])
    await two.ask(a, 'resources/unsubscribe', { uri: COUNTER })
    await until('it is served no more', async () => {
      const before = changes(streams[1]!).length
      await fleet.nodes[2]!.control('notify', { kind: 'resource', uri: COUNTER })
      const heard = changes(streams[0]!).length
      await streams[0]!.has(heard)
      await sleep(30)
      return changes(streams[1]!).length === before
    })
    await fleet.nodes[1]!.control('notify', { kind: 'tools' })
    await settle(fleet, streams)
    const of = (answer: Answer, method: string) => changes(answer).filter((one) => one === method).length
    expect(streams.map((stream) => of(stream, 'tools/list_changed'))).toEqual([1, 1, 1])
    expect(of(streams[2]!, 'resources/updated')).toBe(0)
    expect(of(streams[0]!, 'resources/updated')).toBeGreaterThanOrEqual(2)
    await Promise.all(streams.map((stream) => stream.leave()))
  })

  test('what changed while a session had no stream is told when it returns, on whatever node', async () => {
    const session = await openSession(urls[0]!)
    const stream = await session.listen(urls[0]!)
    await session.ask(urls[1]!, 'resources/subscribe', { uri: COUNTER })
    await stream.leave()
    for (let i = 0; i < 3; i++) await fleet.nodes[2]!.control('notify', { kind: 'resource', uri: COUNTER })
    const back = await session.listen(urls[1]!, stream.lastId)
    await back.has(1)
    await settle(fleet, [back])
    expect(changes(back)).toEqual(['resources/updated', 'prompts/list_changed'])
    await back.leave()
  })

  test('R28 tools that change on one node are told to sessions and listeners of the others', async () => {
    const session = await openSession(urls[0]!)
    const stream = await session.listen(urls[0]!)
    const listen = await listenModern(urls[1]!, { toolsListChanged: true })
    await fleet.nodes[2]!.control('tools', { extra: true })
    await Promise.all([stream.has(1), listen.has(2)])
    expect(changes(stream)).toEqual(['tools/list_changed'])
    expect(changes(listen)).toEqual(['tools/list_changed'])
    await fleet.nodes[2]!.control('tools', { extra: false })
    await Promise.all([stream.leave(), listen.leave()])
  })
})

test('R24 W11 W12 pings: a client that answers through any node keeps its stream, one that does not loses that alone', async () => {
  await using own = await startFleet(2, ['--lease-ms', '600', '--ping-ms', '150', '--ping-timeout-ms', '2000'])
  const [a = '', b = ''] = own.nodes.map(({ url }) => url)
  const [good, silent] = [await openSession(a), await openSession(b)]
  const kept = await good.listen(a)
  const lost = await silent.listen(b)
  const running = await silent.call(b, 'slow', { ms: 4000, text: 'still' })
  let meanwhile: Promise<unknown> = Promise.resolve()
  for (let n = 1; n <= 10; n++) {
    const ping = (await kept.has(n))[n - 1]!
    expect(ping.method).toBe('ping')
    await good.answer(b, ping.id!, {})
    // Sessions and nodes that end meanwhile take nobody's pings with them.
    if (n === 2) meanwhile = openSession(b).then((session) => session.end(a))
    if (n === 4) meanwhile = own.add().then((node) => node.end())
  }
  await Promise.all([lost.over, meanwhile])
  expect(kept.isOver).toBe(false)
  expect((await running.has(1))[0]!.result.content[0].text).toBe('still')
  expect((await silent.request(a, 'tools/list')).status).toBe(200)
  await kept.leave()
})
