// One session at several nodes: what one knows the others know, and nothing crosses.
import { describe, expect, test } from 'vitest'
import { LEGACY_VERSIONS, legacy, modern, sessionless } from '../../test-support/clients.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, type Nodes, twoNodes } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import { type Message, read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

const auth: TransportOptions['auth'] = (request) => {
  const [, name] = /^Bearer (\w+)\./.exec(request.headers.get('authorization') ?? '') ?? []
  return name ? { id: name } : new Response(null, { status: 401 })
}
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

describe.each(LEGACY_VERSIONS)('%s', (version) => {
  test('S02 R06 R09 W18 what one node has negotiated the other one serves', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport, version, { capabilities: { sampling: {} } })
    const there = at(b.transport, client, version)
    expect((await there.notify('notifications/initialized')).status).toBe(202)
    expect((await there.request('tools/list')).status).toBe(200)
    expect(JSON.parse(textOf((await there.call('whoami')).message)!)).toMatchObject({
      version,
      session: client.session,
      client: { info: { name: 'test-client' }, capabilities: { sampling: {} } },
    })
    const wrong = await there.request('tools/list', {}, { headers: { 'mcp-protocol-version': '1900-01-01' } })
    expect(wrong.status).toBe(version === '2025-03-26' ? 200 : 400)
    expect((await there.verb('DELETE')).status).toBe(204)
    expect((await client.request('tools/list')).status).toBe(404)
  })

  test('E-21 logging/setLevel counts at every node; what is no level is -32602', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport, version)
    const there = at(b.transport, client, version)
    expect((await there.request('logging/setLevel', { level: 'error' })).message.result).toStrictEqual({})
    for (const node of [client, there]) {
      expect((await node.call('log', { level: 'info' })).messages).toHaveLength(1)
      expect((await node.call('log', { level: 'critical' })).messages).toHaveLength(2)
    }
    for (const level of ['loud', 5, undefined]) {
      expect((await client.request('logging/setLevel', { level })).message.error?.code).toBe(-32602)
    }
  })
})

describe('R02 ctx.session and transport.session', () => {
  test.each([false, true])('values that two nodes set at once are all there; replies get lost: %s', async (lossy) => {
    const { a, b } = twoNodes({}, lossy ? (store) => unreliable(store) : undefined)
    const client = await legacy(a.transport)
    for (const { server } of [a, b]) {
      server.tool('set', async ({ key }, { session }) => {
        await session!.set(String(key), { of: String(key) })
        return { content: [] }
      })
    }
    const there = at(b.transport, client)
    const keys = Array.from({ length: 20 }, (_, i) => `key ${i}`)
    await Promise.all(keys.map((key, i) => (i % 2 ? client : there).call('set', { key })))
    const held = (await b.transport.session(client.session))!
    expect(await Promise.all(keys.map((key) => held.get(key)))).toEqual(keys.map((of) => ({ of })))
    expect(await held.get('__proto__')).toBeUndefined()
    expect(await held.get('other')).toBeUndefined()
  })

  test('C-08 by its id alone, with its principal, at every node; and no other id', async () => {
    const { a, b } = twoNodes({ auth })
    const client = await legacy(a.transport, '2025-11-25', bearer('alice.1'))
    const bare = await legacy(a.transport, '2025-11-25', bearer('bob.1'))
    for (const { transport } of [a, b]) {
      const held = await transport.session(client.session)
      expect(held).toMatchObject({ id: client.session, principal: { id: 'alice' } })
      expect((await transport.session(bare.session))?.principal).toEqual({ id: 'bob' })
      for (const id of ['nope', '', 'A'.repeat(22), '../x']) expect(await transport.session(id)).toBeUndefined()
    }
    await (await b.transport.session(client.session))!.set('k', 'v')
    expect(await (await a.transport.session(client.session))!.get('k')).toBe('v')
    await (await b.transport.session(client.session))!.end()
    expect((await client.request('tools/list')).status).toBe(404)
    expect((await bare.request('tools/list')).status).toBe(200)
  })

  test('C-07 C-08 S05 S06 W22 at the other node too: the credential of the request counts, and only the owner’s', async () => {
    const { a, b } = twoNodes({ auth })
    const client = await legacy(a.transport, '2025-11-25', bearer('alice.1'))
    const as = (token: string | undefined) =>
      at(b.transport, client, '2025-11-25', { authorization: token && `Bearer ${token}` })
    expect(JSON.parse(textOf((await as('alice.2').call('whoami')).message)!).principal).toBe('alice')
    expect((await as(undefined).call('whoami')).status).toBe(401)
    for (const method of ['GET', 'DELETE']) expect((await read(as('bob.1').verb(method))).status).toBe(404)
    expect((await as('bob.1').call('whoami')).status).toBe(404)
    expect((await client.request('tools/list')).status).toBe(200)
  })
})

describe('S26 Q-26 two requests in flight with one id', () => {
  const FORMS: [string, TransportOptions][] = [
    ['json', { streams: { streamAfterMs: 60_000 } }],
    ['sse', { response: 'sse', streams: { streamAfterMs: 0 } }],
  ]
  const rounds = Array.from({ length: 100 }, (_, i) => i)

  test.each(FORMS.flatMap(([form, options]) => ['one node', 'two nodes'].map((where) => ({ form, where, options }))))(
    '$form, $where: each exchange has its own answer, in 100 rounds',
    async ({ options, where }) => {
      const { a, b }: Nodes = twoNodes(options)
      const client = await legacy(a.transport)
      const there = where === 'one node' ? client : at(b.transport, client)
      const second = where === 'one node' ? a.server : b.server
      await Promise.all(
        rounds.map(async (round) => {
          const call = (to: typeof there, text: string) =>
            to.call('slow', { text, gate: `${text} ${round}` }, { id: 1, meta: { progressToken: 1 } })
          const [first, other] = [call(client, 'a'), call(there, 'b')]
          second.gates.open(`b ${round}`)
          expect((await other).messages.map(textOf)).toEqual(['b'])
          a.server.gates.open(`a ${round}`)
          expect((await first).messages.map(textOf)).toEqual(['a'])
        }),
      )
    },
  )
})

