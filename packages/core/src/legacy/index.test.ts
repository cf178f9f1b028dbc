import { describe, expect, test } from 'vitest'
import {
  initialize,
  LEGACY_VERSIONS,
  legacy,
  MODERN,
  modern,
  post,
  sessionless,
  verb,
} from '../../test-support/clients.ts'
import { scene } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { Frames, read, textOf } from '../../test-support/sse.ts'
import type { ProtocolVersion } from '../protocol.ts'

describe('the handshake', () => {
  test.each(LEGACY_VERSIONS)(
    'A-09 R13 S44 %s: version, capabilities and serverInfo, as JSON, in a new session',
    async (version) => {
      const { transport } = scene()
      const answer = await read(post(transport, initialize(version)))
      expect(answer).toMatchObject({ status: 200, form: 'json', message: { id: 'init' } })
      expect(answer.message.result).toMatchObject({
        protocolVersion: version,
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: 'test', version: '1.2.3' },
        instructions: 'be kind',
      })
      expect(answer.headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]+$/)
    },
  )

  test.each<[ProtocolVersion, string[]]>([
    ['2025-03-26', ['name', 'version']],
    ['2025-06-18', ['name', 'title', 'version']],
    ['2025-11-25', ['name', 'title', 'version', 'websiteUrl']],
  ])('A-11 P-22 %s: serverInfo has only what the revision knows: %j', async (version, fields) => {
    const { message } = await read(post(scene().transport, initialize(version)))
    expect(Object.keys(message.result?.serverInfo as object).sort()).toEqual(fields)
  })

  test.each<[string, string, ProtocolVersion[]?]>([
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
    ['2024-11-05', '2025-11-25'],
    ['', '2025-11-25'],
    ['DRAFT', '2025-11-25'],
    [MODERN, '2025-11-25'],
    ['2025-11-25', '2025-06-18', ['2025-03-26', '2025-06-18', MODERN]],
    ['2025-03-26', '2025-03-26', ['2025-03-26', '2025-06-18']],
  ])('A-10 Q-38 asked for %j, it offers %s', async (asked, offered, versions) => {
    const { transport } = scene(versions ? { versions } : {})
    expect((await read(post(transport, initialize(asked)))).message.result?.protocolVersion).toBe(offered)
  })

  test.each([
    [undefined],
    [{}],
    [{ protocolVersion: 5, capabilities: {}, clientInfo: {} }],
    [{ protocolVersion: null, capabilities: {} }],
  ])('without a version it is refused, and no session is made: %j', async (params) => {
    const { transport } = scene()
    const answer = await read(post(transport, { jsonrpc: '2.0', id: 1, method: 'initialize', params }))
    expect(answer).toMatchObject({ form: 'json', message: { id: 1, error: { code: -32602 } } })
    expect(answer.headers.has('mcp-session-id')).toBe(false)
    expect(transport.stats().sessions).toBe(0)
  })

  test('Q-34 a client that says nothing of itself, or nonsense, is served', async () => {
    const { transport } = scene()
    for (const rest of [{}, { capabilities: 5, clientInfo: 'x' }, { capabilities: [], clientInfo: { name: 1 } }]) {
      const params = { protocolVersion: '2025-11-25', ...rest }
      const answer = await read(post(transport, { jsonrpc: '2.0', id: 1, method: 'initialize', params }))
      expect(answer.status).toBe(200)
    }
  })

  test.each<[string, Record<string, string>]>([
    ['no headers of 2026', {}],
    ['the version header of a legacy revision', { 'mcp-protocol-version': '2025-11-25' }],
    [
      'Mcp-Method too, as the conformance suite sends it',
      { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'initialize' },
    ],
    ['a header of the version of 2026', { 'mcp-protocol-version': MODERN }],
    ['a header that names no version', { 'mcp-protocol-version': 'x' }],
  ])('S44 O-03 initialize is legacy with %s', async (_what, headers) => {
    const body = initialize('2025-11-25') as { params: object }
    const answer = await read(post(scene().transport, { ...body, params: { ...body.params, _meta: {} } }, headers))
    expect(answer.status).toBe(200)
    expect(answer.message.result?.protocolVersion).toBe('2025-11-25')
  })

  test('S44 O-01 O-03 both eras on one URL, each under its own rules', async () => {
    const { transport } = scene()
    const [client, other] = [await legacy(transport), modern(transport)]
    const [old, young] = await Promise.all([client.call('whoami'), other.call('whoami')])
    expect(JSON.parse(textOf(old.message)!)).toMatchObject({
      era: 'legacy',
      version: '2025-11-25',
      session: client.session,
    })
    expect(JSON.parse(textOf(young.message)!)).toMatchObject({ era: 'modern', version: MODERN, session: null })
    expect(old.message.result).not.toHaveProperty('resultType')
    expect(young.headers.has('mcp-session-id')).toBe(false)
  })
})

