// A store that is away for a while: streams stay open, what was acknowledged is there, and memory is bounded.
import { expect, test } from 'vitest'
import { ChangingServer } from '../../test-support/changing.ts'
import { legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, oneOf, twoNodes } from '../../test-support/nodes.ts'
import { until } from '../../test-support/scene.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'

const STREAMS: TransportOptions = { streams: { streamAfterMs: 0 } }
const token = { meta: { progressToken: 'p' } }
const data = ({ messages }: Listener) => messages.map(({ params }) => params?.data)

test('S58 W26 the standalone stream stays open; what was stored meanwhile by another node comes when it is back', async () => {
  const { a, b } = twoNodes(STREAMS)
  const client = await legacy(a.transport)
  const get = await listen(client)
  const held = (await b.transport.session(client.session))!
  const say = (data: number) => held.send('notifications/message', { level: 'info', data })
  await say(1)
  await get.has(1)
  a.line.cut()
  for (const data of [2, 3]) await say(data)
  await pause(100)
  expect([get.over, get.messages.length]).toEqual([false, 1])
  a.line.mend()
  await get.has(3)
  await say(4)
  await get.has(4)
  await get.leave()
  expect(data(get)).toEqual([1, 2, 3, 4])
})

test('what can’t be stored is not acknowledged', async () => {
  const { a } = twoNodes(STREAMS)
  const client = await legacy(a.transport)
  const held = (await a.transport.session(client.session))!
  a.line.cut()
  await expect(held.send('notifications/message', { level: 'info', data: 1 })).rejects.toThrow()
  await expect(held.set('k', 1)).rejects.toThrow()
  await expect(a.transport.session(client.session)).rejects.toThrow()
  a.line.mend()
  const get = await listen(client)
  await held.send('notifications/message', { level: 'info', data: 2 })
  await get.has(1)
  await get.leave()
  expect(data(get)).toEqual([2])
})

test('a change that could not be published is published when the store is back, once', async () => {
  const store = memoryStore()
  const [a, b] = [oneOf(store, STREAMS, new ChangingServer()), oneOf(store, STREAMS, new ChangingServer())]
  const client = await legacy(b.transport)
  await client.request('resources/subscribe', { uri: 'test://one' })
  await listen(await legacy(a.transport)).then((get) => get.leave())
  const get = await listen(client)
  a.line.cut()
  for (let i = 0; i < 3; i++) await expect(a.transport.notify.resourceUpdated('test://one')).rejects.toThrow()
  await expect(a.transport.notify.toolsChanged()).rejects.toThrow()
  a.line.mend()
  await get.has(2)
  await a.transport.notify.promptsChanged()
  await get.has(3)
  await get.leave()
  expect(get.messages.map(({ method }) => method!.split('/')[1])).toEqual(['resources', 'tools', 'prompts'])
  await store.close()
})

test('a running call goes on for its client; what waits to be stored is bounded, and the answer always kept', async () => {
  const { a, b } = twoNodes({ ...STREAMS, streams: { streamAfterMs: 0, maxBytes: 10_000 } })
  const client = await legacy(a.transport)
  a.server.tool('pours', async (_args, ctx) => {
    await ctx.progress(1)
    await a.server.gates.pass('pour')
    for (let step = 2; step <= 50; step++) {
      await ctx.progress(step, 50, 'x'.repeat(1000))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { content: [] }
  })
  const call = new Listener(await client.stream('pours', {}, token))
  await call.has(1)
  await until(async () => {
    const key = { tag: client.session, name: `stream:${call.lastId!.split('.')[0]}` }
    const read = { take: 'next', max: 1, after: 0 } as const
    expect((await b.line.store.log.read(key, '', read)).last).toBe(1)
  })
  a.line.cut()
  a.server.gates.open('pour')
  await call.ended
  expect(call.messages).toHaveLength(51)
  a.line.mend()
  await until(async () => {
    // The oldest that waited were dropped, so a cursor before them is too old; a late one gets the rest.
    const [name] = call.lastId!.split('.')
    const resumed = await listen(at(b.transport, client), `${name}.47`)
    await resumed.ended
    expect(resumed.messages.map(({ params, result }) => params?.progress ?? result)).toEqual([
      48,
      49,
      50,
      { content: [] },
    ])
  })
  expect(
    (await at(b.transport, client).verb('GET', { 'last-event-id': `${call.lastId!.split('.')[0]}.5` })).status,
  ).toBe(400)
})

test('R05 a session in use outlives a store that was away for less than its life', () =>
  inFakeTime(async () => {
    const { a } = twoNodes({ ...STREAMS, sessions: { ttlMs: 600 } })
    const client = await legacy(a.transport)
    const get = await listen(client)
    await pause(150)
    a.line.cut()
    await pause(250)
    a.line.mend()
    await pause(600)
    expect(get.over).toBe(false)
    expect((await client.request('tools/list')).status).toBe(200)
    await get.leave()
  }))
