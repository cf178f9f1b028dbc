import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import {
  ALL_VERSIONS,
  clientOf,
  initialize,
  LEGACY_VERSIONS,
  legacy,
  MODERN,
  modern,
  post,
} from '../../test-support/clients.ts'
import { listed, mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { Frames, read, textOf } from '../../test-support/sse.ts'
import { McpError } from '../errors.ts'
import type { ListKind } from '../server.ts'
import { McpServer, type McpServerOptions } from './index.ts'

const ICON = { src: 'https://x.example/icon.png' }
const complete = { b: () => ['x'] }

/** The way in of a revision: what a server says of itself. */
async function greeting(server: McpServer, version: string) {
  const { transport } = scene({}, server)
  if (version === MODERN) {
    const { _meta, ...result } = resultOf(await modern(transport).request('server/discover'))
    const serverInfo = (_meta as { [key: string]: unknown })['io.modelcontextprotocol/serverInfo']
    return { ...result, serverInfo } as { [key: string]: unknown }
  }
  return resultOf(await read(post(transport, initialize(version))))
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const isModern = version === MODERN
  const clientOn = (server: McpServer) => clientOf(scene({}, server).transport, version)

  test.each<[string, (server: McpServer) => void, object]>([
    ['nothing', () => {}, {}],
    ['tools', (server) => server.tool('t', {}, () => 'x'), { tools: { listChanged: true } }],
    ['prompts', (server) => server.prompt('p', {}, () => 'x'), { prompts: { listChanged: true } }],
    [
      'resources',
      (server) => server.resource('a://b', {}, () => 'x'),
      { resources: { subscribe: true, listChanged: true } },
    ],
    [
      'a template with completion',
      (server) => server.resource('a://{b}', { complete }, () => 'x'),
      { resources: { subscribe: true, listChanged: true }, completions: {} },
    ],
    [
      'a prompt with completion',
      (server) => server.prompt('p', { argsSchema: v.object({ b: v.string() }), complete }, () => 'x'),
      { prompts: { listChanged: true }, completions: {} },
    ],
  ])('L-01 a server of %s declares just that, and logging', async (_, register, expected) => {
    const server = mcp()
    register(server)
    expect((await greeting(server, version)).capabilities).toEqual({ ...expected, logging: {} })
  })

  test('L-02 what was declared answers with an empty list', async () => {
    const emptied = mcp()
    emptied.tool('t', {}, () => 'x').remove()
    emptied.prompt('p', {}, () => 'x').disable()
    emptied.resource('a://b', {}, () => 'x').remove()
    for (const server of [emptied, mcp({ declare: ['tools', 'prompts', 'resources'] })]) {
      expect(Object.keys((await greeting(server, version)).capabilities as object)).toHaveLength(4)
      const client = await clientOn(server)
      for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
        expect(await listed(client, method)).toEqual([])
      }
    }
  })

  test('G-14 L-02 P-13 a method of what is not declared is none', async () => {
    const client = await clientOn(mcp())
    const methods = ['tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'resources/list', 'resources/read']
    for (const method of [...methods, 'resources/templates/list', 'completion/complete', 'tools/nope', 'constructor']) {
      const { status, message } = await client.request(method, { name: 'a', uri: 'a://b' })
      expect({ status, code: message.error?.code }, method).toEqual({ status: isModern ? 404 : 200, code: -32601 })
    }
  })

  test('A-09 P-22 H-02 F-09 its own description and instructions', async () => {
    const info = { name: 'own', version: '2.0', title: 'Own' }
    const more = { description: 'what it is', websiteUrl: 'https://x.example', icons: [ICON] }
    const made = await greeting(new McpServer({ ...info, ...more, instructions: 'be kind' }), version)
    expect(made.instructions).toBe('be kind')
    if (version > '2025-06-18') expect(made.serverInfo).toEqual({ ...info, ...more })
    else expect(made.serverInfo).toEqual(version === '2025-03-26' ? { name: 'own', version: '2.0' } : info)
    expect(await greeting(mcp(), version)).not.toHaveProperty('instructions')
  })

  test('F-17 K-01 K-22 extensions are declared in 2026-07-28 alone, tasks where a tool can be one', async () => {
    const server = mcp({ extensions: { 'com.example/own': { a: 1 } } })
    server.tool('t', { task: 'optional' }, () => 'x')
    const { extensions, tasks } = (await greeting(server, version)).capabilities as Record<string, unknown>
    const own = { 'com.example/own': { a: 1 }, 'io.modelcontextprotocol/tasks': {} }
    expect(extensions).toEqual(isModern ? own : undefined)
    expect(tasks).toBeUndefined()
  })

  test('E-22 without logging nothing is logged', async () => {
    for (const logging of [true, false]) {
      const server = mcp({ logging })
      server.tool('logs', {}, async (_args, ctx) => {
        await ctx.log('error', 'said')
        return 'x'
      })
      const client = await clientOn(server)
      const answer = await client.call('logs', {}, { meta: { 'io.modelcontextprotocol/logLevel': 'debug' } })
      expect(answer.messages.map(({ method }) => method)).toEqual(
        logging ? ['notifications/message', undefined] : [undefined],
      )
    }
  })

  test('L-03 L-04 the same list in the order of registration, for every connection, at every time', async () => {
    const server = mcp()
    const names = ['c', 'a', 'b', 'B', '10', '9']
    for (const name of names) server.tool(name, { inputSchema: v.object({}) }, () => name)
    const { transport } = scene({}, server)
    const lists: { [key: string]: unknown }[] = []
    for (let i = 0; i < 3; i++) {
      const client = await clientOf(transport, version)
      await client.call(names[i]!)
      lists.push(resultOf(await client.request('tools/list')))
    }
    expect((lists[0]!.tools as { name: string }[]).map(({ name }) => name)).toEqual(names)
    expect(lists[1]).toEqual(lists[0])
    expect(lists[2]).toEqual(lists[0])
  })

  test('L-14 L-25 L-29 what is disabled or removed is not there, and comes back where it was', async () => {
    const server = mcp()
    const one = [
      server.tool('one', {}, () => 'x'),
      server.prompt('one', {}, () => 'x'),
      server.resource('a://one', {}, () => 'x'),
      server.resource('b://one/{c}', {}, () => 'x'),
    ]
    server.tool('two', {}, () => 'x')
    server.prompt('two', {}, () => 'x')
    server.resource('a://two', {}, () => 'x')
    server.resource('b://two/{c}', {}, () => 'x')
    const client = await clientOn(server)
    const seen = async () => {
      const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']
      const counts = await Promise.all(lists.map(async (method) => (await listed(client, method)).length))
      const calls: [string, object][] = [
        ['tools/call', { name: 'one' }],
        ['prompts/get', { name: 'one' }],
        ['resources/read', { uri: 'a://one' }],
        ['resources/read', { uri: 'b://one/c' }],
      ]
      const answers = await Promise.all(calls.map(([method, params]) => client.request(method, { ...params })))
      return { counts, codes: answers.map(({ message }) => message.error?.code) }
    }
    const missing = isModern ? -32602 : -32002
    const there = { counts: [2, 2, 2, 2], codes: [undefined, undefined, undefined, undefined] }
    const gone = { counts: [1, 1, 1, 1], codes: [-32602, -32602, missing, missing] }
    expect(await seen()).toEqual(there)
    for (const registration of one) registration.disable()
    expect(await seen()).toEqual(gone)
    for (const registration of one) registration.enable()
    expect(await seen()).toEqual(there)
    expect((await listed(client, 'tools/list')).map(({ name }) => name)).toEqual(['one', 'two'])
    for (const registration of one) registration.remove()
    expect(await seen()).toEqual(gone)
    for (const registration of one) registration.enable()
    expect(await seen()).toEqual(gone)
    server.tool('one', {}, () => 'new')
    expect(textOf((await client.call('one')).message)).toBe('new')
    one[0]!.remove()
    expect(await listed(client, 'tools/list')).toHaveLength(2)
  })

  test('L-23 I-08 P-17 a change is told to those who want it', async () => {
    const server = mcp({ declare: ['tools', 'prompts', 'resources'] })
    const { transport } = scene({}, server)
    const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
    const client = await clientOf(transport, version)
    const frames = isModern
      ? new Frames(await client.open('subscriptions/listen', { notifications: filter }))
      : new Frames(await client.verb('GET'))
    if (isModern) expect((await frames.message())?.method).toBe('notifications/subscriptions/acknowledged')
    const changes: [ListKind, () => { remove(): void }][] = [
      ['tools', () => server.tool('t', {}, () => 'x')],
      ['prompts', () => server.prompt('p', {}, () => 'x')],
      ['resources', () => server.resource('a://b', {}, () => 'x')],
      ['resources', () => server.resource('a://{b}', {}, () => 'x')],
    ]
    for (const [kind, change] of changes) {
      const registration = change()
      expect((await frames.message())?.method).toBe(`notifications/${kind}/list_changed`)
      registration.remove()
      expect((await frames.message())?.method).toBe(`notifications/${kind}/list_changed`)
    }
    await frames.cancel()
  })

  test('L-17 H-08 L-33 a middleware stands around every method, the first one outermost', async () => {
    const server = mcp()
    const seen: string[] = []
    server.tool('t', { inputSchema: v.object({ a: v.string() }) }, ({ a }) => {
      seen.push('handler')
      return a
    })
    server.prompt('p', {}, () => 'x')
    server.resource('a://{b}', { complete }, () => 'x')
    server.use(async ({ method, ctx }, next) => {
      seen.push(`${method} ${ctx.protocolVersion}`)
      const result = await next()
      seen.push('after')
      return result
    })
    server.use(async ({ params }, next) => {
      if ((params as { arguments?: { a?: string } }).arguments?.a === 'no') throw new McpError(-31001, 'not you')
      return next()
    })
    const client = await clientOn(server)
    expect(textOf((await client.call('t', { a: 'x' })).message)).toBe('x')
    expect(seen.splice(0)).toEqual([`tools/call ${version}`, 'handler', 'after'])
    expect((await client.call('t', { a: 'no' })).message.error).toEqual({ code: -31001, message: 'not you' })
    expect((await client.call('nope')).message.error?.code).toBe(-32602)
    seen.splice(0)
    const ref = { type: 'ref/resource', uri: 'a://{b}' }
    const calls: [string, object][] = [
      ['tools/list', {}],
      ['prompts/list', {}],
      ['prompts/get', { name: 'p' }],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: 'a://b' }],
      ['completion/complete', { ref, argument: { name: 'b', value: '' } }],
    ]
    for (const [method, params] of calls) {
      resultOf(await client.request(method, { ...params }))
      expect(seen.splice(0)).toEqual([`${method} ${version}`, 'after'])
    }
  })

  test('H-07 L-03 a middleware may show each caller what is theirs', async () => {
    const server = mcp()
    server.tool('all', {}, () => 'x')
    server.tool('admin', {}, () => 'x')
    server.use(async ({ method, ctx }, next) => {
      const result = await next()
      if (method !== 'tools/list' || ctx.principal?.id === 'root') return result
      return { ...result, tools: (result.tools as { name: string }[]).filter(({ name }) => name !== 'admin') }
    })
    const { transport } = scene({ auth: (request) => ({ id: request.headers.get('x-user') ?? '' }) }, server)
    for (const user of ['eve', 'root', 'eve']) {
      const headers = { 'x-user': user }
      const client = isModern ? modern(transport, headers) : await legacy(transport, version, { headers })
      expect(await listed(client, 'tools/list')).toHaveLength(user === 'root' ? 2 : 1)
    }
  })

  test('L-15 a middleware that throws or answers nothing is an internal error', async () => {
    for (const answer of [() => undefined as never, () => Promise.reject(new Error('private-0'))]) {
      const server = mcp()
      server.tool('t', {}, () => 'x')
      server.use(answer)
      const { message, text } = await (await clientOn(server)).call('t')
      expect(message.error).toEqual({ code: -32603, message: 'internal error' })
      expect(text).not.toContain('private-0')
    }
  })
})

