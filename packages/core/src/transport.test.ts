import { describe, expect, test } from 'vitest'
import { URL as ENDPOINT, headersOf, legacy, MODERN, modern, modernMeta, post } from '../test-support/clients.ts'
import { idle, scene } from '../test-support/scene.ts'
import { TestServer } from '../test-support/server.ts'
import { type Answer, read } from '../test-support/sse.ts'
import type { TransportOptions } from './options.ts'
import type { Transport } from './transport.ts'

/** A request before it is put together, so that faults can be worked into it. */
interface Draft {
  verb: string
  headers: Record<string, string>
  message: { jsonrpc: string; id: number; method: string; params: { [key: string]: unknown } }
  pad: number
  cut: boolean
}

function validDraft(): Draft {
  return {
    verb: 'POST',
    headers: {
      host: 'localhost',
      authorization: 'Bearer ok',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': 'needy',
    },
    message: {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: {
        name: 'needy',
        _meta: modernMeta({ 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }),
      },
    },
    pad: 0,
    cut: false,
  }
}

const metaOf = (draft: Draft) => draft.message.params._meta as Record<string, unknown>
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'

interface Fault {
  name: string
  status: number
  code?: number
  put(draft: Draft): void
}

const set: (target: object, members: object) => void = Object.assign
const drop: (target: object, name: string) => void = Reflect.deleteProperty

/** In the order in which they are found. */
const FAULTS: Fault[] = [
  { name: 'Origin', status: 403, code: -32600, put: ({ headers }) => set(headers, { origin: 'https://evil.example' }) },
  { name: 'auth', status: 401, put: ({ headers }) => drop(headers, 'authorization') },
  { name: 'verb', status: 405, code: -32600, put: (draft) => set(draft, { verb: 'PUT' }) },
  {
    name: 'Content-Type',
    status: 415,
    code: -32600,
    put: ({ headers }) => set(headers, { 'content-type': 'text/plain' }),
  },
  { name: 'Accept', status: 406, code: -32600, put: ({ headers }) => set(headers, { accept: 'text/html' }) },
  { name: 'size', status: 413, code: -32600, put: (draft) => set(draft, { pad: 5000 }) },
  { name: 'JSON', status: 400, code: -32700, put: (draft) => set(draft, { cut: true }) },
  { name: 'JSON-RPC', status: 400, code: -32600, put: ({ message }) => set(message, { jsonrpc: '1.0' }) },
  { name: 'no version in the body', status: 400, code: -32602, put: (draft) => drop(metaOf(draft), VERSION_KEY) },
  {
    name: 'another version in the body',
    status: 400,
    code: -32020,
    put: (draft) => set(metaOf(draft), { [VERSION_KEY]: '1999-01-01' }),
  },
  {
    name: 'unsupported version',
    status: 400,
    code: -32022,
    put(draft) {
      set(draft.headers, { 'mcp-protocol-version': '1900-01-01' })
      set(metaOf(draft), { [VERSION_KEY]: '1900-01-01' })
    },
  },
  { name: 'Mcp-Method', status: 400, code: -32020, put: ({ headers }) => set(headers, { 'mcp-method': 'tools/list' }) },
  { name: 'no capabilities', status: 400, code: -32602, put: (draft) => drop(metaOf(draft), CAPABILITIES_KEY) },
  {
    name: 'unknown method',
    status: 404,
    code: -32601,
    put({ headers, message }) {
      set(headers, { 'mcp-method': 'foo/bar' })
      set(message, { method: 'foo/bar' })
    },
  },
  {
    name: 'capability',
    status: 400,
    code: -32021,
    put(draft) {
      if (CAPABILITIES_KEY in metaOf(draft)) set(metaOf(draft), { [CAPABILITIES_KEY]: {} })
    },
  },
]

const pairs = FAULTS.flatMap((first, i) => FAULTS.slice(i + 1).map((second) => ({ first, second })))
  // Without a version in the body and with a header that is not modern, the request is a legacy one.
  .filter(({ first, second }) => !(first.name === 'no version in the body' && second.name === 'unsupported version'))

