import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, LEGACY_VERSIONS, legacy, MODERN, modern } from '../../test-support/clients.ts'
import { listed, mcp } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { textOf } from '../../test-support/sse.ts'
import { McpError } from '../errors.ts'
import type { Json } from '../server.ts'
import { type McpServer, ToolError } from './index.ts'

const PRIVATE = 'private-4c1d'

function greeter(): McpServer {
  const server = mcp()
  server.tool('greet', { inputSchema: v.object({ name: v.string(), times: v.optional(v.number(), 1) }) }, (args) =>
    `Hello, ${args.name}! `.repeat(args.times).trim(),
  )
  return server
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const clientOn = (server: McpServer) => clientOf(scene({}, server).transport, version)

  test('L-06 the input schema of every tool is an object schema, of those without arguments too', async () => {
    const server = greeter()
    server.tool('none', {}, () => 'x')
    expect(await listed(await clientOn(server), 'tools/list')).toEqual([
      {
        name: 'greet',
        inputSchema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          properties: { name: { type: 'string' }, times: { type: 'number', default: 1 } },
          required: ['name'],
        },
      },
      { name: 'none', inputSchema: { type: 'object', properties: {} } },
    ])
  })

  test('L-13 L-17 a handler gets what its schema makes of the arguments', async () => {
    const client = await clientOn(greeter())
    const once = await client.call('greet', { name: 'Ada', surplus: 1 })
    expect(once.message.result).toMatchObject({ content: [{ type: 'text', text: 'Hello, Ada!' }] })
    expect(textOf((await client.call('greet', { name: 'Ada', times: 2 })).message)).toBe('Hello, Ada! Hello, Ada!')
  })

  test('L-16 L-17 P-15 Q-02 arguments that do not fit never reach the handler', async () => {
    const server = mcp()
    let runs = 0
    server.tool('greet', { inputSchema: v.object({ name: v.string(), age: v.number() }) }, () => {
      runs++
      return 'x'
    })
    const client = await clientOn(server)
    for (const args of [{}, { name: 5, age: 1 }, { name: 'Ada', age: '1' }]) {
      const { status, message } = await client.call('greet', args)
      expect(status).toBe(200)
      const told = /^the arguments of greet are not valid: .*(name|age)/
      if (version < '2025-11-25') {
        expect(message.error).toMatchObject({ code: -32602, message: expect.stringMatching(told) })
      } else {
        expect(message.result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(told) }] })
      }
    }
    expect(runs).toBe(0)
  })

  test.each([5, 'x', [], null])('L-16 Q-02 arguments: %j is a malformed call in every revision', async (args) => {
    const client = await clientOn(greeter())
    const { message } = await client.request('tools/call', { name: 'greet', arguments: args })
    expect(message.error).toMatchObject({ code: -32602, message: 'params.arguments must be an object' })
  })

  test('L-14 P-13 an unknown tool is a protocol error, not a result', async () => {
    const client = await clientOn(greeter())
    for (const name of ['nope', 'Greet', '__proto__', 'constructor']) {
      const { status, message } = await client.call(name)
      expect({ status, error: message.error }).toEqual({
        status: 200,
        error: { code: -32602, message: `there is no tool ${JSON.stringify(name)}` },
      })
    }
  })

  test.each([undefined, 5, {}])('L-14 a name that is %j is none', async (name) => {
    const client = await clientOn(greeter())
    const { message } = await client.request('tools/call', { name })
    expect(message.error?.code).toBe(version === MODERN ? -32020 : -32602)
  })

  test('L-15 what a tool throws is a result with isError, its text only if it is a ToolError', async () => {
    const server = mcp()
    const circular: { self?: unknown } = {}
    circular.self = circular
    const thrown: Record<string, unknown> = {
      error: new Error(PRIVATE),
      text: PRIVATE,
      undefined: undefined,
      null: null,
      bigint: 1n,
      symbol: Symbol(PRIVATE),
      circular,
      alike: { name: 'ToolError', message: PRIVATE },
    }
    server.tool('throws', { inputSchema: v.object({ kind: v.string() }) }, ({ kind }) => {
      throw thrown[kind]
    })
    server.tool('rejects', { inputSchema: v.object({ kind: v.string() }) }, ({ kind }) => Promise.reject(thrown[kind]))
    server.tool('tells', {}, () => {
      throw new ToolError('no such city')
    })
    server.tool('tells-later', {}, async () => {
      throw new ToolError('no such city')
    })
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    for (const name of ['throws', 'rejects']) {
      for (const kind of Object.keys(thrown)) {
        const { message, text } = await client.call(name, { kind })
        expect(message.result).toMatchObject({
          isError: true,
          content: [{ type: 'text', text: 'the tool has failed' }],
        })
        expect(text).not.toContain(PRIVATE)
        expect(reported.pop()).toEqual({ error: thrown[kind], where: expect.objectContaining({ phase: 'call' }) })
      }
    }
    for (const name of ['tells', 'tells-later']) {
      const { message } = await client.call(name)
      expect(message.result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'no such city' }] })
    }
    expect(reported).toEqual([])
  })

  test('L-15 a McpError of a tool is a protocol error, with its data', async () => {
    const server = mcp()
    const error = () => new McpError(-31999, 'too many', { after: 5 } satisfies Json)
    server.tool('throws', {}, () => {
      throw error()
    })
    server.tool('rejects', {}, async () => {
      throw error()
    })
    const client = await clientOn(server)
    for (const name of ['throws', 'rejects']) {
      const { message } = await client.call(name)
      expect(message.error).toEqual({ code: -31999, message: 'too many', data: { after: 5 } })
    }
  })

  test('L-15 a result that is no JSON, or no result at all, is an error', async () => {
    const server = mcp()
    const circular: unknown[] = []
    circular.push(circular)
    const results: Record<string, unknown> = {
      bigint: { content: [], structuredContent: { n: 1n } },
      circular: { content: [], structuredContent: { circular } },
      number: 5,
      null: null,
      function: () => 'x',
      object: {},
      'no content': { content: [{ type: 'video', data: '' }] },
      'null content': [null],
      'no text': { type: 'text', text: 5 },
    }
    server.tool('returns', { inputSchema: v.object({ kind: v.string() }) }, ({ kind }) => results[kind] as string)
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    for (const kind of Object.keys(results)) {
      const { message } = await client.call('returns', { kind })
      expect(message.result, kind).toMatchObject({ isError: true, content: [{ text: 'the tool has failed' }] })
      expect(reported.splice(0), kind).toHaveLength(1)
    }
  })

  test('L-13 L-15 a circular structuredContent with text of its own is an internal error', async () => {
    const server = mcp()
    server.tool('returns', {}, () => ({ content: [{ type: 'text', text: 'x' }], structuredContent: { n: 1n } }))
    const client = await clientOn(server)
    const { message } = await client.call('returns')
    // 2025-03-26 has no structuredContent, so that there nothing is amiss.
    if (version === '2025-03-26') expect(textOf(message)).toBe('x')
    else expect(message.error).toEqual({ code: -32603, message: 'internal error' })
  })

  test('L-13 every form that a handler may return has content', async () => {
    const server = mcp()
    const forms: Record<string, unknown> = {
      text: 'x',
      nothing: undefined,
      block: { type: 'text', text: 'x' },
      blocks: [{ type: 'text', text: 'x' }],
      whole: { content: [{ type: 'text', text: 'x' }], isError: false, _meta: { 'own.example/a': 1 } },
      structured: { structuredContent: { a: 1 } },
    }
    server.tool('returns', { inputSchema: v.object({ kind: v.string() }) }, ({ kind }) => forms[kind] as string)
    server.tool('later', { inputSchema: v.object({ kind: v.string() }) }, async ({ kind }) => forms[kind] as string)
    const client = await clientOn(server)
    for (const kind of Object.keys(forms)) {
      const { result } = (await client.call('returns', { kind })).message
      const { content } = result as { content: unknown }
      expect(content).toEqual(
        kind === 'nothing' ? [] : [{ type: 'text', text: kind === 'structured' ? '{"a":1}' : 'x' }],
      )
      expect((await client.call('later', { kind })).message.result).toEqual(result)
      if (kind === 'whole') expect(result).toMatchObject({ isError: false, _meta: { 'own.example/a': 1 } })
    }
  })

  test('L-08 hints are shown as they were given, and none is invented', async () => {
    const server = mcp()
    const annotations = { title: 'Reads', readOnlyHint: true, openWorldHint: false }
    server.tool('plain', {}, () => 'x')
    server.tool('hinted', { annotations, description: 'what it does' }, () => 'x')
    const [plain, hinted] = await listed(await clientOn(server), 'tools/list')
    expect(plain).not.toHaveProperty('annotations')
    expect(hinted).toMatchObject({ description: 'what it does' })
    expect(hinted?.annotations).toEqual(annotations)
  })

  test('L-34 P-22 A-11 title and _meta from 2025-06-18 on, icons from 2025-11-25 on', async () => {
    const server = mcp()
    const icons = [
      { src: 'https://x.example/icon.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' as const },
    ]
    const _meta = { 'own.example/a': 1 }
    server.tool('titled', { title: 'Titled', icons, _meta }, () => 'x')
    const [tool] = await listed(await clientOn(server), 'tools/list')
    expect(tool).toEqual({
      name: 'titled',
      inputSchema: { type: 'object', properties: {} },
      ...(version > '2025-03-26' ? { title: 'Titled', _meta } : {}),
      ...(version > '2025-06-18' ? { icons } : {}),
    })
  })
})

