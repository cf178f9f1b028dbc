// A call's stream, taken up again by GET: of that stream alone, on any node, and its answer once in every order of events.
import { describe, expect, test } from 'vitest'
import { type Client, LEGACY_VERSIONS, type LegacyClient, legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, type NodeOfMany, twoNodes } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

const STREAMS: TransportOptions = { streams: { streamAfterMs: 0 } }
const token = { meta: { progressToken: 'p' } }

const steps = ({ messages }: Listener) =>
  messages.map(({ params, result }) => (result ? 'answer' : (params?.progress as number)))
const numbers = ({ frames }: Listener) => frames.flatMap(({ id }) => id?.split('.')[1] ?? [])

/** A call whose client has gone away after the first of its two steps. */
async function dropped(client: Client): Promise<string> {
  const first = new Listener(await client.stream('steps', { n: 2 }, token))
  await first.has(1)
  await first.leave()
  return first.lastId!
}

const finish = ({ server }: Pick<NodeOfMany, 'server'>) => {
  for (const step of [1, 2]) server.gates.open(`step ${step}`)
}

type Where = 'the same node' | 'another node' | 'another node, replies get lost'
const WHERES: Where[] = ['the same node', 'another node', 'another node, replies get lost']

async function start(where: Where, version = '2025-11-25') {
  const nodes = twoNodes(STREAMS, where.includes('lost') ? (store) => unreliable(store) : undefined)
  const client = await legacy(nodes.a.transport, version)
  const other: Client = where === 'the same node' ? client : at(nodes.b.transport, client, version)
  return { ...nodes, client, other }
}