describe('Q-04 the order of the checks', () => {
  const options: TransportOptions = {
    limits: { bodyBytes: 2000 },
    auth: (request) =>
      request.headers.get('authorization') === 'Bearer ok' ? { id: 'a' } : new Response(null, { status: 401 }),
  }

  async function answered(...faults: Fault[]): Promise<Answer & { runs: number }> {
    const server = new TestServer().tool('needy', () => ({ content: [] }), { requires: ['elicitation'] })
    const { transport } = scene(options, server)
    const draft = validDraft()
    for (const { put } of faults.toReversed()) put(draft)
    const text = JSON.stringify(draft.message).slice(draft.cut ? 1 : 0) + ' '.repeat(draft.pad)
    const init = { method: draft.verb, headers: headersOf(draft.headers), body: text }
    return { ...(await read(transport.handle(new Request(ENDPOINT, init)))), runs: server.runs.needy ?? 0 }
  }

  test('the draft itself is served', async () => {
    expect(await answered()).toMatchObject({ status: 200, runs: 1, message: { id: 7 } })
  })

  test.each(FAULTS)('$name alone: $status $code', async (one) => {
    const { status, message, runs } = await answered(one)
    expect({ status, code: message.error?.code, runs }).toEqual({ status: one.status, code: one.code, runs: 0 })
  })

  test.each(pairs)('$first.name before $second.name', async ({ first, second }) => {
    const { status, message } = await answered(first, second)
    expect({ status, code: message.error?.code }).toEqual({ status: first.status, code: first.code })
  })

  test.each(FAULTS.slice(7))('G-07 $name: the error has the id of the request', async (one) => {
    expect((await answered(one)).message.id).toBe(7)
  })
})

describe('S29 S30 R16 A-01 A-05 bodies that are no message', () => {
  test.each<[string, number, (string | number)?]>([
    ['', -32700],
    [' ', -32700],
    ['{', -32700],
    ['nope', -32700],
    ["{'a':1}", -32700],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700],
    ['\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700],
    ['null', -32600],
    ['42', -32600],
    ['"x"', -32600],
    ['{}', -32600],
    ['{"id":1,"method":"ping"}', -32600, 1],
    ['{"jsonrpc":"2.0","id":"a","method":5}', -32600, 'a'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600, 1],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['[]', -32600],
  ])('%s: 400 %i', async (text, code, id) => {
    const { transport } = scene()
    for (const headers of [{}, { 'mcp-protocol-version': MODERN }, { 'mcp-protocol-version': '2025-11-25' }]) {
      const answer = await read(post(transport, text, headers))
      expect(answer).toMatchObject({ status: 400, form: 'json', message: { error: { code } } })
      expect(answer.message.id).toBe(id)
      expect(answer.text).not.toMatch(/ at .*:\d+|node_modules|SyntaxError/)
    }
  })

  test('A-01 a body that is not UTF-8', async () => {
    const { transport } = scene()
    const answer = await read(post(transport, Uint8Array.of(0x22, 0xff, 0x22)))
    expect(answer).toMatchObject({ status: 400, message: { error: { code: -32700 } } })
  })
})

/** A small generator with a seed, so that a failure can be run again. */
function random(seed: number): { below(n: number): number; of<T>(values: readonly T[]): T } {
  let state = seed
  const below = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
  return { below, of: (values) => values[below(values.length)]! }
}

const JUNK = [
  undefined,
  null,
  '',
  'x',
  0,
  -1,
  1.5,
  2 ** 60,
  true,
  [],
  [1],
  {},
  { a: { b: [] } },
  '\u2028\ud800',
  '__proto__',
]
const METHODS = ['initialize', 'ping', 'tools/list', 'tools/call', 'server/discover', 'notifications/cancelled', 'foo']
const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25', MODERN, '1900-01-01', 'x', undefined]

