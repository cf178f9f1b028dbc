import { describe, expect, test } from 'vitest'
import { legacy, META, modern, modernMeta, type Params } from '../../test-support/clients.ts'
import { scene } from '../../test-support/scene.ts'
import { PRIVATE, TestServer } from '../../test-support/server.ts'
import { read, textOf } from '../../test-support/sse.ts'
import { McpError } from '../errors.ts'

const request = (method: string, params: unknown, id: string | number = 9) => ({ jsonrpc: '2.0', id, method, params })

describe('S46 G-13 G-14 P-19 methods that are not there', () => {
  test.each([
    'foo/bar',
    'ping',
    'initialize',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'roots/list',
    'tasks/result',
    'tasks/list',
    '__proto__',
    'constructor',
  ])('%s: 404 -32601 with the id', async (method) => {
    const { transport } = scene({ response: 'sse' }) // never a stream
    const answer = await modern(transport).request(method, { uri: 'test://one', level: 'error' }, { id: 0 })
    expect(answer).toMatchObject({ status: 404, form: 'json', message: { id: 0, error: { code: -32601 } } })
  })

  test('prompts on a server without them', async () => {
    const client = modern(scene({}, new TestServer().without('prompts/list', 'prompts/get')).transport)
    for (const method of ['prompts/list', 'prompts/get']) {
      expect(await client.request(method, { name: 'greet' })).toMatchObject({
        status: 404,
        message: { error: { code: -32601 } },
      })
    }
  })

  test('Q-07 L-14 an unknown tool is no unknown method: 200 with -32602', async () => {
    expect(await modern(scene().transport).call('nope')).toMatchObject({
      status: 200,
      message: { error: { code: -32602 } },
    })
  })
})