describe('L-07 names of tools', () => {
  test('a name that some client may not take is a warning, none is an error', () => {
    const warnings: string[] = []
    const server = mcp({ onWarning: (text: string) => warnings.push(text) })
    for (const name of ['a', 'A_b-c.9', 'x'.repeat(128)]) server.tool(name, {}, () => 'x')
    expect(warnings).toEqual([])
    for (const name of ['my tool', 'x'.repeat(129), 'a/b', '世界']) server.tool(name, {}, () => 'x')
    expect(warnings).toHaveLength(4)
    expect(warnings[0]).toBe('tool my tool: a name should be 1 to 128 of A-Z a-z 0-9 _ - .')
    for (const name of ['', 5, undefined, null]) {
      expect(() => server.tool(name as string, {}, () => 'x')).toThrow('a tool must have a name')
    }
  })

  test('L-07 a name that is taken is an error, and names differ by case', () => {
    const server = greeter()
    expect(() => server.tool('greet', {}, () => 'x')).toThrow('tool "greet" is registered already')
    server.tool('Greet', {}, () => 'x')
  })

  test('L-07 G-06 a name that is no header value is called by an encoded header', async () => {
    const server = mcp({ onWarning: () => {} })
    server.tool('世界', {}, () => 'hello')
    const client = modern(scene({}, server).transport)
    const name = `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode('世界')))}?=`
    const { message } = await client.call('世界', {}, { headers: { 'mcp-name': name } })
    expect(textOf(message)).toBe('hello')
  })
})

