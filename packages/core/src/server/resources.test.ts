import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, LEGACY_VERSIONS, legacy, MODERN, modern } from '../../test-support/clients.ts'
import { listed, mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { Frames } from '../../test-support/sse.ts'
import { McpError } from '../errors.ts'
import type { McpServer, ResourceConfig, ResourceReturn } from './index.ts'

const ICON = { src: 'https://x.example/icon.png' }
const PRIVATE = 'private-8e2b'

interface Contents {
  uri: string
  mimeType?: string
  text?: string
  blob?: string
}

/** A server with one resource that reads as a test says. */
function reading(value: unknown, config: ResourceConfig<unknown> = {}): McpServer {
  const server = mcp()
  server.resource('a://b', config, () => value as ResourceReturn)
  return server
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const clientOn = (server: McpServer) => clientOf(scene({}, server).transport, version)
  const notFound = version === MODERN ? -32602 : -32002

  async function read(server: McpServer, uri = 'a://b') {
    const { transport, reported } = scene({}, server)
    const answer = await (await clientOf(transport, version)).request('resources/read', { uri })
    return { ...answer, contents: answer.message.result?.contents as Contents[], reported }
  }

  test.each<[string, ResourceReturn, ResourceConfig<unknown>, object]>([
    ['text', 'é世', {}, { text: 'é世' }],
    ['empty text', '', { mimeType: 'text/markdown' }, { text: '', mimeType: 'text/markdown' }],
    ['bytes', new Uint8Array([0, 250, 255]), { mimeType: 'image/png' }, { blob: 'APr/', mimeType: 'image/png' }],
    ['bytes of a Buffer', Buffer.from('é'), {}, { blob: 'w6k=', mimeType: 'application/octet-stream' }],
  ])('L-22 %s', async (_, value, config, expected) => {
    expect((await read(reading(value, config))).contents).toEqual([{ uri: 'a://b', ...expected }])
  })

  test('L-26 several contents, each with what it says of itself', async () => {
    const _meta = { 'own.example/a': 1 }
    const value: ResourceReturn = [
      { uri: 'a://b', text: 'x' },
      { uri: 'a://b/1', text: 'y', _meta },
      { uri: 'a://b/2', blob: new Uint8Array([1]) },
      { uri: 'a://b/3', blob: 'AQ==', mimeType: 'image/png' },
    ]
    expect((await read(reading(value, { mimeType: 'text/plain' }))).contents).toEqual([
      { uri: 'a://b', mimeType: 'text/plain', text: 'x' },
      { uri: 'a://b/1', text: 'y', ...(version === '2025-03-26' ? {} : { _meta }) },
      { uri: 'a://b/2', mimeType: 'application/octet-stream', blob: 'AQ==' },
      { uri: 'a://b/3', mimeType: 'image/png', blob: 'AQ==' },
    ])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['no contents', []],
  ])('L-25 L-26 P-14 a resource that reads as %s is missing', async (_, value) => {
    const { message, status } = await read(reading(value))
    expect(status).toBe(200)
    expect(message.error).toEqual({ code: notFound, message: 'there is no such resource', data: { uri: 'a://b' } })
  })

  test('L-25 L-26 P-14 F-11 a resource that is not there is missing', async () => {
    for (const uri of ['a://c', 'a://b/', 'A://b', 'b://b', 'a:b', 'a://%zz']) {
      const { message, status } = await read(reading('x'), uri)
      expect(status).toBe(200)
      expect(message.error).toEqual({ code: notFound, message: 'there is no such resource', data: { uri } })
    }
  })

  test('L-25 P-14 the error of the older revisions, thrown by a handler, has the code of the revision', async () => {
    const server = mcp()
    server.resource('a://b', {}, (_, { uri }) => {
      throw new McpError(-32002, 'gone', { uri })
    })
    expect((await read(server)).message.error).toEqual({ code: notFound, message: 'gone', data: { uri: 'a://b' } })
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['a number', 5],
    ['an object', { text: 'x' }],
    ['contents without a URI', [{ text: 'x' }]],
    ['contents of a wrong URI', [{ uri: 'a b', text: 'x' }]],
    ['contents of nothing', [{ uri: 'a://b' }]],
    ['contents of what is not base64', [{ uri: 'a://b', blob: '!' }]],
    ['contents of a wrong type', [{ uri: 'a://b', text: 'x', mimeType: 'x' }]],
    ['contents that are null', [null]],
  ])('L-22 L-25 a resource that reads as %s is an internal error', async (_, value) => {
    const { message, reported } = await read(reading(value))
    expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    expect(reported).toHaveLength(1)
  })

  test('L-25 L-15 what a handler throws is an internal error, and its text stays here', async () => {
    for (const thrown of [new Error(PRIVATE), PRIVATE, undefined, null, 1n]) {
      const server = mcp()
      server.resource('a://b', {}, () => {
        throw thrown
      })
      const { message, text, reported } = await read(server)
      expect(message.error).toEqual({ code: -32603, message: 'internal error' })
      expect(text).not.toContain(PRIVATE)
      expect(reported).toEqual([{ error: thrown, where: expect.objectContaining({ method: 'resources/read' }) }])
    }
  })

  test.each<[unknown]>([[undefined], [5], ['no uri'], ['a b:c'], ['']])(
    'L-27 a uri that is %j is none',
    async (uri) => {
      const client = await clientOn(reading('x'))
      const headers = version === MODERN ? { 'mcp-name': String(uri) } : {}
      const { message } = await client.request('resources/read', { uri }, { headers })
      expect([-32602, -32020]).toContain(message.error?.code)
      if (version !== MODERN) expect(message.error?.message).toBe('params.uri must be a URI')
    },
  )

  test('L-28 a template is read by its variables', async () => {
    const server = mcp()
    server.resource('note://{folder}/{id}{?lang}', { mimeType: 'text/plain' }, ({ folder, id, lang }, { uri }) =>
      JSON.stringify({ folder, id, lang, uri }),
    )
    server.resource('note://one/1', {}, () => 'fixed')
    const variables = async (uri: string) => JSON.parse((await read(server, uri)).contents[0]!.text!)
    const uri = 'note://caf%C3%A9/a%2Fb?lang=no'
    expect(await variables(uri)).toEqual({ folder: 'café', id: 'a/b', lang: 'no', uri })
    expect(await variables('note://x/y')).toEqual({ folder: 'x', id: 'y', uri: 'note://x/y' })
    expect((await read(server, 'note://one/1')).contents).toEqual([{ uri: 'note://one/1', text: 'fixed' }])
    for (const uri of ['note://x', 'note://x/', 'note://x/y/z']) {
      expect((await read(server, uri)).message.error?.code).toBe(notFound)
    }
  })

  test('L-28 of two templates that fit, the first one that was registered', async () => {
    const server = mcp()
    server.resource('note://{id}', {}, () => 'first')
    server.resource('note://{+path}', {}, () => 'second')
    expect((await read(server, 'note://a')).contents[0]?.text).toBe('first')
    expect((await read(server, 'note://a/b')).contents[0]?.text).toBe('second')
  })

  test('L-27 no variable climbs out of where it stands', async () => {
    const server = mcp()
    const read1: string[] = []
    server.resource('file:///docs/{+path}', {}, ({ path }) => {
      read1.push(path)
      return path
    })
    const climbing = ['../etc/passwd', 'a/../../etc/passwd', '%2e%2e/x', 'a/%2E%2E', '..%5cx', '%252e%252e/x', 'a%00']
    for (const path of climbing) {
      const { message } = await read(server, `file:///docs/${path}`)
      expect(message.error?.code, path).toBe(notFound)
    }
    expect(read1).toEqual([])
    expect((await read(server, 'file:///docs/a/b..c')).contents[0]?.text).toBe('a/b..c')
  })

  test('L-34 P-22 what the listings show', async () => {
    const server = mcp()
    const annotations = { audience: ['user' as const], priority: 0.5, lastModified: '2026-07-28T00:00:00Z' }
    const _meta = { 'own.example/a': 1 }
    const shown = {
      name: 'B',
      title: 'The b',
      description: 'of a',
      mimeType: 'text/plain',
      icons: [ICON],
      annotations,
      _meta,
    }
    server.resource('a://b', { ...shown, size: 5 }, () => 'x')
    server.resource('a://bare', {}, () => 'x')
    server.resource('a://{id}', shown, () => 'x')
    server.resource('a://{id}/bare', {}, () => 'x')
    const known = {
      name: 'B',
      description: 'of a',
      mimeType: 'text/plain',
      annotations: version === '2025-03-26' ? { audience: ['user'], priority: 0.5 } : annotations,
      ...(version > '2025-03-26' ? { title: 'The b', _meta } : {}),
      ...(version > '2025-06-18' ? { icons: [ICON] } : {}),
    }
    const client = await clientOn(server)
    expect(await listed(client, 'resources/list')).toEqual([
      { uri: 'a://b', size: 5, ...known },
      { uri: 'a://bare', name: 'a://bare' },
    ])
    expect(await listed(client, 'resources/templates/list')).toEqual([
      { uriTemplate: 'a://{id}', ...known },
      { uriTemplate: 'a://{id}/bare', name: 'a://{id}/bare' },
    ])
  })

  test('L-34 what a template lists of itself, behind the fixed ones and no URI twice', async () => {
    const server = mcp()
    server.resource('note://1', { name: 'fixed' }, () => 'x')
    const list = () => [
      { uri: 'note://1', name: 'hidden' },
      { uri: 'note://2', name: 'two', title: 'Two', icons: [ICON], size: 1 },
      { uri: 'note://3', name: 'three', mimeType: 'text/html', description: 'a note' },
    ]
    server.resource('note://{id}', { mimeType: 'text/plain', list }, () => 'x')
    server.resource('other://{id}', { list: async () => [{ uri: 'note://2', name: 'hidden' }] }, () => 'x')
    expect(await listed(await clientOn(server), 'resources/list')).toEqual([
      { uri: 'note://1', name: 'fixed' },
      {
        uri: 'note://2',
        name: 'two',
        mimeType: 'text/plain',
        size: 1,
        ...(version > '2025-03-26' ? { title: 'Two' } : {}),
        ...(version > '2025-06-18' ? { icons: [ICON] } : {}),
      },
      { uri: 'note://3', name: 'three', mimeType: 'text/html', description: 'a note' },
    ])
  })

  test('L-27 L-28 a list that is wrong is an internal error', async () => {
    for (const wrong of [[{ uri: 'no uri', name: 'x' }], [{ uri: 'a://b' }], 5]) {
      const server = mcp()
      server.resource('note://{id}', { list: () => wrong as never }, () => 'x')
      const { message } = await (await clientOn(server)).request('resources/list')
      expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    }
  })

  test('H-03 Q-46 P-12 caching is told in 2026-07-28, and nowhere else', async () => {
    const server = mcp({ cache: { ttlMs: 5000, scope: 'public' } })
    server.resource('a://b', { cache: { ttlMs: 60_000, scope: 'public' } }, () => 'x')
    server.resource('a://{id}', {}, () => 'x')
    server.tool('t', {}, () => 'x')
    server.prompt('p', {}, () => 'x')
    const client = await clientOn(server)
    const fields = async (method: string, params?: { [key: string]: unknown }) => {
      const { ttlMs, cacheScope } = resultOf(await client.request(method, params))
      return [ttlMs, cacheScope]
    }
    const isModern = version === MODERN
    for (const kind of ['tools', 'prompts', 'resources', 'resources/templates']) {
      expect(await fields(`${kind}/list`)).toEqual(isModern ? [5000, 'public'] : [undefined, undefined])
    }
    expect(await fields('resources/read', { uri: 'a://b' })).toEqual(
      isModern ? [60_000, 'public'] : [undefined, undefined],
    )
    expect(await fields('resources/read', { uri: 'a://c' })).toEqual(isModern ? [0, 'private'] : [undefined, undefined])
  })
})