describe('F-08 F-09 H-03 the envelope of results', () => {
  test.each<[string, Params]>([
    ['an empty one', {}],
    ['one with content', { a: [1], b: null }],
    ['one with _meta of its own', { _meta: { 'own.example/x': 1 } }],
    ['one with caching of its own', { ttlMs: 5000, cacheScope: 'public' }],
    ['one with a null prototype', Object.assign(Object.create(null), { a: 1 })],
  ])('%s', async (_what, result) => {
    const server = new TestServer().on('own/method', () => result)
    const { message } = await modern(scene({}, server).transport).request('own/method')
    const serverInfo = { [`${META}serverInfo`]: expect.objectContaining({ name: 'test', version: '1.2.3' }) }
    const _meta = { ...(result._meta as object), ...serverInfo }
    expect(message.result).toStrictEqual({ ...result, resultType: 'complete', _meta })
  })

  test.each(['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/read'])(
    'H-03 H-04 %s says for how long it may be kept',
    async (method) => {
      const { message } = await modern(scene().transport).request(method, { uri: 'test://one' })
      expect(message.result?.cacheScope).toMatch(/^(public|private)$/)
      expect(message.result?.ttlMs).toSatisfy((ms: number) => Number.isInteger(ms) && ms >= 0)
    },
  )

  test('H-03 what the server itself says of that is kept', async () => {
    const server = new TestServer().on('tools/list', () => ({ tools: [], ttlMs: 60_000, cacheScope: 'public' }))
    const { message } = await modern(scene({}, server).transport).request('tools/list')
    expect(message.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' })
  })
})

describe('F-11 F-12 Q-07 Q-42 errors of handlers', () => {
  async function thrown(code: number) {
    const server = new TestServer().tool('fails', () => {
      throw new McpError(code, 'of its own', { why: 1 })
    })
    return modern(scene({}, server).transport).call('fails', {}, { id: 3 })
  }

  test.each([-32602, -32603, 1234, -1])('%i goes out as it is, with 200', async (code) => {
    expect(await thrown(code)).toMatchObject({
      status: 200,
      message: { id: 3, error: { code, message: 'of its own', data: { why: 1 } } },
    })
  })

  test.each([-32002, -32042, -32000, -32001, -32019, -32050, -32099])('%i is never sent', async (code) => {
    const { message } = await thrown(code)
    expect(message.error?.code).toBeTypeOf('number')
    expect(message.error!.code <= -32000 && message.error!.code >= -32099).toBe(false)
  })
})

describe('what a request may count on', () => {
  test.each(['auto', 'sse'] as const)(
    'F-04 Q-52 a capability that was not declared: 400 -32021, %s',
    async (response) => {
      const server = new TestServer().tool('needy', () => ({ content: [] }), { requires: ['elicitation', 'sampling'] })
      const { transport } = scene({ response }, server)
      const call = (capabilities: object) =>
        modern(transport).call('needy', {}, { id: 3, meta: { [`${META}clientCapabilities`]: capabilities } })
      expect(await call({ sampling: {} })).toMatchObject({
        status: 400,
        form: 'json',
        message: { id: 3, error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } } },
      })
      // F-05: what another request has declared does not count.
      expect((await call({ elicitation: {}, sampling: {} })).status).toBe(200)
      expect((await call({})).status).toBe(400)
      expect(server.runs.needy).toBe(1)
    },
  )

  test('M-12 scopes are checked before the handler runs, and the app says what the 403 is', async () => {
    const server = new TestServer().tool('admin', () => ({ content: [] }), { scopes: ['a', 'b'] })
    const auth = {
      authenticate: (one: Request) => ({ id: 'x', scopes: one.headers.get('x-scopes')!.split(' ') }),
      challenge: (_one: Request, scopes: readonly string[]) =>
        new Response(null, { status: 403, headers: { 'www-authenticate': `Bearer scope="${scopes.join(' ')}"` } }),
    }
    const { transport } = scene({ auth, response: 'sse' }, server)
    const call = (scopes: string) => modern(transport, { 'x-scopes': scopes }).call('admin')
    const refused = await call('a')
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('a b')
    expect(server.runs.admin).toBeUndefined()
    expect((await call('b a c')).status).toBe(200)
  })

  test('G-23 O-02 F-06 a session id means nothing, and the session feels nothing', async () => {
    const { transport } = scene()
    const { session } = await legacy(transport)
    for (const id of [session, 'nope', '']) {
      const answer = await modern(transport).call('whoami', {}, { headers: { 'mcp-session-id': id } })
      expect(JSON.parse(textOf(answer.message)!)).toMatchObject({ session: null, era: 'modern' })
      expect(answer.headers.has('mcp-session-id')).toBe(false)
    }
    expect(transport.stats().sessions).toBe(1)
  })

  test('G-20 S37 Last-Event-ID means nothing', async () => {
    const { transport } = scene({ response: 'sse' })
    const answer = await modern(transport).call(
      'echo',
      { text: 'x' },
      { headers: { 'last-event-id': 'abcdefghijkl.1' } },
    )
    expect(answer.form).toBe('sse')
    expect(answer.text).not.toMatch(/^id:/m)
  })

  test('F-10 the name of the client changes nothing', async () => {
    const { transport } = scene()
    const names = ['a', 'claude', PRIVATE].map((name) => ({ [`${META}clientInfo`]: { name, version: '1' } }))
    const answers = await Promise.all(names.map((meta) => modern(transport).request('tools/list', {}, { id: 1, meta })))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('Q-22 fields of multi round-trip requests elsewhere are ignored', async () => {
    const params = { inputResponses: 5, requestState: 'x' }
    expect((await modern(scene().transport).request('tools/list', params)).status).toBe(200)
  })

  test.each<[string | undefined, string, boolean]>([
    [undefined, 'emergency', false],
    ['warning', 'info', false],
    ['warning', 'warning', true],
    ['debug', 'debug', true],
    ['emergency', 'alert', false],
  ])('F-18 with logLevel %j a log of %s: %j', async (logLevel, level, sent) => {
    const meta = logLevel === undefined ? {} : { [`${META}logLevel`]: logLevel }
    const { messages } = await modern(scene().transport).call('log', { level }, { meta })
    expect(messages.slice(0, -1)).toMatchObject(sent ? [{ method: 'notifications/message', params: { level } }] : [])
  })
})

describe('bodies that are no request', () => {
  test.each([
    { id: 1, result: {} },
    { id: 1, error: { code: 1, message: '' } },
  ])('Q-28 a response: 400 -32600 without id: %j', async (body) => {
    const answer = await read(modern(scene().transport).send({ jsonrpc: '2.0', ...body }))
    expect(answer).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
    expect(answer.message).not.toHaveProperty('id')
  })

  test('A-08 S31 an array: 400 -32600, and nothing runs', async () => {
    const { transport, server } = scene()
    const one = request('tools/list', { _meta: modernMeta() })
    for (const body of [[one], [one, one], []]) {
      expect(await read(modern(transport).send(body))).toMatchObject({
        status: 400,
        message: { error: { code: -32600 } },
      })
    }
    expect(server.runs).toEqual({})
  })
})
