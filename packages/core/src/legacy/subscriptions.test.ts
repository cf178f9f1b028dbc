// Change notifications and subscriptions: per session, each once, over every node, missed ones included.
import { describe, expect, onTestFinished, test } from 'vitest'
import { ChangingServer } from '../../test-support/changing.ts'
import { type Client, LEGACY_VERSIONS, legacy } from '../../test-support/clients.ts'
import { inFakeTime } from '../../test-support/clock.ts'
import { type Listener, listen } from '../../test-support/listener.ts'
import { at, oneOf } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import type { Message } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

const ONE = 'test://one'
const TWO = 'test://two'

/** What it was told: URIs, and the kinds of listings. */
const told = ({ messages }: Listener) =>
  messages.map(({ method, params }) => params?.uri ?? method!.split('/').slice(1, 2).join())
const subscribe = async (client: Client, uri: string, on = true): Promise<Message> =>
  (await client.request(on ? 'resources/subscribe' : 'resources/unsubscribe', { uri })).message

function changing(options: TransportOptions = {}, lossy = false) {
  const store = memoryStore()
  onTestFinished(() => store.close())
  const [a, b] = [0, 1].map((seed) =>
    oneOf(lossy ? unreliable(store, { seed: seed + 1 }) : store, options, new ChangingServer()),
  ) as [ReturnType<typeof oneOf>, ReturnType<typeof oneOf>]
  return { store, a, b }
}

describe.each(LEGACY_VERSIONS)('S19 B-11 W2 W3 R22 %s', (version) => {
  test('of three sessions each hears what it has subscribed to, and of a change of a listing once', async () => {
    const { a, b } = changing()
    const [one, both, none] = [
      await legacy(a.transport, version),
      await legacy(b.transport, version),
      await legacy(a.transport, version),
    ]
    expect((await subscribe(one, ONE)).result).toStrictEqual({})
    for (const uri of [ONE, TWO]) await subscribe(both, uri)
    const streams = await Promise.all([listen(one), listen(both), listen(at(b.transport, none, version))])
    await a.transport.notify.resourceUpdated(ONE)
    await b.transport.notify.resourceUpdated(TWO)
    await a.transport.notify.toolsChanged()
    await Promise.all([streams[0].has(2), streams[1].has(3), streams[2].has(1)])
    // One unsubscribes: the other one does not.
    await subscribe(one, ONE, false)
    await b.transport.notify.resourceUpdated(ONE)
    await b.transport.notify.promptsChanged()
    await Promise.all([streams[0].has(3), streams[1].has(5), streams[2].has(2)])
    expect(streams.map(told)).toEqual([
      [ONE, 'tools', 'prompts'],
      [ONE, TWO, 'tools', ONE, 'prompts'],
      ['tools', 'prompts'],
    ])
    await Promise.all(streams.map((stream) => stream.leave()))
  })
})