describe.each(LEGACY_VERSIONS.flatMap((version) => WHERES.map((where) => ({ where, version }))))(
  'D-03 D-05 D-08 S16 R19 $version, resumed on $where',
  ({ where, version }) => {
    test('before the answer is there', async () => {
      const { a, client, other } = await start(where, version)
      const resumed = await listen(other, await dropped(client))
      finish(a)
      await resumed.ended
      expect(steps(resumed)).toEqual([2, 'answer'])
      expect(numbers(resumed)).toEqual(['2', '3'])
    })

    test('after the answer is stored', async () => {
      const { a, client, other } = await start(where, version)
      const id = await dropped(client)
      finish(a)
      await until(() => expect(a.transport.stats().inFlight).toBe(0))
      const resumed = await listen(other, id)
      await resumed.ended
      expect(steps(resumed)).toEqual([2, 'answer'])
    })

    test('while the answer is being stored', async () => {
      const { a, client, other } = await start(where, version)
      const id = await dropped(client)
      const [arrived, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      a.line.around = async (call, args, run) => {
        if (call === 'log.append' && (args[1] as unknown[]).length > 0) {
          arrived.resolve()
          await go.promise
        }
        return run()
      }
      finish(a)
      await arrived.promise
      const resumed = await listen(other, id)
      go.resolve()
      await resumed.ended
      expect(steps(resumed)).toEqual([2, 'answer'])
    })

    test('again and again: each time from its cursor, the same ids', async () => {
      const { a, client, other } = await start(where, version)
      const id = await dropped(client)
      finish(a)
      for (let round = 0; round < 3; round++) {
        const resumed = await listen(round % 2 ? client : other, id)
        await resumed.ended
        expect(numbers(resumed)).toEqual(['2', '3'])
      }
      const [, , last] = [id.split('.')[0], 0, `${id.split('.')[0]}.3`]
      const nothing = await listen(other, last)
      await nothing.ended
      expect(nothing.frames).toEqual([])
    })

    test('B-11 by a second connection while the first is open: the first ends, the second gets the rest', async () => {
      const { a, client, other } = await start(where, version)
      const first = new Listener(await client.stream('steps', { n: 2 }, token))
      await first.has(1)
      const second = await listen(other, first.lastId)
      // Told to let go, not only when something is said: the call is silent.
      await first.ended
      finish(a)
      await second.ended
      expect(steps(first)).toEqual([1])
      expect(steps(second)).toEqual([2, 'answer'])
    })

    test('newest wins again: a third takes it from the second', async () => {
      const { a, client, other } = await start(where, version)
      const id = await dropped(client)
      const second = await listen(other, id)
      const third = await listen(client, id)
      await second.ended
      const fourth = await listen(other, id)
      await third.ended
      finish(a)
      await fourth.ended
      expect([second, third, fourth].map(steps)).toEqual([[], [], [2, 'answer']])
    })
  },
)

describe('whose stream it is', () => {
  test('S14 D-02 D-04 R18 of two calls and the standalone stream, each resumes with its own alone', async () => {
    const { a, client } = await start('the same node')
    const one = new Listener(await client.stream('steps', { n: 2 }, { id: 1, meta: { progressToken: 'one' } }))
    const two = new Listener(await client.stream('steps', { n: 2 }, { id: 2, meta: { progressToken: 'two' } }))
    const get = await listen(client)
    await Promise.all([one.has(1), two.has(1)])
    const { notify } = a.transport
    await notify.toolsChanged()
    await notify.promptsChanged()
    await get.has(2)
    await Promise.all([one, two, get].map((listener) => listener.leave()))
    finish(a)
    await notify.toolsChanged()
    await notify.resourcesChanged()
    const [again, other, standalone] = [
      await listen(client, one.lastId),
      await listen(client, two.lastId),
      await listen(client, get.lastId),
    ]
    await Promise.all([again.ended, other.ended, standalone.has(2)])
    expect(again.messages).toMatchObject([{ params: { progressToken: 'one', progress: 2 } }, { id: 1 }])
    expect(other.messages).toMatchObject([{ params: { progressToken: 'two', progress: 2 } }, { id: 2 }])
    await standalone.leave()
    expect(standalone.messages.map(({ method }) => method)).toEqual([
      'notifications/tools/list_changed',
      'notifications/resources/list_changed',
    ])
  })

  test('S15 D-04 W1 another session’s event ids are unknown ones, on either node', async () => {
    const { a, b, client } = await start('the same node')
    const id = await dropped(client)
    finish(a)
    const thief = await legacy(a.transport)
    for (const one of [thief, at(b.transport, thief)]) {
      const answer = await read(one.verb('GET', { 'last-event-id': id }))
      expect(answer).toMatchObject({ status: 400, form: 'json', message: { error: { code: -32600 } } })
    }
    // The standalone stream has the same name in each session, but not the same log.
    const get = await listen(client)
    await (await a.transport.session(client.session))!.send('notifications/message', { level: 'info', data: 'secret' })
    await get.has(1)
    const stolen = await listen(thief, get.lastId)
    const from0 = await listen(at(b.transport, thief), 'g.0.0')
    await a.transport.notify.toolsChanged()
    await from0.has(1)
    for (const listener of [get, stolen, from0]) await listener.leave()
    expect(JSON.stringify([stolen.messages, from0.messages])).not.toContain('secret')
  })

  test('C-08 W22 another user’s event ids open nothing', async () => {
    const auth: TransportOptions['auth'] = (request) => ({ id: request.headers.get('x-user')! })
    const { transport, server } = scene({ ...STREAMS, auth })
    const client = await legacy(transport, '2025-11-25', { headers: { 'x-user': 'alice' } })
    const id = await dropped(client)
    expect((await read(client.verb('GET', { 'last-event-id': id, 'x-user': 'bob' }))).status).toBe(404)
    finish({ server })
    const resumed = await listen(client, id)
    await resumed.ended
    expect(steps(resumed)).toEqual([2, 'answer'])
  })
})

describe('Q-37 cursors', () => {
  const call = (id: string) => id.split('.')[0]

  test.each<[string, (id: string) => string]>([
    ['of no stream', () => 'AAAAAAAAAAAA.0'],
    ['without a number', (id) => call(id)!],
    ['with three parts', (id) => `${id}.1`],
    ['with a number that is none', (id) => `${call(id)}.x`],
    ['negative', (id) => `${call(id)}.-1`],
    ['far ahead of what there is', (id) => `${call(id)}.100002`],
    ['of the standalone stream, with one number', () => 'g.1'],
    ['of two letters', () => 'g.1.1.1'],
    ['a path', () => '../../g.1.1'],
    ['nonsense', () => '*'],
    ['very long', () => 'x'.repeat(5000)],
  ])('%s: 400, and no stream is opened', async (_what, spoil) => {
    const { a, client } = await start('the same node')
    const id = await dropped(client)
    const answer = await read(client.verb('GET', { 'last-event-id': spoil(id) }))
    expect(answer).toMatchObject({ status: 400, form: 'json', message: { error: { code: -32600 } } })
    finish(a)
  })

  test('an empty one is as good as none', async () => {
    const { client } = await start('the same node')
    const get = await listen(client, '')
    await get.leave()
  })

  test('beyond the end of a stream that is over: 400', async () => {
    const { a, client } = await start('the same node')
    const id = await dropped(client)
    finish(a)
    const resumed = await listen(client, id)
    await resumed.ended
    expect((await read(client.verb('GET', { 'last-event-id': `${call(id)}.4` }))).status).toBe(400)
  })

  test('ahead of what is stored, since events go out first: it goes on from there', async () => {
    const { a, b, client } = await start('another node')
    const first = new Listener(await client.stream('steps', { n: 2 }, token))
    await first.has(1)
    await a.line.store.kv.ttl({ tag: '', name: '' })
    a.line.cut()
    a.server.gates.open('step 1')
    await first.has(2)
    await first.leave()
    const resumed = await listen(at(b.transport, client), first.lastId)
    expect(first.lastId).toMatch(/\.2$/)
    a.line.mend()
    a.server.gates.open('step 2')
    await resumed.ended
    expect(steps(resumed)).toEqual(['answer'])
  })
})

describe('one that waits long', () => {
  test('S04 W14 R05 a call that outlasts the TTL keeps its session and its stream, resumed or not', () =>
    inFakeTime(async () => {
      const { a, b, client } = await (async () => {
        const nodes = twoNodes({ ...STREAMS, sessions: { ttlMs: 120 } })
        return { ...nodes, client: (await legacy(nodes.a.transport)) as LegacyClient }
      })()
      const silent = new Listener(await client.stream('slow', { text: 'at last' }))
      const resumed = await listen(at(b.transport, client), await dropped(client))
      await pause(400)
      expect([silent.over, resumed.over]).toEqual([false, false])
      a.server.gates.open('slow')
      finish(a)
      await Promise.all([silent.ended, resumed.ended])
      expect(silent.messages.map(textOf)).toEqual(['at last'])
      expect(steps(resumed)).toEqual([2, 'answer'])
      expect((await client.request('tools/list')).status).toBe(200)
    }))
})
