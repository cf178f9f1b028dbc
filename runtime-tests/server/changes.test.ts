// What changes while clients are there: listings and resources, told to those who want to know.
import { describe, expect, test } from 'vitest'
import { LEGACY_VERSIONS, legacy, META, modern, type Params } from '../../packages/core/test-support/clients.ts'
import { Listener, listen } from '../../packages/core/test-support/listener.ts'
import { listed, mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'
import { Frames } from '../../packages/core/test-support/sse.ts'

type Server = ReturnType<typeof mcp>
type Transport = ReturnType<typeof scene>['transport']
type Kind = 'tools' | 'prompts' | 'resources'

const DECLARED = { declare: ['tools', 'prompts', 'resources'] as const }

const KINDS: readonly [Kind, string, (server: Server) => ReturnType<Server['tool']>][] = [
  ['tools', 'tools/list', (s) => s.tool('a', {}, () => 'x')],
  ['prompts', 'prompts/list', (s) => s.prompt('a', {}, () => 'x')],
  ['resources', 'resources/list', (s) => s.resource('note://a', {}, () => 'x')],
  ['resources', 'resources/templates/list', (s) => s.resource('note://{a}', {}, () => 'x')],
]

const methods = ({ messages }: Listener) => messages.map(({ method }) => method)
const changed = (kind: Kind) => `notifications/${kind}/list_changed`

/** A listener of 2026-07-28, its acknowledgement read. */
async function subscribed(transport: Transport, notifications: Params): Promise<Listener> {
  const response = await modern(transport).open('subscriptions/listen', { notifications }, { id: 'sub' })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const listener = new Listener(new Frames(response))
  const [acknowledged] = await listener.has(1)
  expect(acknowledged).toMatchObject({ method: 'notifications/subscriptions/acknowledged', params: { notifications } })
  return listener
}

/** Each thing that is done to a registration, and whether its listing is another afterwards. */
function* steps(register: () => ReturnType<Server['tool']>): Generator<[string, boolean, number]> {
  const one = register()
  yield ['register', true, 1]
  one.enable()
  yield ['enable what is enabled', false, 1]
  one.disable()
  yield ['disable', true, 0]
  one.disable()
  yield ['disable what is disabled', false, 0]
  one.enable()
  yield ['enable', true, 1]
  one.remove()
  yield ['remove', true, 0]
  one.remove()
  yield ['remove what is gone', false, 0]
  one.enable()
  yield ['enable what is gone', false, 0]
  const two = register()
  yield ['register the name again', true, 1]
  one.disable()
  yield ['disable the one before', false, 1]
  two.disable()
  yield ['disable again', true, 0]
  two.remove()
  yield ['remove what is hidden', false, 0]
}

test.each(KINDS)('I-08 %s: onChange hears of each change of %s, and of nothing else', (kind, _method, register) => {
  const server = mcp(DECLARED)
  const heard: string[] = []
  const stop = server.onChange((one) => heard.push(one))
  for (const [step, isChange] of steps(() => register(server))) {
    expect(heard.splice(0), step).toEqual(isChange ? [kind] : [])
  }
  stop()
  register(server)
  expect(heard).toEqual([])
})

describe.each(LEGACY_VERSIONS)('%s', (version) => {
  test.each(KINDS)(
    'L-23 %s: each change of %s is told on the GET stream, and listed',
    async (kind, method, register) => {
      const server = mcp(DECLARED)
      const { transport } = scene({}, server)
      const client = await legacy(transport, version)
      const listener = await listen(client)
      expect(await listed(client, method)).toEqual([])
      let told = 0
      for (const [step, isChange, count] of steps(() => register(server))) {
        if (isChange) await listener.has(++told)
        expect(await listed(client, method), step).toHaveLength(count)
      }
      // In order, so that one too many would have come before this one.
      await transport.notify[`${kind}Changed`]()
      await listener.has(++told)
      expect(methods(listener)).toEqual(Array(told).fill(changed(kind)))
      await listener.leave()
    },
  )

  // The node compares the session's fingerprints with its own at a request, and does not count those of the handshake as
  // seen: a change that `events` has told the session of is told again. Only `<kind>/list` itself is spared.
  test('L-23 W3 a change between the handshake and the first request is told once', async () => {
    const server = mcp(DECLARED)
    const { transport } = scene({}, server)
    const client = await legacy(transport, version)
    const listener = await listen(client)
    try {
      server.tool('a', {}, () => 'x')
      await listener.has(1)
      await client.call('a')
      await transport.notify.promptsChanged()
      await listener.has(2)
      // Whatever is told behind the answer of the call is in the log before that of a later one.
      await client.request('ping')
      await transport.notify.promptsChanged()
      await listener.has(3)
      expect(methods(listener)).toEqual([changed('tools'), changed('prompts'), changed('prompts')])
    } finally {
      await listener.leave()
    }
  })

  test('L-23 L-01 a session hears of a kind that came after its handshake', async () => {
    const server = mcp()
    const { transport } = scene({}, server)
    const client = await legacy(transport, version)
    const listener = await listen(client)
    server.tool('late', {}, () => 'x')
    await listener.has(1)
    expect(methods(listener)).toEqual([changed('tools')])
    expect(await listed(client, 'tools/list')).toHaveLength(1)
    await listener.leave()
  })

  test('L-24 an update goes to the sessions that subscribed to its URI, until they unsubscribe', async () => {
    const server = mcp()
    for (const uri of ['note://a', 'note://b']) server.resource(uri, {}, () => 'x')
    const { transport } = scene({}, server)
    const [one, two] = [await legacy(transport, version), await legacy(transport, version)]
    const listeners = [await listen(one), await listen(two)] as const
    const update = (uri: string) => transport.notify.resourceUpdated(uri)
    /** Whatever was told before is there when this is. */
    const settled = async () => {
      const counts = listeners.map(
        ({ messages }) => messages.filter(({ method }) => method === changed('tools')).length,
      )
      await transport.notify.toolsChanged()
      for (const [i, listener] of listeners.entries()) {
        while (listener.messages.filter(({ method }) => method === changed('tools')).length <= counts[i]!) {
          await listener.has(listener.messages.length + 1)
        }
      }
      return listeners.map(({ messages }) =>
        messages.filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params?.uri),
      )
    }
    await update('note://a')
    expect(await settled()).toEqual([[], []])
    expect(resultOf(await one.request('resources/subscribe', { uri: 'note://a' }))).toEqual({})
    await update('note://a')
    await update('note://b')
    expect(await settled()).toEqual([['note://a'], []])
    expect(resultOf(await one.request('resources/unsubscribe', { uri: 'note://a' }))).toEqual({})
    await two.request('resources/subscribe', { uri: 'note://a' })
    await update('note://a')
    expect(await settled()).toEqual([['note://a'], ['note://a']])
    for (const listener of listeners) await listener.leave()
  })

  test('L-24 L-27 a subscription needs a URI, and a server with resources', async () => {
    const server = mcp()
    const client = await legacy(scene({}, server).transport, version)
    const subscribe = async (uri: unknown) => (await client.request('resources/subscribe', { uri })).message.error?.code
    expect(await subscribe('note://a')).toBe(-32601)
    server.resource('note://a', {}, () => 'x')
    for (const uri of [undefined, 5, '']) expect(await subscribe(uri)).toBe(-32602)
    expect(await subscribe('note://a')).toBeUndefined()
  })
})