describe('subscriptions', () => {
  test.each([
    { where: 'the node of the stream', lossy: false },
    { where: 'the other node', lossy: false },
    { where: 'the other node', lossy: true },
  ])(
    'made at $where while the stream is open, count from then on; replies get lost: $lossy',
    async ({ where, lossy }) => {
      const { a, b } = changing({}, lossy)
      const client = await legacy(a.transport)
      const get = await listen(client)
      const there = where === 'the other node' ? at(b.transport, client) : client
      await a.transport.notify.resourceUpdated(ONE)
      await subscribe(there, ONE)
      await subscribe(there, ONE)
      await b.transport.notify.resourceUpdated(ONE)
      await get.has(1)
      await subscribe(there, ONE, false)
      await a.transport.notify.resourceUpdated(ONE)
      await subscribe(there, ONE)
      await a.transport.notify.resourceUpdated(ONE)
      await a.transport.notify.toolsChanged()
      await until(() => expect(told(get)).toContain('tools'))
      expect(told(get)).toEqual([ONE, ONE, 'tools'])
      await get.leave()
    },
  )

  test('made while a GET is on its way are not missed', async () => {
    const { a, b } = changing()
    const client = await legacy(a.transport)
    const [held, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    a.line.around = async (call, args, run) => {
      if (call !== 'log.read' || (args[2] as { take: string }).take !== 'attach') return run()
      held.resolve()
      await go.promise
      return run()
    }
    // It was admitted before, with the subscriptions of that time.
    const opening = listen(client)
    await held.promise
    await subscribe(at(b.transport, client), ONE)
    go.resolve()
    const get = await opening
    await b.transport.notify.resourceUpdated(ONE)
    await get.has(1)
    expect(told(get)).toEqual([ONE])
    await get.leave()
  })

  test('what has changed while nobody listened comes with the next connection: each once, none from before it began', async () => {
    const { a, b } = changing()
    const client = await legacy(a.transport)
    const { notify } = b.transport
    await notify.resourceUpdated(ONE)
    await notify.toolsChanged()
    await subscribe(client, ONE)
    for (let i = 0; i < 5; i++) await notify.resourceUpdated(ONE)
    await notify.resourceUpdated(TWO)
    for (let i = 0; i < 3; i++) await notify.toolsChanged()
    const first = await listen(at(b.transport, client))
    await first.has(2)
    expect(told(first).toSorted()).toEqual([ONE, 'tools'])
    await first.leave()
    await notify.promptsChanged()
    for (const from of [undefined, first.lastId]) {
      const again = await listen(client, from)
      await again.has(1)
      if (from === undefined) await again.leave()
      else {
        await notify.resourceUpdated(ONE)
        await again.has(2)
        await again.leave()
      }
      expect(told(again)).toEqual(from === undefined ? ['prompts'] : ['prompts', ONE])
    }
  })

  test('Q-48 of what is not declared, or is no URI: an error, and nothing is stored', async () => {
    const { transport } = scene()
    const bare = await legacy(transport)
    expect((await subscribe(bare, ONE)).error?.code).toBe(-32601)
    const { a } = changing()
    const client = await legacy(a.transport)
    for (const params of [{}, { uri: 5 }, { uri: '' }]) {
      expect((await client.request('resources/subscribe', params)).message.error?.code).toBe(-32602)
    }
  })
})

describe('a gap in what the fleet was told', () => {
  test('while away: more changes than are kept: each kind and URI that is wanted, once', async () => {
    const { a, b } = changing()
    const client = await legacy(a.transport)
    await subscribe(client, ONE)
    const get = await listen(client)
    await a.transport.notify.resourceUpdated(ONE)
    await get.has(1)
    await get.leave()
    for (let i = 0; i < 10_600; i++) await b.transport.notify.resourceUpdated(`test://other/${i}`)
    const again = await listen(client, get.lastId)
    await again.has(4)
    await b.transport.notify.promptsChanged()
    await again.has(5)
    expect(told(again).toSorted()).toEqual(['prompts', 'prompts', 'resources', ONE, 'tools'].toSorted())
    expect(again.frames.filter(({ id }) => id !== undefined).length).toBe(3) // the anchor, the four together, the last
    await again.leave()
  })

  test('while listening: the same, for every open stream, and those that were just subscribed', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      onTestFinished(() => store.close())
      const { transport } = oneOf(store, { leaseMs: 200 }, new ChangingServer())
      const client = await legacy(transport)
      const get = await listen(client)
      await subscribe(client, ONE)
      // The topic is lost, as by a store that was restarted; the follower hears of it at its next renewal.
      await store.kv.delete([{ tag: '\0topics', name: 'events' }])
      await get.has(4)
      expect(told(get).toSorted()).toEqual(['prompts', 'resources', ONE, 'tools'].toSorted())
      await transport.notify.resourceUpdated(ONE)
      await get.has(5)
      await get.leave()
    }))
})
