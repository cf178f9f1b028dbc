// What a server says of itself: capabilities, its own description, the envelope of its results.
import type { ServerInfo } from '@fairlead/core'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import {
  ALL_VERSIONS,
  clientOf,
  initialize,
  LEGACY_VERSIONS,
  legacy,
  META,
  MODERN,
  modern,
  type Params,
  post,
} from '../../packages/core/test-support/clients.ts'
import { mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'
import { read } from '../../packages/core/test-support/sse.ts'

type Server = ReturnType<typeof mcp>
type Transport = ReturnType<typeof scene>['transport']

/** What `initialize` or `server/discover` answers. */
async function described(transport: Transport, version: string): Promise<Params & { capabilities: Params }> {
  if (version === MODERN) return resultOf(await modern(transport).request('server/discover'))
  return resultOf(await read(post(transport, initialize(version))))
}

const everything = (server: Server) => {
  server.tool('t', {}, () => 'x')
  server.resource('note://{id}', { complete: { id: () => ['1'] }, list: () => [] }, ({ id }) => id)
  server.prompt('p', {}, () => 'x')
  return server
}

const LISTS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  test.each<[string, (server: Server) => void, Params]>([
    ['nothing', () => {}, {}],
    ['a tool', (s) => s.tool('a', {}, () => 'x'), { tools: { listChanged: true } }],
    ['a prompt', (s) => s.prompt('a', {}, () => 'x'), { prompts: { listChanged: true } }],
    ['a resource', (s) => s.resource('note://a', {}, () => 'x'), { resources: { subscribe: true, listChanged: true } }],
    [
      'a template with suggestions',
      (s) => s.resource('note://{a}', { complete: { a: () => [] } }, () => 'x'),
      { resources: { subscribe: true, listChanged: true }, completions: {} },
    ],
    [
      'a prompt with suggestions',
      (s) => s.prompt('a', { argsSchema: v.object({ b: v.string() }), complete: { b: () => [] } }, () => 'x'),
      { prompts: { listChanged: true }, completions: {} },
    ],
  ])('L-01 I-08 %s is declared, and nothing else', async (_what, register, expected) => {
    const server = mcp({ logging: false })
    register(server)
    const { transport } = scene({}, server)
    const { capabilities } = await described(transport, version)
    expect(capabilities).toEqual(expected)
    const client = await clientOf(transport, version)
    for (const [method, key] of Object.entries(LISTS)) {
      const [kind = ''] = method.split('/')
      const { message } = await client.request(method)
      if (kind in expected) expect(message.result).toHaveProperty(key)
      else expect(message.error?.code).toBe(-32601)
    }
  })

  test('L-02 what is declared answers with an empty list, before a registration and after the last is removed', async () => {
    const server = mcp({ declare: ['tools', 'prompts', 'resources'] })
    const { transport } = scene({}, server)
    const client = await clientOf(transport, version)
    const check = async () => {
      for (const [method, key] of Object.entries(LISTS)) {
        expect(resultOf(await client.request(method))[key]).toEqual([])
      }
      expect(Object.keys((await described(transport, version)).capabilities)).toEqual(
        expect.arrayContaining(['tools', 'prompts', 'resources']),
      )
    }
    await check()
    for (const one of [server.tool('t', {}, () => 'x'), server.prompt('p', {}, () => 'x')]) one.remove()
    server.resource('note://a', {}, () => 'x').remove()
    server.resource('note://{a}', {}, () => 'x').remove()
    await check()
  })

  test('P-22 F-17 extensions are declared where the revision has them', async () => {
    const server = mcp({ extensions: { 'com.example/board': { size: 8 } } })
    const { capabilities } = await described(scene({}, server).transport, version)
    expect(capabilities.extensions).toEqual(version === MODERN ? { 'com.example/board': { size: 8 } } : undefined)
  })

  test('P-22 of its own description goes out what the revision knows', async () => {
    const icons = [{ src: 'https://x.example/i.png', mimeType: 'image/png', sizes: ['any'] }]
    const more = { title: 'T', description: 'what it is', websiteUrl: 'https://x.example', icons }
    const result = await described(scene({}, mcp({ ...more, instructions: 'be kind' })).transport, version)
    const { [`${META}serverInfo`]: modernInfo } = (result._meta ?? {}) as Params
    const info = (version === MODERN ? modernInfo : result.serverInfo) as ServerInfo
    expect(info).toEqual({
      name: 'test',
      version: '1.0.0',
      ...(version === '2025-06-18' ? { title: 'T' } : {}),
      ...(version > '2025-06-18' ? more : {}),
    })
    expect(result.instructions).toBe('be kind')
  })

  test.each<[string, Params | undefined, boolean]>([
    ['tools/call', { name: 't' }, false],
    ['prompts/get', { name: 'p' }, false],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'note://{id}' }, argument: { name: 'id', value: '' } },
      false,
    ],
    ['resources/read', { uri: 'note://1' }, true],
    ...Object.keys(LISTS).map((method): [string, undefined, boolean] => [method, undefined, true]),
  ])('P-12 H-03 the envelope of %s', async (method, params, isCacheable) => {
    const client = await clientOf(scene({}, everything(mcp())).transport, version)
    const result = resultOf(await client.request(method, params))
    const { resultType, ttlMs, cacheScope, _meta } = result
    const isModern = version === MODERN
    expect({ resultType, ttlMs, cacheScope, _meta }).toEqual({
      resultType: isModern ? 'complete' : undefined,
      ttlMs: isModern && isCacheable ? 0 : undefined,
      cacheScope: isModern && isCacheable ? 'private' : undefined,
      _meta: isModern ? { [`${META}serverInfo`]: { name: 'test', version: '1.0.0' } } : undefined,
    })
  })

  test.each([true, false])('E-22 logging: %s is declared, and what is not declared is not sent', async (logging) => {
    const server = mcp({ logging })
    server.tool('logs', {}, async (_args, ctx) => {
      await ctx.log('error', 'told')
      return 'x'
    })
    const { transport } = scene({}, server)
    expect('logging' in (await described(transport, version)).capabilities).toBe(logging)
    const client = await clientOf(transport, version)
    const { messages } = await client.call(
      'logs',
      {},
      { meta: version === MODERN ? { [`${META}logLevel`]: 'debug' } : {} },
    )
    expect(messages.filter(({ method }) => method === 'notifications/message')).toHaveLength(logging ? 1 : 0)
    if (version === MODERN) return
    const { message } = await client.request('logging/setLevel', { level: 'debug' })
    expect(message.error?.code).toBe(logging ? undefined : -32601)
  })
})

