// A cancel that comes to another node than the call runs on.
import { describe, expect, test } from 'vitest'
import { legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, twoNodes } from '../../test-support/nodes.ts'
import { until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

const FORMS: [string, TransportOptions][] = [
  ['json', { response: 'json', streams: { streamAfterMs: 1 } }],
  ['sse', { streams: { streamAfterMs: 0 } }],
]

describe.each(FORMS.flatMap(([form, options]) => [false, true].map((lossy) => ({ form, options, lossy }))))(
  'S25 R26 W13 $form, replies get lost: $lossy',
  ({ options, lossy }) => {
    async function start() {
      const nodes = twoNodes(options, lossy ? (store) => unreliable(store) : undefined)
      const client = await legacy(nodes.a.transport)
      const there = at(nodes.b.transport, client)
      const cancel = (requestId: unknown, reason?: string) =>
        there.notify('notifications/cancelled', { requestId, reason })
      return { ...nodes, client, there, cancel }
    }

    test.each([0, '', 1, '1'])('E-17 the id %j: the handler hears the reason, and its exchange ends', async (id) => {
      const { a, client, cancel } = await start()
      const call = client.call('slow', {}, { id })
      await a.server.started('slow')
      expect((await cancel(id, 'enough')).status).toBe(202)
      expect((await call).messages).toEqual([])
      await until(() => expect(a.server.aborted).toMatchObject([{ message: 'enough' }]))
    })

    test('E-18 an id of the other type, of no call, or of another session: 202, and no effect', async () => {
      const { a, b, client, cancel } = await start()
      const call = client.call('slow', { text: 'mine' }, { id: 1 })
      await a.server.started('slow')
      for (const id of ['1', 99, 'nope']) expect((await cancel(id)).status).toBe(202)
      const stranger = await legacy(a.transport)
      expect((await at(b.transport, stranger).notify('notifications/cancelled', { requestId: 1 })).status).toBe(202)
      a.server.gates.open('slow')
      expect(textOf((await call).message)).toBe('mine')
    })

    test('W13 a cancel that comes after the answer does not touch the next call with that id', async () => {
      const { a, client, cancel } = await start()
      const first = client.call('slow', { text: 'first', gate: 'first' }, { id: 1 })
      await a.server.started('slow')
      a.server.gates.open('first')
      await first
      await cancel(1)
      await pause(5)
      const next = client.call('slow', { text: 'next' }, { id: 1 })
      await a.server.started('slow', 2)
      await cancel(2)
      a.server.gates.open('slow')
      expect(textOf((await next).message)).toBe('next')
      expect(a.server.aborted).toEqual([])
    })
  },
)

test('R26 a cancel that comes before the call’s node is known is obeyed when that node makes itself known', () =>
  inFakeTime(async () => {
    const { a, b, store } = twoNodes({ streams: { streamAfterMs: 30 } })
    const client = await legacy(a.transport)
    const call = client.call('slow', {}, { id: 1 })
    await a.server.started('slow')
    await at(b.transport, client).notify('notifications/cancelled', { requestId: 1, reason: 'early' })
    expect(JSON.parse((await store.kv.get({ tag: client.session, name: 'members' }))!)).toMatchObject({ nodes: [] })
    expect((await call).messages).toEqual([])
    await until(() => expect(a.server.aborted).toMatchObject([{ message: 'early' }]))
  }))

test('W13 but not for a call that began after it', async () => {
  const { a, b } = twoNodes({ streams: { streamAfterMs: 0 } })
  const client = await legacy(a.transport)
  await at(b.transport, client).notify('notifications/cancelled', { requestId: 1 })
  await pause(5)
  const call = new Listener(await client.stream('slow', { text: 'x' }, { id: 1 }))
  await pause(20)
  a.server.gates.open('slow')
  await call.ended
  expect(call.messages.map(textOf)).toEqual(['x'])
})

test('cancels go to the nodes concerned, and to no others', async () => {
  const { a, b } = twoNodes({ streams: { streamAfterMs: 0 } })
  const client = await legacy(a.transport)
  const letters: unknown[] = []
  b.line.around = async (call, args, run) => {
    if (call === 'bus.publish') letters.push(JSON.parse(args[1] as string).kind)
    return run()
  }
  const there = at(b.transport, client)
  await there.notify('notifications/cancelled', { requestId: 1 })
  expect(letters).toEqual([])
  const call = client.call('slow', {}, { id: 1 })
  await a.server.started('slow')
  await until(async () => {
    letters.length = 0
    await there.notify('notifications/cancelled', { requestId: 7 })
    expect(letters).toEqual(['cancel'])
  })
  // The last 16 are kept, so the record does not grow.
  for (let i = 100; i < 140; i++) await there.notify('notifications/cancelled', { requestId: i })
  const text = await b.line.store.kv.get({ tag: client.session, name: 'members' })
  expect(JSON.parse(text!).marks).toHaveLength(16)
  await there.notify('notifications/cancelled', { requestId: 1 })
  await call
})

test('S07 R27 W16 DELETE reaches the calls and streams of every node', async () => {
  const { a, b } = twoNodes({ streams: { streamAfterMs: 0 } })
  const client = await legacy(a.transport)
  const there = at(b.transport, client)
  const calls = await Promise.all([client, there].map((node) => node.stream('slow', {})))
  const listeners = [...calls.map((call) => new Listener(call)), await listen(there)]
  await Promise.all([a.server.started('slow'), b.server.started('slow')])
  await until(async () => {
    const text = await a.line.store.kv.get({ tag: client.session, name: 'members' })
    expect(JSON.parse(text!).nodes).toHaveLength(2)
  })
  expect((await client.verb('DELETE')).status).toBe(204)
  await Promise.all(listeners.map(({ ended }) => ended))
  await until(() => expect([a, b].map(({ server }) => server.aborted.length)).toEqual([1, 1]))
  expect((await read(there.verb('GET'))).status).toBe(404)
})
