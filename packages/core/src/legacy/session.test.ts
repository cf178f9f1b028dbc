import { describe, expect, test } from 'vitest'
import {
  type Client,
  type HeaderChanges,
  initialize,
  LEGACY_VERSIONS,
  legacy,
  MODERN,
  modern,
  post,
  sessionless,
  verb,
} from '../../test-support/clients.ts'
import { scene, until } from '../../test-support/scene.ts'
import { Frames, read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import type { Transport } from '../transport.ts'

const whoami = async (client: Client, headers?: HeaderChanges) =>
  JSON.parse(textOf((await client.call('whoami', {}, headers ? { headers } : {})).message)!)

/** The same request on every verb and kind of message. */
function everyWay(transport: Transport, headers: HeaderChanges): Record<string, Promise<Response>> {
  return {
    request: post(transport, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers),
    notification: post(transport, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers),
    response: post(transport, { jsonrpc: '2.0', id: 1, result: {} }, headers),
    GET: verb(transport, 'GET', headers),
    DELETE: verb(transport, 'DELETE', headers),
  }
}
const WAYS = ['request', 'notification', 'response', 'GET', 'DELETE']

/** `Bearer <name>.<anything>` is the principal <name>. */
const auth: TransportOptions['auth'] = (request) => {
  const [, name] = /^Bearer (\w+)\./.exec(request.headers.get('authorization') ?? '') ?? []
  return name ? { id: name } : new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } })
}

describe('C-01 C-02 C-03 R04 session ids', () => {
  test('1000 are unique, of visible ASCII, and long enough for 128 random bits', async () => {
    const { transport } = scene()
    const ids = new Set<string>()
    for (let i = 0; i < 1000; i++) {
      const response = await post(transport, initialize('2025-11-25'))
      await response.text()
      ids.add(response.headers.get('mcp-session-id')!)
    }
    expect(ids.size).toBe(1000)
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{22,}$/)
    // Every place varies: none of it is a constant or a counter.
    const [first] = ids
    for (let at = 0; at < first!.length; at++) {
      expect(new Set([...ids].map((id) => id[at])).size).toBeGreaterThan(8)
    }
  })
})

describe('S01 R07 C-04 C-05 Q-36 ids that name no session', () => {
  const unknown = ['nope', 'a'.repeat(22), 'x'.repeat(5000), '../../session', 'a b', '{}', '*', 'sessions:1']

  test.each(WAYS.flatMap((way) => unknown.map((id) => ({ way, id }))))(
    '$way with $id: 404, as JSON',
    async ({ way, id }) => {
      const { transport } = scene()
      const answer = await read(everyWay(transport, { 'mcp-session-id': id })[way]!)
      expect(answer).toMatchObject({ status: 404, form: 'json', message: { error: { code: -32600 } } })
    },
  )

  test.each(WAYS)('%s with none: 400', async (way) => {
    const answer = await read(everyWay(scene().transport, {})[way]!)
    expect(answer).toMatchObject({ status: 400, form: 'json', message: { error: { code: -32600 } } })
  })

  test.each(WAYS)('M-06 C-07 %s with none and without a token: 401', async (way) => {
    const { transport } = scene({ auth })
    for (const headers of [{}, { 'mcp-session-id': 'nope' }]) {
      expect((await everyWay(transport, headers)[way]!).status).toBe(401)
    }
  })

  test('the error to a request has its id', async () => {
    const { transport } = scene()
    expect((await read(everyWay(transport, {}).request!)).message.id).toBe(1)
    expect((await read(everyWay(transport, { 'mcp-session-id': 'nope' }).request!)).message.id).toBe(1)
  })

  test('initialize makes a new session whatever id it carries, and leaves a live one alone', async () => {
    const { transport } = scene()
    const first = await legacy(transport)
    for (const id of ['dead', first.session]) {
      const { status, headers } = await read(post(transport, initialize('2025-11-25'), { 'mcp-session-id': id }))
      expect(status).toBe(200)
      expect([id, first.session]).not.toContain(headers.get('mcp-session-id'))
    }
    expect((await first.request('tools/list')).status).toBe(200)
  })
})