describe('H-07 H-06 what may be kept of resources/list', () => {
  const keep = { ttlMs: 5000, scope: 'public' as const }
  const list = () => [{ uri: 'note://1', name: 'one' }]
  test.each<[string, ResourceConfig<unknown> | undefined, object]>([
    ['nothing dynamic', undefined, { ttlMs: 5000, cacheScope: 'public' }],
    ['a template that says nothing', { list }, { ttlMs: 0, cacheScope: 'private' }],
    [
      'a template that is shorter',
      { list, cache: { ttlMs: 10, scope: 'public' } },
      { ttlMs: 10, cacheScope: 'public' },
    ],
    [
      'a template that is private',
      { list, cache: { ttlMs: 9000, scope: 'private' } },
      { ttlMs: 5000, cacheScope: 'private' },
    ],
  ])('%s', async (_, config, expected) => {
    const server = mcp({ cache: keep, pageSize: 1 })
    server.resource('a://b', {}, () => 'x')
    server.resource('a://c', {}, () => 'x')
    if (config) server.resource('note://{id}', config as never, () => 'x')
    const client = modern(scene({}, server).transport)
    let cursor: unknown
    do {
      const result = resultOf(await client.request('resources/list', { cursor }))
      expect(result).toMatchObject(expected)
      cursor = result.nextCursor
    } while (cursor !== undefined)
  })
})