describe('2026-07-28', () => {
  test.each(KINDS)(
    'I-08 %s: each change of %s is told to who listens for it, and listed',
    async (kind, method, register) => {
      const server = mcp(DECLARED)
      const { transport } = scene({}, server)
      const listener = await subscribed(transport, { [`${kind}ListChanged`]: true })
      const others = ['tools', 'prompts', 'resources'].filter((other) => other !== kind)
      const deaf = await subscribed(transport, Object.fromEntries(others.map((other) => [`${other}ListChanged`, true])))
      const client = modern(transport)
      let told = 1
      for (const [step, isChange, count] of steps(() => register(server))) {
        if (isChange) await listener.has(++told)
        expect(await listed(client, method), step).toHaveLength(count)
      }
      await transport.notify[`${kind}Changed`]()
      const [, ...messages] = await listener.has(++told)
      expect(messages).toHaveLength(told - 1)
      for (const message of messages) {
        expect(message).toEqual({
          jsonrpc: '2.0',
          method: changed(kind),
          params: { _meta: { [`${META}subscriptionId`]: 'sub' } },
        })
      }
      for (const other of others as Kind[]) await transport.notify[`${other}Changed`]()
      await deaf.has(3)
      expect(methods(deaf)).not.toContain(changed(kind))
      await listener.leave()
      await deaf.leave()
    },
  )

  test('I-08 L-01 what is not declared is not promised', async () => {
    const server = mcp()
    server.tool('a', {}, () => 'x')
    const { transport } = scene({}, server)
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['note://a'] }
    const response = await modern(transport).open('subscriptions/listen', { notifications })
    const listener = new Listener(new Frames(response))
    const [acknowledged] = await listener.has(1)
    expect(acknowledged?.params?.notifications).toEqual({ toolsListChanged: true })
    await listener.leave()
  })
})

test('L-23 I-08 what is disabled or removed can not be called, read or got', async () => {
  const server = mcp()
  const all = [
    server.tool('a', {}, () => 'x'),
    server.prompt('a', {}, () => 'x'),
    server.resource('note://a', {}, () => 'x'),
    server.resource('doc://{a}', {}, () => 'x'),
  ]
  const { transport } = scene({}, server)
  for (const client of [modern(transport), await legacy(transport)]) {
    const codes = async () => {
      const answers = [
        client.call('a'),
        client.request('prompts/get', { name: 'a' }),
        client.request('resources/read', { uri: 'note://a' }),
        client.request('resources/read', { uri: 'doc://a' }),
      ]
      return (await Promise.all(answers)).map(({ message }) => message.error?.code !== undefined)
    }
    expect(await codes()).toEqual(Array(4).fill(false))
    for (const one of all) one.disable()
    expect(await codes()).toEqual(Array(4).fill(true))
    for (const one of all) one.enable()
  }
  for (const one of all) one.remove()
  expect(server.describe('2026-07-28').capabilities).toMatchObject({ tools: {}, prompts: {}, resources: {} })
})