describe('S07 C-05 C-06 R29 DELETE', () => {
  test.each(LEGACY_VERSIONS)('%s: 2xx, then 404 in every way, and its streams are over', async (version) => {
    const { transport } = scene()
    const client = await legacy(transport, version)
    const stream = await client.verb('GET')
    const ended = await client.verb('DELETE')
    expect([200, 204]).toContain(ended.status)
    await ended.text()
    // W16: the GET stream ends with the session.
    if (stream.headers.get('content-type') === 'text/event-stream') expect(await new Frames(stream).rest()).toEqual([])
    else expect(stream.status).toBe(405)
    for (const response of Object.values(everyWay(transport, { 'mcp-session-id': client.session }))) {
      expect((await response).status).toBe(404)
    }
    expect(transport.stats().sessions).toBe(0)
  })

  test('R27 calls that run are stopped', async () => {
    const { transport, server } = scene({ streams: { streamAfterMs: 0 } })
    const client = await legacy(transport)
    const frames = await client.stream('slow', { text: 'x' })
    await server.started('slow')
    await client.verb('DELETE')
    expect(await frames.rest()).toEqual([])
    await until(() => expect(server.aborted).toHaveLength(1))
  })

  test('another session is left alone', async () => {
    const { transport } = scene()
    const [a, b] = [await legacy(transport), await legacy(transport)]
    await a.verb('DELETE')
    expect((await b.request('tools/list')).status).toBe(200)
  })
})

describe('who it belongs to', () => {
  test('S05 the credential of the request counts, not that of initialize', async () => {
    const tokens = new Map([
      ['T1', 'first'],
      ['T2', 'refreshed'],
    ])
    const { transport } = scene({
      auth(request) {
        const token = tokens.get(request.headers.get('authorization') ?? '')
        return token ? { id: 'alice', claims: { token } } : new Response(null, { status: 401 })
      },
      context: (_request, { principal }) => principal?.claims,
    })
    const client = await legacy(transport, '2025-11-25', { headers: { authorization: 'T1' } })
    expect(await whoami(client)).toMatchObject({ principal: 'alice', context: { token: 'first' } })
    expect(await whoami(client, { authorization: 'T2' })).toMatchObject({ context: { token: 'refreshed' } })
    expect((await client.call('whoami', {}, { headers: { authorization: undefined } })).status).toBe(401)
    expect((await client.verb('DELETE', { authorization: undefined })).status).toBe(401)
  })

  test.each(WAYS)('S06 C-08 W22 another user’s %s: 404, and nothing of it is touched', async (way) => {
    const { transport, server } = scene({ auth })
    const client = await legacy(transport, '2025-11-25', { headers: { authorization: 'Bearer alice.1' } })
    const headers = { 'mcp-session-id': client.session, authorization: 'Bearer bob.1' }
    const answer = await read(everyWay(transport, headers)[way]!)
    expect(answer).toMatchObject({ status: 404, form: 'json' })
    expect(answer.text).not.toContain('alice')
    expect(server.runs).toEqual({})
    expect((await client.request('tools/list')).status).toBe(200)
  })

  test('S06 principals whose ids look alike are different ones', async () => {
    const { transport } = scene({ auth: (request) => ({ id: request.headers.get('x-user')! }) })
    const client = await legacy(transport, '2025-11-25', { headers: { 'x-user': 'a:b' } })
    for (const user of ['a', 'a:b:', 'a%3Ab', 'A:B', 'a/b']) {
      expect((await client.request('tools/list', {}, { headers: { 'x-user': user } })).status).toBe(404)
    }
  })
})

describe('S33 R09 B-13 B-14 Q-41 MCP-Protocol-Version in a session', () => {
  test.each(['1900-01-01', 'not-a-version', '2025-11-25, 2025-11-25', '2025-11-25x', '2024-11-05'])(
    'the header %s: 400, naming the versions',
    async (header) => {
      const { transport } = scene()
      const { session } = await legacy(transport, '2025-11-25')
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': header }
      for (const response of Object.values(everyWay(transport, headers))) {
        const answer = await read(response)
        expect(answer).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
        expect(answer.message.error?.message).toContain('2025-11-25')
      }
      expect(transport.stats().sessions).toBe(1)
    },
  )

  test.each([undefined, '2025-03-26', '2025-06-18', '2025-11-25'])(
    'with %s the session’s own version counts',
    async (header) => {
      const client = await legacy(scene().transport, '2025-11-25')
      expect((await whoami(client, { 'mcp-protocol-version': header })).version).toBe('2025-11-25')
    },
  )

  test('P-03 2025-03-26 does not know the header', async () => {
    const client = await legacy(scene().transport, '2025-03-26')
    for (const header of ['bogus', '2025-11-25']) {
      expect((await whoami(client, { 'mcp-protocol-version': header })).version).toBe('2025-03-26')
    }
  })

  test('Q-05 the modern header makes it a modern request', async () => {
    const client = await legacy(scene().transport, '2025-11-25')
    const { status, message } = await client.request('tools/list', {}, { headers: { 'mcp-protocol-version': MODERN } })
    expect({ status, code: message.error?.code }).toEqual({ status: 400, code: -32602 })
  })
})