test('H-08 J-02 a handler knows who reads, and a list is made for each caller', async () => {
  const server = mcp()
  const list = (ctx: { principal?: { id: string } }) => [{ uri: `mine://${ctx.principal?.id}`, name: 'mine' }]
  server.resource('mine://{id}', { list }, ({ id }, ctx) => (id === ctx.principal?.id ? 'yours' : undefined))
  const auth = (request: Request) => ({ id: request.headers.get('x-user') ?? '' })
  const { transport } = scene({ auth }, server)
  for (const id of ['ada', 'eve']) {
    const client = modern(transport, { 'x-user': id })
    expect((await listed(client, 'resources/list')).map(({ uri }) => uri)).toEqual([`mine://${id}`])
    const { message } = await client.request('resources/read', { uri: 'mine://ada' })
    expect(message.error?.code).toBe(id === 'ada' ? undefined : -32602)
  }
})

describe('L-28 L-34 what a resource is registered with', () => {
  test.each(['no uri', 'a b:c', '', '/a', 'a', 'a://b c', 'a://{', 'a://{b', 'a://{b*}', 'a://{b}{b}'])(
    '%j throws',
    (uri) => {
      expect(() => mcp().resource(uri as 'a:', {}, () => 'x')).toThrow(TypeError)
    },
  )

  test('a URI that is none at all, and one that is taken', () => {
    for (const uri of [undefined, 5, null]) expect(() => mcp().resource(uri as never, {}, () => 'x')).toThrow(TypeError)
    const server = reading('x')
    expect(() => server.resource('a://b', {}, () => 'x')).toThrow('resource "a://b" is registered already')
    server.resource('a://{id}', {}, () => 'x')
    expect(() => server.resource('a://{id}', {}, () => 'x')).toThrow('resource "a://{id}" is registered already')
  })

  test.each<[string, string, object]>([
    ['name', 'a://b', { name: 5 }],
    ['mimeType', 'a://b', { mimeType: 'text' }],
    ['size', 'a://b', { size: -1 }],
    ['size', 'a://b', { size: 0.5 }],
    ['size', 'a://{b}', { size: 1 }],
    ['list', 'a://b', { list: () => [] }],
    ['list', 'a://{b}', { list: [] }],
    ['complete', 'a://b', { complete: {} }],
    ['complete.c', 'a://{b}', { complete: { c: () => [] } }],
    ['complete.b', 'a://{b}', { complete: { b: ['x'] } }],
    ['annotations.priority', 'a://b', { annotations: { priority: 2 } }],
    ['annotations.priority', 'a://b', { annotations: { priority: -0.1 } }],
    ['annotations.audience.0', 'a://b', { annotations: { audience: ['model'] } }],
    ['annotations.lastModified', 'a://b', { annotations: { lastModified: 'yesterday' } }],
    ['annotations.lastModified', 'a://b', { annotations: { lastModified: '2026-13-01' } }],
    ['annotations.readOnlyHint', 'a://b', { annotations: { readOnlyHint: true } }],
    ['icons.0.src', 'a://b', { icons: [{ src: 'javascript:alert(1)' }] }],
    ['icons.0.src', 'a://b', { icons: [{ src: 'data:text/html,x' }] }],
    ['icons.0.theme', 'a://b', { icons: [{ ...ICON, theme: 'grey' }] }],
    ['cache.ttlMs', 'a://b', { cache: { ttlMs: -1, scope: 'public' } }],
    ['cache.ttlMs', 'a://b', { cache: { ttlMs: 0.5, scope: 'public' } }],
    ['cache.ttlMs', 'a://b', { cache: { scope: 'public' } }],
    ['cache.scope', 'a://b', { cache: { ttlMs: 1, scope: 'shared' } }],
    ['inputSchema', 'a://b', { inputSchema: v.object({}) }],
  ])('H-04 L-34 option %s of %s: %j', (option, uri, config) => {
    expect(() => mcp().resource(uri as 'a://b', config, () => 'x')).toThrow(`resource ${uri}: option ${option}: `)
  })

  test('an icon may be an https URL or the data of an image', () => {
    const icons = [ICON, { src: 'data:image/png;base64,AA==' }, { src: 'HTTPS://x.example/a' }]
    expect(() => mcp().resource('a://b', { icons }, () => 'x')).not.toThrow()
    expect(() => mcp().resource('a://b', {}, 'x' as never)).toThrow('resource a://b: read must be a function')
  })
})

test.each(LEGACY_VERSIONS)(
  'L-24 in %s only those are told of a resource who have subscribed to it',
  async (version) => {
    const server = reading('x')
    server.resource('a://c', {}, () => 'x')
    const { transport } = scene({}, server)
    const client = await legacy(transport, version)
    const frames = new Frames(await client.verb('GET', { accept: 'text/event-stream' }))
    expect(resultOf(await client.request('resources/subscribe', { uri: 'a://b' }))).toEqual({})
    await transport.notify.resourceUpdated('a://c')
    await transport.notify.resourceUpdated('a://b')
    expect(await frames.message()).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'a://b' },
    })
    expect(resultOf(await client.request('resources/unsubscribe', { uri: 'a://b' }))).toEqual({})
    await transport.notify.resourceUpdated('a://b')
    await transport.notify.resourcesChanged()
    expect(await frames.message()).toMatchObject({ method: 'notifications/resources/list_changed' })
    await frames.cancel()
  },
)
