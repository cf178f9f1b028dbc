import { describe, expect, test } from 'vitest'
import { type HeaderChanges, MODERN, modern, modernMeta, type Params } from '../../test-support/clients.ts'
import { scene } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { read } from '../../test-support/sse.ts'
import { decodeValue } from './headers.ts'

const encoded = (text: string) => `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`

/** Sends a request with these headers changed: 200, or 400 with -32020, the id, and nothing run. */
async function expectServed(
  served: boolean,
  method: string,
  params: Params,
  headers: HeaderChanges,
  server = new TestServer(),
) {
  const answer = await modern(scene({}, server).transport).request(method, params, { id: 'mine', headers })
  const outcome = { status: answer.status, code: answer.message.error?.code, id: answer.message.id }
  expect(outcome, answer.text).toEqual(
    served ? { status: 200, code: undefined, id: 'mine' } : { status: 400, code: -32020, id: 'mine' },
  )
  if (!served) expect(server.runs).toEqual({})
}

describe('S43 G-02 G-03 MCP-Protocol-Version', () => {
  test.each([undefined, '', '2025-11-25', '1900-01-01', 'x', `${MODERN}, ${MODERN}`, encoded(MODERN)])(
    '%j does not equal the version of the body',
    (version) => expectServed(false, 'tools/list', {}, { 'mcp-protocol-version': version }),
  )
})

describe('S43 G-04 G-08 Mcp-Method', () => {
  test.each([undefined, '', 'tools/list', 'TOOLS/CALL', 'Tools/Call', 'tools/call, tools/call', 'tools/callx'])(
    '%j does not equal tools/call',
    (method) => expectServed(false, 'tools/call', { name: 'echo', arguments: {} }, { 'mcp-method': method }),
  )

  test('G-08 the names of headers are compared in any case, and the space around a value is none of it', () =>
    expectServed(
      true,
      'tools/call',
      { name: 'echo', arguments: {} },
      { 'mcp-method': undefined, 'MCP-METHOD': ' tools/call ', 'mcp-name': undefined, 'Mcp-NAME': '  echo  ' },
    ))
})

describe('S43 S48 G-05 G-06 G-07 Mcp-Name', () => {
  test.each<[string | undefined, boolean]>([
    ['echo', true],
    [encoded('echo'), true],
    [undefined, false],
    ['', false],
    ['other', false],
    ['Echo', false],
    ['echo, echo', false],
    [encoded('other'), false],
    ['=?BASE64?ZWNobw==?=', false],
    ['=?base64?ZWNobw==', false],
    ['x=?base64?ZWNobw==?=', false],
    ['=?base64?ZWNobw?=', false], // no padding
    ['=?base64?ZW Nobw==?=', false],
    ['=?base64?ZWNobw-_?=', false],
    ['=?base64?%%?=', false],
    ['=?base64??=', false],
    ['=?base64?/w==?=', false], // not UTF-8
    ['\xe9cho', false], // a raw byte
    ['e\tcho', false],
  ])('%j for the tool echo: %j', (name, served) =>
    expectServed(served, 'tools/call', { name: 'echo', arguments: {} }, { 'mcp-name': name }),
  )

  const world = () => new TestServer().tool('世界', () => ({ content: [] })).tool('=?base64?=', () => ({ content: [] }))

  test.each<[string, string, boolean]>([
    ['世界', encoded('世界'), true],
    ['世界', encoded('世'), false],
    ['世界', '\xe6\xb8\xa9', false],
    ['=?base64?=', '=?base64?=', true], // too short to be a sentinel
  ])('S48 the tool %s by %s: %j', (name, header, served) =>
    expectServed(served, 'tools/call', { name, arguments: {} }, { 'mcp-name': header }, world()),
  )

  test.each<[string, Params, HeaderChanges, boolean]>([
    ['resources/read', { uri: 'test://one' }, {}, true],
    ['resources/read', { uri: 'test://one' }, { 'mcp-name': 'test://two' }, false],
    ['resources/read', { uri: 'test://one' }, { 'mcp-name': undefined }, false],
    ['resources/read', { uri: 'test://温' }, { 'mcp-name': encoded('test://温') }, true],
    ['prompts/get', { name: 'greet' }, {}, true],
    ['prompts/get', { name: 'greet' }, { 'mcp-name': 'other' }, false],
    ['prompts/get', { name: 'greet' }, { 'mcp-name': undefined }, false],
    ['tools/list', {}, { 'mcp-name': undefined }, true],
    ['tools/list', {}, { 'mcp-name': 'stray' }, true],
    ['resources/list', { uri: 'x' }, { 'mcp-name': undefined }, true],
  ])('G-05 %s %j with %j: %j', (method, params, headers, served) => expectServed(served, method, params, headers))

  test.each([5, null, {}, undefined])('a body whose name is %j is refused with 400', async (name) => {
    const { transport, server } = scene()
    for (const header of ['5', 'null', undefined]) {
      const answer = await modern(transport).request('tools/call', { name }, { headers: { 'mcp-name': header } })
      expect(answer.status).toBe(400)
      expect([-32020, -32602]).toContain(answer.message.error?.code)
    }
    expect(server.runs).toEqual({})
  })
})