describe('what a tool is registered with', () => {
  test.each<[string, object]>([
    ['title', { title: 5 }],
    ['annotations.readOnlyHint', { annotations: { readOnlyHint: 'yes' } }],
    ['annotations.hint', { annotations: { hint: true } }],
    ['scopes', { scopes: 'read' }],
    ['scopes.0', { scopes: [''] }],
    ['requires', { requires: 'sampling' }],
    ['requires.0', { requires: ['tools'] }],
    ['task', { task: true }],
    ['task', { task: { support: 'optional', ttlMs: 0 } }],
    ['icons.0.src', { icons: [{ src: 'javascript:alert(1)' }] }],
    ['icons.0.src', { icons: [{ src: 'http://x.example/icon.png' }] }],
    ['inputschema', { inputschema: {} }],
  ])('L-34 option %s: %j', (option, config) => {
    expect(() => mcp().tool('a', config as object, () => 'x')).toThrow(`tool a: option ${option}: `)
  })

  test('a handler and a config that are none', () => {
    expect(() => mcp().tool('a', {}, 'x' as never)).toThrow('tool a: the handler must be a function')
    expect(() => mcp().tool('a', undefined as never, () => 'x')).toThrow('tool a: options must be an object')
  })

  test('L-17 H-08 F-04 E-01 scopes, required capabilities and the task are known before the handler runs', () => {
    const server = mcp()
    server.tool('a', { scopes: ['read'], requires: ['sampling'], task: 'optional' }, () => 'x')
    server.tool(
      'b',
      { task: { support: 'required', start: 'manual', restart: 'safe', ttlMs: 5, pollIntervalMs: 6 } },
      () => 'x',
    )
    server.tool('c', {}, () => 'x')
    const route = (name: unknown) => server.route('tools/call', { name })
    expect(route('a')).toEqual({
      scopes: ['read'],
      requires: ['sampling'],
      task: { support: 'optional', start: 'at-once', restart: 'never', ttlMs: 3_600_000, pollIntervalMs: 1000 },
    })
    expect(route('b')).toEqual({
      task: { support: 'required', start: 'manual', restart: 'safe', ttlMs: 5, pollIntervalMs: 6 },
    })
    for (const name of ['c', 'nope', undefined, 5]) expect(route(name)).toEqual({})
    expect(route('a')).toBe(route('a'))
  })

  test('H-08 L-17 M-12 a tool is refused to who lacks its scope, though it is listed', async () => {
    const server = mcp({ cache: { ttlMs: 1000, scope: 'public' } })
    let runs = 0
    server.tool('write', { scopes: ['write'] }, () => {
      runs++
      return 'x'
    })
    const auth = (request: Request) => ({ id: 'u', scopes: [request.headers.get('x-scope') ?? ''] })
    const { transport } = scene({ auth }, server)
    for (const version of ALL_VERSIONS) {
      const client = await clientOf(transport, version)
      expect(await listed(client, 'tools/list')).toHaveLength(1)
      expect((await client.call('write')).status).toBe(403)
      expect(runs).toBe(0)
      expect(textOf((await client.call('write', {}, { headers: { 'x-scope': 'write' } })).message)).toBe('x')
      runs = 0
    }
  })

  test('F-04 E-01 a tool that needs a capability is refused without it', async () => {
    const server = mcp()
    server.tool('asks', { requires: ['elicitation'] }, () => 'asked')
    const { transport } = scene({}, server)
    const refused = await modern(transport).call('asks')
    expect(refused).toMatchObject({ status: 400, message: { error: { code: -32021 } } })
    expect(refused.message.error?.data).toEqual({ requiredCapabilities: { elicitation: {} } })
    for (const version of LEGACY_VERSIONS) {
      expect((await (await legacy(transport, version)).call('asks')).message.error?.code).toBe(-32602)
      const able = await legacy(transport, version, { capabilities: { elicitation: {} } })
      expect(textOf((await able.call('asks')).message)).toBe('asked')
    }
  })
})

test('a call is answered at once where the schemas and the handler are synchronous', () => {
  const server = greeter()
  const result = server.call('tools/call', { name: 'greet', arguments: { name: 'Ada' } }, {
    protocolVersion: MODERN,
  } as never)
  expect(result).toEqual({ content: [{ type: 'text', text: 'Hello, Ada!' }] })
})