/** A message in which any part may be junk. */
function junkMessage({ of, below }: ReturnType<typeof random>): unknown {
  const or = <T>(value: T) => (below(4) === 0 ? of(JUNK) : value)
  const message = {
    jsonrpc: or('2.0'),
    id: or(1),
    method: or(of(METHODS)),
    params: or({
      name: or('echo'),
      arguments: or({ text: 'x' }),
      protocolVersion: or(of(VERSIONS)),
      requestId: of(JUNK),
      _meta: below(2) ? or(modernMeta({ [VERSION_KEY]: or(of(VERSIONS)), [CAPABILITIES_KEY]: or({}) })) : undefined,
    }),
    ...(below(8) === 0 ? { result: of(JUNK) } : {}),
    ...(below(8) === 0 ? { error: of(JUNK) } : {}),
  }
  return or(below(12) === 0 ? [message] : message)
}

async function sendJunk(transport: Transport, session: string, chance: ReturnType<typeof random>): Promise<Response> {
  const { of, below } = chance
  const json = JSON.stringify(junkMessage(chance)) ?? ''
  const text = below(10) === 0 ? json.slice(0, below(json.length + 1)) : json
  const headers = headersOf({
    host: of(['localhost', 'localhost', 'localhost:1', 'x y']),
    accept: of([undefined, '*/*', 'application/json', 'text/event-stream', ';;,q=', 'a/b']),
    'content-type': of(['application/json', 'application/json', 'application/json', 'x', undefined]),
    'mcp-protocol-version': of(VERSIONS),
    'mcp-session-id': of([undefined, session, session, 'nope', '', 'a b', '../..']),
    'mcp-method': of([undefined, ...METHODS, '=?base64?x?=']),
    'mcp-name': of([undefined, 'echo', '=?base64?%%?=', 'é']),
    'last-event-id': of([undefined, undefined, 'x', '0', 'g.1.2', 'a'.repeat(5000)]),
  })
  const method = of(['POST', 'POST', 'POST', 'POST', 'POST', 'POST', 'PUT', 'OPTIONS'])
  return transport.handle(new Request(ENDPOINT, { method, headers, body: text }))
}

test.each([1, 2, 3, 4])('garbage gets a JSON-RPC answer, 202 or 204, and never a rejection: seed %i', async (seed) => {
  const { transport, reported } = scene()
  const { session } = await legacy(transport)
  const chance = random(seed)
  for (let i = 0; i < 300; i++) {
    const answer = await read(sendJunk(transport, session, chance))
    if ([202, 204].includes(answer.status)) expect(answer.text).toBe('')
    else expect(answer.messages.length === 1 && answer.message.jsonrpc === '2.0', answer.text).toBe(true)
    expect(answer.status, answer.text).toBeLessThan(500)
  }
  await idle(transport)
  expect(reported).toEqual([])
  expect((await modern(transport).call('echo', { text: 'still here' })).status).toBe(200)
})

describe('stats', () => {
  test('a modern call makes no store call, a legacy call that is answered with JSON makes one', async () => {
    const { transport } = scene()
    const client = await legacy(transport)
    await idle(transport)
    const before = transport.stats().storeCalls
    await modern(transport).call('echo', { text: '' })
    expect(transport.stats().storeCalls).toBe(before)
    await client.call('echo', { text: '' })
    expect(transport.stats().storeCalls).toBe(before + 1)
  })

  test('count sessions, running calls and open streams, and go back', async () => {
    const { transport, server } = scene({ streams: { streamAfterMs: 60_000 } })
    const client = await legacy(transport)
    expect(transport.stats()).toMatchObject({ sessions: 1, connections: 0, inFlight: 0 })
    const running = client.call('slow', { text: '' })
    const frames = await modern(transport).stream('steps', { n: 1 }, { meta: { progressToken: 1 } })
    await server.started('slow')
    expect(transport.stats()).toMatchObject({ connections: 1, inFlight: 2 })
    server.gates.open('slow')
    server.gates.open('step 1')
    await Promise.all([running, frames.rest()])
    await idle(transport)
    await client.verb('DELETE')
    expect(transport.stats()).toMatchObject({ sessions: 0, connections: 0, inFlight: 0, timers: 0 })
  })
})