describe('changes', () => {
  test('L-23 each is told once, of its kind, until nobody listens any more', () => {
    const server = mcp()
    const seen: string[] = []
    const stop = server.onChange((kind) => seen.push(kind))
    const tool = server.tool('t', {}, () => 'x')
    server.prompt('p', {}, () => 'x')
    server.resource('a://b', {}, () => 'x')
    server.resource('a://{b}', {}, () => 'x')
    expect(seen.splice(0)).toEqual(['tools', 'prompts', 'resources', 'resources'])
    tool.enable()
    expect(seen).toEqual([])
    tool.disable()
    tool.disable()
    expect(seen.splice(0)).toEqual(['tools'])
    tool.remove()
    tool.remove()
    tool.enable()
    expect(seen).toEqual([]) // what was hidden is gone: nobody sees a difference
    expect(() => server.prompt('p', {}, () => 'x')).toThrow()
    expect(() => server.tool('u', { task: true as never }, () => 'x')).toThrow()
    expect(seen).toEqual([])
    stop()
    server.tool('u', {}, () => 'x')
    expect(seen).toEqual([])
  })
})

describe('P-17 fingerprints', () => {
  const print = (register: (server: McpServer) => void, kind: ListKind = 'tools') => {
    const server = mcp()
    register(server)
    return server.describe(MODERN).fingerprints[kind]
  }

  test('R28 are the same on every node, in every revision, and before and after the first listing', async () => {
    const register = (server: McpServer) => {
      server.tool('t', { inputSchema: v.object({ a: v.pipe(v.string(), v.regex(/x/)) }) }, () => 'x')
      server.prompt('p', { argsSchema: v.object({ a: v.string() }) }, () => 'x')
      server.resource('a://{b}', {}, () => 'x')
    }
    const [one, two] = [mcp(), mcp()]
    register(one)
    register(two)
    const before = one.describe(MODERN).fingerprints
    await one.call('tools/list', {}, { protocolVersion: MODERN } as never)
    one.tool('more', {}, () => 'x').remove()
    expect(one.describe(MODERN).fingerprints).toEqual(before)
    for (const version of ALL_VERSIONS) expect(two.describe(version).fingerprints).toEqual(before)
    expect(one.describe(MODERN)).toBe(one.describe(MODERN))
  })

  test('R28 change with what is listed of their kind, and with nothing else', () => {
    const server = mcp()
    const tool = server.tool('t', {}, () => 'x')
    const before = server.describe(MODERN).fingerprints
    tool.disable()
    const after = server.describe(MODERN).fingerprints
    expect(after.tools).not.toBe(before.tools)
    expect({ ...after, tools: '' }).toEqual({ ...before, tools: '' })
    tool.enable()
    expect(server.describe(MODERN).fingerprints).toEqual(before)
  })

  const text = v.object({ a: v.string() })
  test.each<[string, (server: McpServer) => void, (server: McpServer) => void]>([
    ['a name', (s) => s.tool('a', {}, () => ''), (s) => s.tool('b', {}, () => '')],
    ['a description', (s) => s.tool('a', { description: 'a' }, () => ''), (s) => s.tool('a', {}, () => '')],
    ['a hint', (s) => s.tool('a', { annotations: { readOnlyHint: true } }, () => ''), (s) => s.tool('a', {}, () => '')],
    [
      'a schema',
      (s) => s.tool('a', { inputSchema: text }, () => ''),
      (s) => s.tool('a', { inputSchema: v.object({ a: v.number() }) }, () => ''),
    ],
    [
      'an output',
      (s) => s.tool('a', { inputSchema: text }, () => ''),
      (s) => s.tool('a', { inputSchema: text, outputSchema: text }, () => ({ a: '' })),
    ],
    [
      'the order',
      (s) => {
        s.tool('a', {}, () => '')
        s.tool('b', {}, () => '')
      },
      (s) => {
        s.tool('b', {}, () => '')
        s.tool('a', {}, () => '')
      },
    ],
  ])('R28 %s makes another', (_, one, two) => {
    expect(print(one)).not.toBe(print(two))
    expect(print(one)).toBe(print(one))
  })

  test('R28 of prompts and resources', () => {
    const prompt = (description: string) => (s: McpServer) => s.prompt('p', { description }, () => 'x')
    expect(print(prompt('a'), 'prompts')).not.toBe(print(prompt('b'), 'prompts'))
    const resource = (uri: 'a://b') => (s: McpServer) => s.resource(uri, {}, () => 'x')
    expect(print(resource('a://b'), 'resources')).not.toBe(print(resource('a://{b}' as 'a://b'), 'resources'))
  })
})

