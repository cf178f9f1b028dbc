import { describe, expect, test } from 'vitest'
import { ChangingServer } from '../../test-support/changing.ts'
import { META, modern, type Params } from '../../test-support/clients.ts'
import { declaring, subscribe, toldTo } from '../../test-support/exchanges.ts'
import { idle, scene, until } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { Frames, read } from '../../test-support/sse.ts'

const ID = `${META}subscriptionId`
const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
const ONE = 'test://one'
const TWO = 'test://two'

const changing = (options = {}) => scene(options, new ChangingServer())
const idOf = (of: Params = {}) => (of._meta as Params | undefined)?.[ID]

describe('S52 I-01 I-04 the acknowledgement', () => {
  test('comes first while changes are published all the time; all carries the id in its JSON type; none is lost', async () => {
    const { transport } = changing()
    let published = 0
    let isOver = false
    const publisher = (async () => {
      for (; !isOver; published++) {
        await transport.notify.toolsChanged()
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const ids = Array.from({ length: 200 }, (_, i) => [1, 'a', '1'][i % 3]!)
    const listeners = await Promise.all(ids.map((id) => subscribe(transport, ALL, { id })))
    await Promise.all(listeners.map((listener) => listener.has(3)))
    isOver = true
    await publisher
    expect(published).toBeGreaterThan(2)
    const before = listeners.map(({ messages }) => messages.length)
    await transport.notify.promptsChanged()
    await Promise.all(listeners.map((listener, i) => listener.has(before[i]! + 1)))
    for (const [i, { messages }] of listeners.entries()) {
      expect(messages[0]?.method).toBe('notifications/subscriptions/acknowledged')
      for (const { params } of messages) expect(idOf(params)).toBe(ids[i])
      expect(messages.at(-1)?.method).toBe('notifications/prompts/list_changed')
    }
    await Promise.all(listeners.map((listener) => listener.leave()))
  })

  test.each([0, -7, '', '0', 'ü "x"\n', 9007199254740991])(
    'I-04 the id %j is everywhere, in the end too',
    async (id) => {
      const { transport } = changing()
      const listener = await subscribe(transport, { ...ALL, resourceSubscriptions: [ONE] }, { id })
      await transport.notify.resourceUpdated(ONE)
      await listener.has(2)
      await transport.close()
      await listener.ended
      expect(listener.messages.map(({ params, result }) => idOf(params ?? result))).toEqual([id, id, id])
      expect(listener.messages.at(-1)?.id).toBe(id)
    },
  )

  test.each<[string, Params, Params]>([
    ['all there is', { ...ALL, resourceSubscriptions: [ONE] }, { ...ALL, resourceSubscriptions: [ONE] }],
    ['one kind', { toolsListChanged: true }, { toolsListChanged: true }],
    ['a kind that is not wanted', { toolsListChanged: true, promptsListChanged: false }, { toolsListChanged: true }],
    ['what nobody knows', { toolsListChanged: true, weatherChanged: true }, { toolsListChanged: true }],
  ])('I-02 Q-20 says what is honoured: %s', async (_what, filter, honoured) => {
    const { transport } = changing()
    const listener = await subscribe(transport, filter)
    expect(listener.messages[0]?.params?.notifications).toStrictEqual(honoured)
    await listener.leave()
  })

  test('I-02 not what the server has not declared', async () => {
    const { transport } = scene({}, new TestServer().without('prompts/list', 'prompts/get'))
    const listener = await subscribe(transport, { ...ALL, resourceSubscriptions: [ONE] })
    expect(listener.messages[0]?.params?.notifications).toStrictEqual({
      toolsListChanged: true,
      resourcesListChanged: true,
    })
    await transport.notify.promptsChanged()
    await transport.notify.resourceUpdated(ONE)
    await transport.notify.toolsChanged()
    await listener.has(2)
    expect(toldTo(listener)).toEqual(['tools'])
    await listener.leave()
  })
})

describe('Q-19 with nothing to wait for', () => {
  test.each<[string, Params]>([
    ['an empty filter', {}],
    ['nothing that is wanted', { toolsListChanged: false, resourceSubscriptions: [] }],
    ['nothing that is there', { promptsListChanged: true, resourceSubscriptions: [ONE] }],
    ['tasks that are not there', { taskIds: ['nope', 'x'.repeat(22)] }],
  ])('%s: acknowledged, completed, ended', async (_what, filter) => {
    const { transport } = scene({}, new TestServer().without('prompts/list', 'prompts/get'))
    const listener = await subscribe(transport, filter, { id: 5 })
    await listener.ended
    expect(listener.messages).toMatchObject([
      { params: { notifications: {}, _meta: { [ID]: 5 } } },
      { id: 5, result: { resultType: 'complete', _meta: { [ID]: 5 } } },
    ])
    await idle(transport)
  })

  test.each([
    undefined,
    5,
    [],
    { toolsListChanged: 'yes' },
    { resourceSubscriptions: ONE },
    { resourceSubscriptions: [5] },
    { taskIds: {} },
    { resourceSubscriptions: Array.from({ length: 1001 }, (_, i) => `test://${i}`) },
  ])('a filter that is none: -32602 with the id: %j', async (notifications) => {
    const { transport } = changing()
    const sent = { id: 'x', meta: declaring({ extensions: { 'io.modelcontextprotocol/tasks': {} } }) }
    const answer = await modern(transport).request('subscriptions/listen', { notifications }, sent)
    expect(answer).toMatchObject({ status: 200, form: 'json', message: { id: 'x', error: { code: -32602 } } })
  })

  test('a client that takes no event stream: 406', async () => {
    const { transport } = changing()
    const headers = { accept: 'application/json' }
    const answer = await modern(transport).request('subscriptions/listen', { notifications: ALL }, { headers, id: 4 })
    expect(answer).toMatchObject({ status: 406, message: { id: 4, error: { code: -32600 } } })
  })
})

describe('S53 I-03 P-17 who is told of what', () => {
  test('I-03 Q-48 kinds and URIs that were asked for, exactly', async () => {
    const { transport } = changing()
    const tools = await subscribe(transport, { toolsListChanged: true, resourceSubscriptions: [TWO] }, { id: 1 })
    const one = await subscribe(transport, { resourceSubscriptions: [ONE] }, { id: 2 })
    for (const uri of [ONE, `${ONE}/sub`, 'test://', 'TEST://one', TWO]) await transport.notify.resourceUpdated(uri)
    await transport.notify.promptsChanged()
    await transport.notify.resourcesChanged()
    await transport.notify.toolsChanged()
    await tools.has(3)
    await transport.notify.resourceUpdated(ONE)
    await one.has(3)
    expect(toldTo(tools)).toEqual([TWO, 'tools'])
    expect(toldTo(one)).toEqual([ONE, ONE])
    await Promise.all([tools.leave(), one.leave()])
  })

  test('S53 I-09 two of one client with equal ids are two: when one goes, the other hears on', async () => {
    const { transport } = changing()
    const first = await subscribe(transport, { toolsListChanged: true }, { id: 1 })
    const second = await subscribe(transport, { resourceSubscriptions: [ONE] }, { id: 1 })
    await first.leave()
    await until(() => expect(transport.stats().connections).toBe(1))
    await transport.notify.toolsChanged()
    await transport.notify.resourceUpdated(TWO)
    await transport.notify.resourceUpdated(ONE)
    await second.has(2)
    expect(toldTo(second)).toEqual([ONE])
    // I-09 who comes back without a listen is told nothing: what was wanted has gone with the stream.
    const again = await subscribe(transport, { promptsListChanged: true }, { id: 1 })
    await transport.notify.toolsChanged()
    await transport.notify.promptsChanged()
    await again.has(2)
    expect(toldTo(again)).toEqual(['prompts'])
    await Promise.all([second.leave(), again.leave()])
  })

  test('I-08 a listing of the server that changes is told without a word of the app', async () => {
    const { transport, server } = changing()
    const listener = await subscribe(transport, ALL)
    for (const kind of ['tools', 'prompts', 'resources'] as const) server.changed(kind)
    await listener.has(4)
    expect(toldTo(listener)).toEqual(['tools', 'prompts', 'resources'])
    await listener.leave()
  })

  test('I-07 G-17 P-17 no progress and no log of a call on a listen, and no change on a call', async () => {
    const { transport, server } = changing()
    const listener = await subscribe(transport, ALL, { id: 7 })
    const meta = { progressToken: 7, [`${META}logLevel`]: 'debug' }
    const frames = await modern(transport).stream('steps', { n: 1 }, { id: 7, meta })
    expect((await frames.message())?.method).toBe('notifications/progress')
    await transport.notify.toolsChanged()
    await listener.has(2)
    server.gates.open('step 1')
    expect((await frames.rest()).map(({ method }) => method)).toEqual([undefined])
    expect((await modern(transport).call('log', { level: 'error' }, { meta })).messages).toHaveLength(2)
    await transport.notify.promptsChanged()
    await listener.has(3)
    expect(toldTo(listener)).toEqual(['tools', 'prompts'])
    await listener.leave()
  })

  test.each(['by its body', 'by its signal'])('S53 a client that goes, %s, is forgotten at once', async (how) => {
    const { transport } = changing()
    const client = new AbortController()
    const listener = await subscribe(transport, ALL, { signal: client.signal })
    if (how === 'by its signal') client.abort()
    else await listener.leave()
    await idle(transport)
    expect(transport.stats().connections).toBe(0)
    await transport.notify.toolsChanged()
    expect(toldTo(listener)).toEqual([])
  })
})

describe('the stream', () => {
  test('G-15 G-19 G-20 its headers, and comments while it is quiet', async () => {
    const { transport } = changing({ streams: { keepAliveMs: 10 }, response: 'json' })
    const sent = { headers: { 'last-event-id': 'x' } }
    const response = await modern(transport).open('subscriptions/listen', { notifications: ALL }, sent)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    })
    const frames = new Frames(response)
    expect((await frames.next())?.message?.method).toBe('notifications/subscriptions/acknowledged')
    for (let comments = 0; comments < 3; comments++) expect((await frames.next())?.raw).toBe(':')
    await frames.cancel()
  })

  test('I-05 I-06 Q-01 when the server stops: the result with the id, no cancelled, the end', async () => {
    const { transport } = changing()
    const listeners = await Promise.all([1, 'b'].map((id) => subscribe(transport, ALL, { id })))
    await transport.close()
    for (const [i, listener] of listeners.entries()) {
      await listener.ended
      const id = [1, 'b'][i]
      expect(listener.messages.slice(1)).toEqual([
        {
          jsonrpc: '2.0',
          id,
          result: {
            resultType: 'complete',
            _meta: { [ID]: id, [`${META}serverInfo`]: expect.objectContaining({ name: 'test' }) },
          },
        },
      ])
    }
  })

  test('the cap holds for those that come at once, and a place is free again when one goes', async () => {
    const { transport } = changing({ limits: { listens: 2 } })
    const open = () => modern(transport).open('subscriptions/listen', { notifications: ALL }, { id: 'mine' })
    const responses = await Promise.all(Array.from({ length: 5 }, open))
    const taken = responses.filter(({ status }) => status === 200)
    expect(taken).toHaveLength(2)
    for (const refused of responses.filter((response) => !taken.includes(response))) {
      const answer = await read(refused)
      expect(answer).toMatchObject({ status: 503, form: 'json', message: { id: 'mine', error: { code: -32603 } } })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await taken[0]!.body!.cancel()
    await until(() => expect(transport.stats().connections).toBe(1))
    const next = await open()
    expect(next.status).toBe(200)
    await Promise.all([taken[1]!.body!.cancel(), next.body!.cancel()])
  })

  test('a filter that is refused takes no place', async () => {
    const { transport } = changing({ limits: { listens: 1 } })
    await modern(transport).request('subscriptions/listen', { notifications: 5 })
    await (await subscribe(transport, {})).ended
    await (await subscribe(transport, ALL)).leave()
  })
})