test('S38 many users on one id each: nobody sees what is another’s, over two nodes', async () => {
  const { a, b } = twoNodes({ auth, streams: { streamAfterMs: 0 } })
  for (const { server } of [a, b]) {
    server.tool('secret', async ({ secret }, ctx) => {
      await ctx.progress(1, 2, `one ${secret}`)
      await ctx.log('error', `log ${secret}`)
      const [first] = await ctx.roots()
      await ctx.progress(2, 2, `two ${secret}`)
      return { content: [{ type: 'text', text: `${secret} ${first!.uri}` }] }
    })
  }
  const users = Array.from({ length: 60 }, (_, i) => `user${i}`)
  const seen = await Promise.all(
    users.map(async (user, i) => {
      const client = await legacy(a.transport, LEGACY_VERSIONS[i % 3], {
        ...bearer(`${user}.x`),
        capabilities: { roots: {} },
      })
      const there = at(i % 2 ? a.transport : b.transport, client, LEGACY_VERSIONS[i % 3], bearer(`${user}.x`).headers)
      const other = at(i % 2 ? b.transport : a.transport, client, LEGACY_VERSIONS[i % 3], bearer(`${user}.x`).headers)
      const call = new Listener(
        await there.stream('secret', { secret: user }, { id: 2, meta: { progressToken: (i % 3) + 1 } }),
      )
      let ask: Message | undefined
      await until(() => {
        ask = call.messages.find(({ method }) => method === 'roots/list')
        expect(ask).toBeDefined()
      })
      const answer = { jsonrpc: '2.0', id: ask!.id, result: { roots: [{ uri: `file:///${user}` }] } }
      expect((await other.send(answer)).status).toBe(202)
      await call.ended
      return call
    }),
  )
  for (const [i, call] of seen.entries()) {
    const user = users[i]!
    const foreign = JSON.stringify(call.messages)
      .match(/user\d+/g)!
      .filter((name) => name !== user)
    expect(foreign).toEqual([])
    expect(textOf(call.messages.at(-1)!)).toBe(`${user} file:///${user}`)
    expect(call.messages).toHaveLength(5)
  }
})

test('R03 B-14 S23 S37 sessions: false: progress and cancel on the call’s own stream, no ids, no GET, no DELETE', async () => {
  const { transport, server } = scene({ sessions: false, streams: { streamAfterMs: 0 } })
  const client = sessionless(transport, '2025-11-25')
  for (const progressToken of ['p1', 7, 0]) {
    const call = new Listener(await client.stream('steps', { n: 1 }, { meta: { progressToken } }))
    await call.has(1)
    server.gates.open('step 1')
    await call.ended
    expect(call.messages).toMatchObject([{ params: { progressToken, progress: 1 } }, { result: {} }])
    expect(call.frames.flatMap(({ id }) => id ?? [])).toEqual([])
  }
  for (const method of ['GET', 'DELETE']) {
    const answer = await read(client.verb(method))
    expect(answer).toMatchObject({ status: 405, form: 'json' })
    expect(answer.headers.get('allow')).not.toContain(method)
  }
  // Nothing names a call from outside of it: a cancel is taken, and touches nobody.
  const call = new Listener(await client.stream('slow', { text: 'x' }, { id: 1 }))
  expect((await client.notify('notifications/cancelled', { requestId: 1 })).status).toBe(202)
  server.gates.open('slow')
  await call.ended
  expect(call.messages.map(textOf)).toEqual(['x'])
  expect(transport.stats().storeCalls).toBe(0)
})

test('O-02 a modern request with a live session’s id has nothing to do with the session', async () => {
  const { a, store } = twoNodes()
  const client = await legacy(a.transport)
  const before = a.transport.stats().storeCalls
  const answer = await modern(a.transport, { 'mcp-session-id': client.session }).call('whoami')
  expect(JSON.parse(textOf(answer.message)!)).toMatchObject({ session: null, era: 'modern' })
  expect(a.transport.stats().storeCalls).toBe(before)
  expect(await store.kv.get({ tag: client.session, name: 'session' })).toBeDefined()
})

test('O-06 the endpoints of HTTP+SSE are not there: a GET without a session is no stream', async () => {
  const { transport } = scene()
  const answer = await read(sessionless(transport).verb('GET'))
  expect(answer).toMatchObject({ status: 400, form: 'json' })
  expect(answer.text).not.toContain('endpoint\n')
})

test('W24 node ids, event ids and request ids are random: they tell nothing of host or process', async () => {
  const { a, b } = twoNodes({ streams: { streamAfterMs: 0 } })
  const names = new Set<string>()
  for (const { transport, server } of [a, b]) {
    const client = await legacy(transport, '2025-11-25', { capabilities: { roots: {} } })
    server.tool('ask', async (_args, ctx) => {
      await ctx.roots()
      return { content: [] }
    })
    const call = new Listener(await client.stream('ask'))
    const [ask] = await call.has(1)
    expect(ask!.id).toMatch(/^[\w-]{12}-[\w-]{22}$/)
    names.add(String(ask!.id).slice(0, 12))
    await client.send({ jsonrpc: '2.0', id: ask!.id, result: { roots: [] } })
    await call.ended
    const get = await listen(client)
    await transport.notify.toolsChanged()
    await get.has(1)
    await get.leave()
  }
  expect(names.size).toBe(2)
})