describe('R03 modes', () => {
  test('required: false serves both', async () => {
    const { transport } = scene({ sessions: { required: false } })
    const client = await legacy(transport)
    expect((await whoami(client)).session).toBe(client.session)
    expect((await whoami(sessionless(transport, '2025-06-18'))).session).toBeNull()
    expect(
      (await sessionless(transport).request('tools/list', {}, { headers: { 'mcp-session-id': 'nope' } })).status,
    ).toBe(404)
  })

  test.each<[TransportOptions['sessions']]>([[false], [{ required: false }]])(
    'B-14 Q-41 without a session the header decides, else 2025-03-26: %j',
    async (sessions) => {
      const { transport } = scene({ sessions })
      expect((await whoami(sessionless(transport))).version).toBe('2025-03-26')
      for (const version of LEGACY_VERSIONS)
        expect((await whoami(sessionless(transport, version))).version).toBe(version)
      const { status, message } = await sessionless(transport, '1900-01-01').request('tools/list', {}, { id: 6 })
      expect({ status, message }).toMatchObject({ status: 400, message: { id: 6, error: { code: -32022 } } })
      expect(message.error?.data).toMatchObject({
        requested: '1900-01-01',
        supported: expect.arrayContaining(['2025-11-25']),
      })
    },
  )

  test('false: no session is made, an id is not looked at, and nothing is declared that needs one', async () => {
    const { transport } = scene({ sessions: false })
    const answer = await read(post(transport, initialize('2025-11-25')))
    expect(answer.headers.has('mcp-session-id')).toBe(false)
    expect(JSON.stringify(answer.message.result?.capabilities)).not.toMatch(/listChanged|subscribe/)
    const other = { headers: { 'mcp-session-id': 'whatever' } }
    expect((await sessionless(transport, '2025-11-25').call('echo', { text: '' }, other)).status).toBe(200)
    expect(transport.stats()).toMatchObject({ sessions: 0, storeCalls: 0 })
  })
})

describe('R02 R06 hooks and values', () => {
  test('onSessionStart sees the request and sets values that every call of the session has', async () => {
    const ended: unknown[] = []
    const { transport, server } = scene({
      onSessionStart: (session, request) => session.set('tenant', request.headers.get('x-tenant')!),
      onSessionEnd: (session, reason) => void ended.push([session.id, reason]),
    })
    server.tool('tenant', async (_args, { session }) => ({
      content: [{ type: 'text', text: `${await session?.get('tenant')} ${await session?.get('other')}` }],
    }))
    const clients = [
      await legacy(transport, '2025-11-25', { headers: { 'x-tenant': 'a' } }),
      await legacy(transport, '2025-03-26', { headers: { 'x-tenant': 'b' } }),
    ]
    const told = await Promise.all(clients.map((client) => client.call('tenant')))
    expect(told.map(({ message }) => textOf(message))).toEqual(['a undefined', 'b undefined'])
    await clients[0]!.verb('DELETE')
    await until(() => expect(ended).toEqual([[clients[0]!.session, 'deleted']]))
  })

  test('what the client said of itself at initialize is there at every call, and not for modern requests', async () => {
    const { transport } = scene()
    const client = await legacy(transport, '2025-06-18', { capabilities: { sampling: {} } })
    const info = { name: 'test-client', version: '0.1.0' }
    expect((await whoami(client)).client).toEqual({ info, capabilities: { sampling: {} } })
    const headers = { 'mcp-session-id': client.session }
    expect((await whoami(modern(transport, headers))).client.capabilities).toEqual({})
  })
})