test('a listing is one and the same object, that nobody can change by mistake', () => {
  const server = mcp()
  server.tool('t', {}, () => 'x')
  for (const version of ALL_VERSIONS) {
    const list = () => server.call('tools/list', {}, { protocolVersion: version } as never) as { tools: object[] }
    expect(list()).toBe(list())
    expect(() => list().tools.pop()).toThrow(TypeError)
    expect(() => Object.assign(list(), { a: 1 })).toThrow(TypeError)
  }
})

test.each(LEGACY_VERSIONS)('P-19 G-14 in %s ping and the like are the transport’s', (version) => {
  const server = mcp({ declare: ['resources'] })
  for (const method of ['ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'server/discover']) {
    expect(server.route(method, {}), `${method} ${version}`).toBeUndefined()
    expect(() => server.call(method, {}, { protocolVersion: version } as never)).toThrow('there is no such method')
  }
})

describe('A-13 keys of _meta', () => {
  const register = (key: string) => () => mcp().tool('t', { _meta: { [key]: 1 } }, () => 'x')
  test.each([
    'a',
    'a.b_c-d',
    'A1',
    'own.example/a',
    'own/a',
    'com.example.mcp/a',
    'a-b.c/',
    'mcp/x',
    'own.example/a.b',
  ])('%s is taken', (key) => {
    expect(register(key)).not.toThrow()
  })
  test.each([
    '',
    '-a',
    'a-',
    'a b',
    'é',
    '/a',
    '1own/a',
    'own-/a',
    'own..b/a',
    '.own/a',
    'own/-a',
    'own/a/b',
    'own_x/a',
    // Kept by 2025-06-18, by 2025-11-25, by both.
    'mcp.dev/x',
    'tools.mcp.com/x',
    'com.mcp.tools/x',
    'com.modelcontextprotocol.api.x/x',
    'dev.mcp/x',
    'io.modelcontextprotocol/x',
  ])('%j is refused', (key) => {
    expect(register(key)).toThrow(
      /^tool t: option _meta\..*: (is no legal key of _meta|has a prefix that is kept for MCP)$/,
    )
  })

  test('A-13 of resources and prompts too', () => {
    const config = { _meta: { 'mcp.dev/x': 1 } }
    expect(() => mcp().resource('a://b', config, () => 'x')).toThrow('kept for MCP')
    expect(() => mcp().prompt('p', config, () => 'x')).toThrow('kept for MCP')
  })
})

describe('what a server is made with', () => {
  test.each<[string, object]>([
    ['name', { name: undefined }],
    ['name', { name: '' }],
    ['version', { version: 5 }],
    ['title', { title: 5 }],
    ['websiteUrl', { websiteUrl: 'x' }],
    ['icons.0.src', { icons: [{ src: 'ftp://x' }] }],
    ['instructions', { instructions: 5 }],
    ['cache.ttlMs', { cache: { ttlMs: -1, scope: 'public' } }],
    ['cache.ttlMs', { cache: { ttlMs: 0.5, scope: 'public' } }],
    ['logging', { logging: 'yes' }],
    ['declare.0', { declare: ['tasks'] }],
    ['extensions.tasks', { extensions: { tasks: {} } }],
    ['extensions.a b/c', { extensions: { 'a b/c': {} } }],
    ['extensions.own/a', { extensions: { 'own/a': true } }],
    ['validator', { validator: {} }],
    ['onWarning', { onWarning: 'x' }],
    ['instruction', { instruction: 'x' }],
  ])('H-04 F-17 L-34 option %s: %j', (option, changed) => {
    const options = { name: 'x', version: '1', ...changed } as McpServerOptions
    expect(() => new McpServer(options)).toThrow(`McpServer: option ${option}: `)
  })

  test('options that are none, and a middleware that is none', () => {
    expect(() => new McpServer(undefined as never)).toThrow('McpServer: options must be an object')
    expect(() => mcp().use({} as never)).toThrow('McpServer: use takes a function')
  })
})
