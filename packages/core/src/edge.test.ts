import { describe, expect, test, vi } from 'vitest'
import { URL as ENDPOINT, initialize, legacy, modern, post, sessionless, verb } from '../test-support/clients.ts'
import { scene } from '../test-support/scene.ts'
import { read } from '../test-support/sse.ts'
import type { TransportOptions } from './options.ts'

const VERBS = ['POST', 'GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT', 'PATCH']

/** One `tools/list` of 2026-07-28 with these headers. */
async function listed(options: TransportOptions, headers: Record<string, string>) {
  const { transport, server } = scene(options)
  const { status, message } = await modern(transport).request('tools/list', {}, { headers })
  return { status, message, runs: server.runs['tools/list'] ?? 0 }
}

describe('S39 R08 N-01 N-02 Origin', () => {
  test.each([
    'http://localhost',
    'https://localhost',
    'http://localhost:5173',
    'http://LOCALHOST:5173',
    'http://127.0.0.1:8080',
    'http://[::1]:3000',
  ])('%s is loopback and passes by default', async (origin) => {
    expect(await listed({}, { origin })).toMatchObject({ status: 200, runs: 1 })
  })

  test.each([
    'http://localhost.evil.example',
    'http://localhost@evil.example',
    'http://evil.example@localhost',
    'https://evil.example',
    'http://127.0.0.1.nip.io',
    'http://127.1',
    'http://0x7f.0.0.1',
    'http://localhost/path',
    'http://localhost:3000#x',
    'http://localhost:99999',
    'ftp://localhost',
    'localhost',
    'null',
    '',
    'http://localhost, http://localhost',
    'http://localhost http://evil.example',
  ])('W17 %j gets 403 and nothing runs', async (origin) => {
    const { status, message, runs } = await listed({}, { origin })
    expect({ status, runs }).toEqual({ status: 403, runs: 0 })
    expect(message.error).toMatchObject({ code: -32600 })
    expect(message).not.toHaveProperty('id')
  })

  test.each([
    ['https://app.example', 200],
    ['null', 200],
    ['http://app.example', 403],
    ['https://app.example:8443', 403],
    ['https://app.example.evil.example', 403],
    ['https://sub.app.example', 403],
    ['http://localhost', 403],
  ])('with a list, %s gets %i', async (origin, status) => {
    const origins = ['https://app.example', 'null']
    expect((await listed({ origins }, { origin })).status).toBe(status)
  })

  test("'any' lets every one pass", async () => {
    expect((await listed({ origins: 'any' }, { origin: 'https://evil.example' })).status).toBe(200)
  })

  test.each(VERBS)('on every verb, before auth: %s', async (method) => {
    const authenticate = vi.fn(() => ({ id: 'a' }))
    const { transport } = scene({ auth: authenticate, cors: true })
    const headers = { origin: 'https://evil.example' }
    const response = method === 'POST' ? post(transport, {}, headers) : verb(transport, method, headers)
    const { status, headers: answered } = await response
    expect(status).toBe(403)
    expect(answered.has('access-control-allow-origin')).toBe(false)
    expect(authenticate).not.toHaveBeenCalled()
  })
})