describe('G-09 G-10 G-11 G-12 Q-17 Mcp-Param-*', () => {
  const paramHeaders = { Region: ['cfg', 'region'], N: ['n'], Flag: ['flag'] }
  const server = () => new TestServer().tool('region', () => ({ content: [] }), { paramHeaders })
  const check = (args: Params, headers: HeaderChanges, served: boolean) =>
    expectServed(served, 'tools/call', { name: 'region', arguments: args }, headers, server())

  test.each<[string, Params, HeaderChanges, boolean]>([
    ['a match', { cfg: { region: 'eu' } }, { 'mcp-param-region': 'eu' }, true],
    ['another value', { cfg: { region: 'eu' } }, { 'mcp-param-region': 'us' }, false],
    ['another case', { cfg: { region: 'eu' } }, { 'mcp-param-region': 'EU' }, false],
    ['no header', { cfg: { region: 'eu' } }, {}, false],
    ['the same key at another place', { region: 'eu' }, {}, true],
    ['a value that is null', { cfg: { region: null } }, {}, true],
    ['a value that is absent', {}, {}, true],
    ['a header for an absent value', {}, { 'mcp-param-region': 'eu' }, false],
    ['a header for null', { cfg: { region: null } }, { 'mcp-param-region': 'null' }, false],
    ['an inherited property', {}, { 'mcp-param-region': 'x' }, false],
    ['an encoded value', { cfg: { region: '欧' } }, { 'mcp-param-region': encoded('欧') }, true],
    ['encoded ASCII', { cfg: { region: 'Hello' } }, { 'mcp-param-region': '=?base64?SGVsbG8=?=' }, true],
    ['bad padding', { cfg: { region: 'Hello' } }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }, false],
    ['a raw byte', { cfg: { region: '\xe9' } }, { 'mcp-param-region': '\xe9' }, false],
    ['repeated', { cfg: { region: 'eu' } }, { 'mcp-param-region': 'eu, eu' }, false],
    ['an integer', { n: 42 }, { 'mcp-param-n': '42' }, true],
    ['an integer as a fraction', { n: 42 }, { 'mcp-param-n': '42.0' }, true],
    ['an integer with an exponent', { n: 40 }, { 'mcp-param-n': '4e1' }, true],
    ['a negative integer', { n: -1 }, { 'mcp-param-n': '-1' }, true],
    ['another integer', { n: 42 }, { 'mcp-param-n': '43' }, false],
    ['an integer in hex', { n: 42 }, { 'mcp-param-n': '0x2a' }, false],
    ['nothing for zero', { n: 0 }, { 'mcp-param-n': '' }, false],
    ['a text for an integer', { n: 42 }, { 'mcp-param-n': 'many' }, false],
    ['true', { flag: true }, { 'mcp-param-flag': 'true' }, true],
    ['False', { flag: false }, { 'mcp-param-flag': 'False' }, false],
    ['false that is missing', { flag: false }, {}, false],
    ['one that nothing mirrors', {}, { 'mcp-param-foo': 'x' }, true],
    ['one that nothing mirrors, badly encoded', {}, { 'mcp-param-foo': '=?base64?%%?=' }, true],
  ])('%s: %j with %j: %j', (_what, args, headers, served) => check(args, headers, served))

  test('S49 a name of a header compares in any case', () =>
    check({ cfg: { region: 'eu' } }, { 'MCP-PARAM-REGION': 'eu' }, true))

  test('arguments that are no object', async () => {
    const { transport } = scene({}, server())
    for (const args of [5, null, 'x', [1]]) {
      const { status } = await modern(transport).request('tools/call', { name: 'region', arguments: args })
      expect([200, 400]).toContain(status)
    }
  })
})

describe('Q-06 G-16 headers of a notification', () => {
  test.each<[string, HeaderChanges, number]>([
    ['all of them', {}, 202],
    ['none', { 'mcp-protocol-version': undefined, 'mcp-method': undefined }, 202],
    ['no method', { 'mcp-method': undefined }, 202],
    ['another method', { 'mcp-method': 'notifications/bar' }, 400],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }, 400],
  ])('%s: %j gives %i', async (_what, headers, status) => {
    const { transport } = scene()
    const answer = await modern(transport).notify('notifications/foo', {}, headers)
    expect(answer.status).toBe(status)
    if (status === 202) expect(answer).toMatchObject({ text: '', form: 'none' })
    else expect(answer.message).toMatchObject({ error: { code: -32020 } })
    expect(answer.message).not.toHaveProperty('id')
  })

  test('a cancel over HTTP: 202, no effect', async () => {
    const { transport, server } = scene()
    const client = modern(transport)
    const call = client.call('slow', { text: 'x' }, { id: 1 })
    await server.started('slow')
    expect((await client.notify('notifications/cancelled', { requestId: 1 })).status).toBe(202)
    server.gates.open('slow')
    expect((await call).message.result).toBeDefined()
  })
})

test('S50 headers that are joined never match', async () => {
  const { transport, server } = scene()
  const params = { name: 'echo', _meta: modernMeta() }
  for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
    const headers = new Headers({
      host: 'localhost',
      'content-type': 'application/json',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    })
    headers.append(name, headers.get(name)!)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, body })
    const answer = await read(transport.handle(request))
    expect(answer).toMatchObject({ status: 400, message: { id: 1, error: { code: -32020 } } })
  }
  expect(server.runs).toEqual({})
})

test.each<[string, string | undefined]>([
  ['plain', 'plain'],
  ['with\ttab and  spaces', 'with\ttab and  spaces'],
  ['', ''],
  ['=?base64??=', ''],
  ['=?base64?=', '=?base64?='],
  [encoded('é世🙂'), 'é世🙂'],
  [encoded('\ufeffx'), '\ufeffx'],
  ['=?base64?====?=', undefined],
  ['=?base64?Z?=', undefined],
  ['\x7f', undefined],
  ['\x00', undefined],
  ['é', undefined],
])('Q-18 the value %j is %j', (raw, value) => {
  expect(decodeValue(raw)).toBe(value)
})