describe.each(LEGACY_VERSIONS)('%s', (version) => {
  test('E-19 ping is answered with an empty result, before the handshake is done too', async () => {
    const { transport } = scene()
    const { headers } = await read(post(transport, initialize(version)))
    const session = headers.get('mcp-session-id')!
    const answer = await read(post(transport, { jsonrpc: '2.0', id: 0, method: 'ping' }, { 'mcp-session-id': session }))
    expect(answer).toMatchObject({ status: 200, message: { id: 0 } })
    expect(answer.message.result).toStrictEqual({})
  })

  test.each<[string, object]>([
    ['initialized', { method: 'notifications/initialized' }],
    ['an unknown notification', { method: 'notifications/foo', params: { x: 1 } }],
    ['a cancel of nothing', { method: 'notifications/cancelled', params: { requestId: 99 } }],
    ['a response', { id: 1, result: {} }],
    ['an error', { id: 'x', error: { code: 1, message: 'no' } }],
    ['an error without id', { error: { code: 1, message: 'no' } }],
  ])('S32 B-02 A-06 R12 Q-28 %s: 202 and nothing else', async (_what, message) => {
    const client = await legacy(scene().transport, version)
    const response = await client.send({ jsonrpc: '2.0', ...message })
    expect(response.status).toBe(202)
    expect(response.headers.has('content-type')).toBe(false)
    expect((await response.arrayBuffer()).byteLength).toBe(0)
  })

  test.each<[string, object]>([
    ['params a number', { method: 'notifications/foo', params: 5 }],
    ['a response without its id', { result: {} }],
    ['neither result nor method', {}],
  ])('B-03 %s: an error status, with an error that has no id', async (_what, message) => {
    const client = await legacy(scene().transport, version)
    const answer = await read(client.send({ jsonrpc: '2.0', ...message }))
    expect(answer).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
    expect(answer.message).not.toHaveProperty('id')
  })

  test.each(['foo/bar', 'server/discover', 'subscriptions/listen', '', '__proto__', 'constructor', 'toString'])(
    'S46 Q-08 A-05 the unknown method %j: 200 with -32601',
    async (method) => {
      const client = await legacy(scene().transport, version)
      const answer = await client.request(method, {}, { id: 4 })
      expect(answer).toMatchObject({ status: 200, message: { id: 4, error: { code: -32601 } } })
    },
  )

  test('S46 a method behind a capability that is not there; an unknown tool is -32602', async () => {
    const server = new TestServer().without('prompts/list', 'prompts/get')
    const client = await legacy(scene({}, server).transport, version)
    expect(await client.request('prompts/get', { name: 'x' })).toMatchObject({
      status: 200,
      message: { error: { code: -32601 } },
    })
    expect(await client.call('nope')).toMatchObject({ status: 200, message: { error: { code: -32602 } } })
  })

  test('Q-46 what only 2026 knows is taken out of a result, the rest stays', async () => {
    const server = new TestServer().tool('full', () => ({
      content: [],
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'x', version: '1' }, 'own.example/key': 1 },
    }))
    const client = await legacy(scene({}, server).transport, version)
    const { message } = await client.call('full')
    expect(message.result).toStrictEqual({ content: [], _meta: { 'own.example/key': 1 } })
  })

  test('P-04 mirrored headers mean nothing here', async () => {
    const client = await legacy(scene().transport, version)
    const headers = { 'mcp-method': 'tools/list', 'mcp-name': 'other', 'mcp-param-x': '=?base64?%%?=' }
    expect((await client.call('echo', { text: 'x' }, { headers })).status).toBe(200)
  })

  test('B-05 B-06 B-07 B-10 what is said about a call, and its answer, go on the stream of the call alone, which they end', async () => {
    const { transport, server } = scene({ streams: { streamAfterMs: 0 } })
    const client = await legacy(transport, version)
    const get = await client.verb('GET')
    const frames = await client.stream('steps', { n: 1 }, { id: 9, meta: { progressToken: 'p' } })
    expect(await frames.message()).toMatchObject({ method: 'notifications/progress' })
    server.gates.open('step 1')
    expect(await frames.rest()).toMatchObject([{ id: 9, result: {} }])
    await client.verb('DELETE')
    if (get.status === 200) expect(await new Frames(get).rest()).toEqual([])
    else expect((await read(get)).status).toBe(405)
  })

  test('F-18 E-21 E-22 logs go out on the call’s own stream where logging is declared, else nowhere', async () => {
    const server = new TestServer()
    const client = await legacy(scene({}, server).transport, version)
    const { messages } = await client.call('log', { level: 'error' })
    expect(messages).toMatchObject([{ method: 'notifications/message', params: { level: 'error' } }, { result: {} }])
    const { describe: declared } = server
    server.describe = () => ({ ...declared.call(server), capabilities: { tools: {} } })
    expect((await client.call('log', { level: 'error' })).messages).toHaveLength(1)
  })
})

describe('A-08 S31 arrays', () => {
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } },
    { jsonrpc: '2.0', method: 'notifications/foo' },
  ]

  test.each(['2025-06-18', '2025-11-25'])('%s: 400 -32600, and no member runs', async (version) => {
    const { transport, server } = scene()
    const client = await legacy(transport, version)
    for (const body of [batch, [], [batch[1]]]) {
      const answer = await read(client.send(body))
      expect(answer).toMatchObject({ status: 400, form: 'json', message: { error: { code: -32600 } } })
      expect(answer.message).not.toHaveProperty('id')
    }
    expect(server.runs).toEqual({})
  })

  test.each(['2025-06-18', '2025-11-25'])('%s without a session', async (version) => {
    const client = sessionless(scene({ sessions: false }).transport, version)
    expect(await read(client.send(batch))).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
  })
})

describe('S45 a legacy-only server', () => {
  const versions: ProtocolVersion[] = ['2025-06-18', '2025-11-25']

  test.each(['server/discover', 'tools/list'])(
    '%s of 2026: a plain 4xx that no client takes for a modern error',
    async (method) => {
      const { transport } = scene({ versions })
      const { status, message } = await modern(transport).request(method, {}, { id: 3 })
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
      expect(message.error!.code > -32020 || message.error!.code < -32099).toBe(true)
      expect(message.id).toBe(3)
      expect(status).not.toBe(404) // that would mean a dead session
      expect((await read(post(transport, initialize('2025-11-25')))).status).toBe(200)
    },
  )

  test('OPTIONS and GET are not changed by that', async () => {
    const { transport } = scene({ versions })
    expect((await verb(transport, 'GET')).status).toBe(400)
  })
})