describe('S40 Host', () => {
  test.each([
    ['localhost', 200],
    ['localhost:3000', 200],
    ['LOCALHOST:3000', 200],
    ['127.0.0.1', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:3000', 200],
    ['evil.test', 403],
    ['localhost.evil.test', 403],
    ['localhost@evil.test', 403],
    ['localhost:3000:3000', 403],
    ['localhost, evil.test', 403],
    ['127.0.0.1.nip.io', 403],
    ['', 403],
  ])('by default %j gets %i', async (host, status) => {
    expect(await listed({}, { host })).toMatchObject({ status, runs: status === 200 ? 1 : 0 })
  })

  test('X-Forwarded-Host is not looked at, and the error names the option', async () => {
    const { status, message } = await listed({}, { host: 'evil.test', 'x-forwarded-host': 'localhost' })
    expect(status).toBe(403)
    expect(message.error?.message).toContain('hosts')
  })

  test('without the header the URL decides', async () => {
    const { transport } = scene()
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect((await transport.handle(new Request('http://evil.test/mcp', init))).status).toBe(403)
    expect((await transport.handle(new Request(ENDPOINT, init))).status).toBe(400)
  })

  test.each([
    ['mcp.example.com', 200],
    ['MCP.example.com:8443', 200],
    ['api.example.com:8443', 200],
    ['api.example.com', 403],
    ['api.example.com:443', 403],
    ['x.mcp.example.com', 403],
    ['localhost', 403],
  ])('with a list, %s gets %i: a port counts only where one is listed', async (host, status) => {
    const hosts = ['mcp.example.com', 'api.example.com:8443']
    expect((await listed({ hosts }, { host })).status).toBe(status)
  })

  test("'any' lets every one pass", async () => {
    expect((await listed({ hosts: 'any' }, { host: 'anything.example' })).status).toBe(200)
  })
})

describe('S41 CORS', () => {
  const origin = 'https://app.example'
  const options: TransportOptions = { cors: true, origins: [origin] }

  test('the answer itself is readable, with the session id', async () => {
    const { headers } = await post(scene(options).transport, initialize('2025-11-25'), { origin })
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    const exposed = headers.get('access-control-expose-headers')?.toLowerCase()
    for (const name of ['mcp-session-id', 'mcp-protocol-version', 'www-authenticate']) expect(exposed).toContain(name)
    expect(headers.get('vary')).toContain('Origin')
  })

  test('a preflight is answered without auth, for the headers that it asks for', async () => {
    const { transport } = scene({ ...options, auth: () => new Response(null, { status: 401 }) })
    const asked = 'content-type, mcp-method, mcp-param-region'
    const { status, headers } = await verb(transport, 'OPTIONS', {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': asked,
    })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-allow-methods')).toMatch(/POST.*DELETE/)
    expect(headers.get('access-control-allow-headers')).toContain('mcp-param-region')
  })

  test('S42 what auth answers passes through, with CORS added', async () => {
    const refusal = () =>
      new Response('{"error":"no"}', { status: 401, headers: { 'www-authenticate': 'Bearer x="y"', vary: 'Accept' } })
    const response = await post(scene({ ...options, auth: refusal }).transport, {}, { origin })
    expect(response.status).toBe(401)
    expect(await response.text()).toBe('{"error":"no"}')
    expect(response.headers.get('www-authenticate')).toBe('Bearer x="y"')
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('vary')).toMatch(/Accept.*Origin/)
  })

  test.each(['an error', 'a stream'])('%s has it too', async (what) => {
    const { transport } = scene(options)
    const response =
      what === 'an error'
        ? await post(transport, '{', { origin })
        : await modern(transport, { origin }).open('tools/list', {}, { headers: { accept: 'text/event-stream' } })
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    await response.text()
  })

  test('off by default, and never a star with credentials', async () => {
    const off = await post(scene().transport, initialize('2025-11-25'), { origin: 'http://localhost' })
    expect([...off.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    const any = await post(scene({ cors: true, origins: 'any' }).transport, initialize('2025-11-25'), { origin })
    const starred = any.headers.get('access-control-allow-origin') === '*'
    expect(starred && any.headers.has('access-control-allow-credentials')).toBe(false)
  })
})

describe('S27 Q-27 R10 Accept', () => {
  test.each<[string | undefined, string[]]>([
    [undefined, ['json', 'sse']],
    ['', ['json', 'sse']],
    ['*/*', ['json', 'sse']],
    ['application/json, text/event-stream', ['json', 'sse']],
    ['application/json', ['json']],
    ['application/*', ['json']],
    ['APPLICATION/JSON', ['json']],
    ['application/json; charset=utf-8', ['json']],
    [' text/html ,application/json;q=0.1', ['json']],
    ['application/json, text/event-stream;q=0', ['json']],
    ['text/event-stream', ['sse']],
    ['text/*', ['sse']],
    ['Text/Event-Stream;q=0.5', ['sse']],
    ['*/*, application/json;q=0', ['sse']],
    ['text/event-stream;q=0.1, application/json;Q=0.000', ['sse']],
  ])('%j is answered with one of %j', async (accept, forms) => {
    const { transport } = scene()
    for (const client of [modern(transport), await legacy(transport)]) {
      const answer = await client.request('tools/list', {}, { headers: { accept } })
      expect(answer.status).toBe(200)
      expect(forms).toContain(answer.form)
      expect(answer.message.result?.tools).toBeDefined()
    }
  })

  test.each(['text/html', 'image/*', 'application/json;q=0', '*/*;q=0', 'application/xml, text/plain'])(
    '%s gets 406 with a JSON-RPC error',
    async (accept) => {
      const { transport, server } = scene()
      const answer = await modern(transport).request('tools/list', {}, { headers: { accept } })
      expect(answer).toMatchObject({ status: 406, form: 'json', message: { error: { code: -32600 } } })
      expect(server.runs).toEqual({})
    },
  )
})

describe('S28 Content-Type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
    'application/json ;charset="utf-8"',
  ])('%s is JSON', async (type) => {
    const { transport } = scene()
    expect((await modern(transport).request('tools/list', {}, { headers: { 'content-type': type } })).status).toBe(200)
  })

  test.each([
    'text/plain',
    'application/jsonp',
    'application/json-rpc',
    'text/json',
    'application/x-www-form-urlencoded',
  ])('%s gets 415 with a JSON-RPC error', async (type) => {
    const { transport, server } = scene()
    const answer = await modern(transport).request('tools/list', {}, { headers: { 'content-type': type } })
    expect(answer).toMatchObject({ status: 415, form: 'json', message: { error: { code: -32600 } } })
    expect(server.runs).toEqual({})
  })

  test('none at all gets 415', async () => {
    const { transport } = scene()
    const body = new TextEncoder().encode('{}') // a text would bring a type along
    expect((await read(post(transport, body, { 'content-type': undefined }))).status).toBe(415)
  })
})