test('L-01 H-03 P-12 server/discover is a cacheable result with an envelope', async () => {
  const result = resultOf(await modern(scene({}, mcp()).transport).request('server/discover'))
  expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' })
})

test('L-01 L-23 without sessions nothing is declared that needs a stream', async () => {
  const { transport } = scene({ sessions: false }, everything(mcp()))
  for (const version of LEGACY_VERSIONS) {
    const { capabilities } = await described(transport, version)
    expect(capabilities).toEqual({ tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} })
  }
})

test('L-02 L-01 a kind that comes later is declared to those who come later', async () => {
  const server = mcp()
  const { transport } = scene({}, server)
  const client = await legacy(transport)
  expect((await client.request('tools/list')).message.error?.code).toBe(-32601)
  server.tool('late', {}, () => 'x')
  expect((await described(transport, '2025-11-25')).capabilities).toHaveProperty('tools')
  expect(resultOf(await client.request('tools/list')).tools).toHaveLength(1)
})

describe('keys', () => {
  const legal = ['a', 'a.b-c_9', 'own.example/a', 'com.example.mcp/a', 'x-y.z/', 'example/mcp', 'a.b.c/d']
  const illegal = [
    'mcp.dev/x', // kept by 2025-06-18
    'modelcontextprotocol.io/x',
    'api.modelcontextprotocol.org/x',
    'tools.mcp.com/x',
    'com.mcp.tools/x', // kept by 2025-11-25 and later
    'io.modelcontextprotocol/x',
    'dev.mcp/x',
    '-a/x',
    '9a/x',
    'a-/x',
    'a..b/x',
    '/x',
    'a/-x',
    'a/x_',
    'a/b/c',
    'ä/x',
    '',
  ]

  test.each(legal)('A-13 _meta %j is legal', (key) => {
    const _meta = { [key]: 1 }
    const server = mcp()
    server.tool('a', { _meta }, () => 'x')
    server.resource('note://a', { _meta }, () => 'x')
    server.resource('note://{a}', { _meta }, () => 'x')
    server.prompt('a', { _meta }, () => 'x')
    expect(server.route('tools/call', { name: 'a' })).toEqual({})
  })

  test.each(illegal)('A-13 _meta %j is refused', (key) => {
    const _meta = { [key]: 1 }
    const server = mcp()
    const told = /option _meta.*: (is no legal key of _meta|has a prefix that is kept for MCP)$/
    expect(() => server.tool('a', { _meta }, () => 'x')).toThrow(told)
    expect(() => server.resource('note://a', { _meta }, () => 'x')).toThrow(told)
    expect(() => server.resource('note://{a}', { _meta }, () => 'x')).toThrow(told)
    expect(() => server.prompt('a', { _meta }, () => 'x')).toThrow(told)
    expect(server.describe(MODERN).capabilities).toEqual({ logging: {} })
  })

  test.each(['tasks', '', '/tasks', '-a/tasks'])('F-17 the extension id %j is refused', (id) => {
    expect(() => mcp({ extensions: { [id]: {} } })).toThrow(
      /^McpServer: option extensions.*: must be an id with a prefix, as com.example\/name$/,
    )
  })

  test('F-17 ids with a prefix are legal, those of the spec too', () => {
    const extensions = { 'com.example/a': {}, 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } }
    expect(mcp({ extensions }).describe(MODERN).capabilities.extensions).toEqual(extensions)
  })
})

test.each<[string, object]>([
  ['name', { name: '' }],
  ['version', { version: 1 }],
  ['websiteUrl', { websiteUrl: 'x y' }],
  ['icons.0.src', { icons: [{ src: 'file:///i.png' }] }],
  ['instructions', { instructions: 5 }],
  ['pageSize', { pageSize: 0 }],
  ['declare.0', { declare: ['tool'] }],
  ['validator', { validator: {} }],
  ['tools', { tools: [] }],
])('L-34 P-22 option %s of a server: %j', (option, options) => {
  expect(() => mcp(options)).toThrow(`McpServer: option ${option}: `)
})