describe('S37 R01 B-01 B-09 G-22 Q-44 verbs', () => {
  const modes: [string, TransportOptions, string[]][] = [
    ['stateful', {}, ['HEAD', 'PUT', 'PATCH', 'REPORT']],
    ['stateless', { sessions: false }, ['GET', 'DELETE', 'HEAD', 'PUT', 'PATCH']],
    ['modern only', { versions: ['2026-07-28'] }, ['GET', 'DELETE', 'HEAD', 'PUT', 'PATCH']],
  ]
  test.each(modes.flatMap(([mode, options, verbs]) => verbs.map((method) => ({ mode, options, method }))))(
    '$mode: $method gets 405 with Allow',
    async ({ options, method }) => {
      for (const accept of ['text/event-stream', 'text/html', '*/*']) {
        const { status, headers, text } = await read(verb(scene(options).transport, method, { accept }))
        const allowed = headers.get('allow')?.split(/, */) ?? []
        expect({ status, allowed }).toEqual({ status: 405, allowed: expect.arrayContaining(['POST', 'OPTIONS']) })
        expect(allowed).not.toContain(method)
        expect(text === '').toBe(method === 'HEAD')
      }
    },
  )

  test.each(modes)('%s: OPTIONS is answered with what works', async (_mode, options, refused) => {
    const { status, headers } = await verb(scene(options).transport, 'OPTIONS')
    expect([200, 204]).toContain(status)
    const allowed = headers.get('allow')?.split(/, */)
    expect(allowed).toContain('POST')
    expect(allowed?.filter((method) => refused.includes(method))).toEqual([])
  })

  test('a GET of a browser opens no stream', async () => {
    const { transport } = scene()
    const answer = await read(verb(transport, 'GET', { accept: 'text/html' }))
    expect([400, 405, 406]).toContain(answer.status)
    expect(answer.message.error?.code).toBe(-32600)
  })

  test('S07 a stateless server refuses DELETE whatever session it names', async () => {
    const { transport } = scene({ sessions: false })
    expect((await sessionless(transport).verb('DELETE', { 'mcp-session-id': 'x' })).status).toBe(405)
  })
})
