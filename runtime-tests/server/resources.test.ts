// Resources: read by their URI or a template's, and refused where there is none.
import { McpError, type ResourceReturn } from '@fairlead/core'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, type Client, clientOf, MODERN, modern } from '../../packages/core/test-support/clients.ts'
import { listed, mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

type Server = ReturnType<typeof mcp>

/** A resource that tells which variables it was read with. */
const echo = (variables: unknown) => JSON.stringify(variables)

async function contentsOf(client: Client, uri: string) {
  return resultOf<{ contents: { uri: string; mimeType?: string; text?: string; blob?: string }[] }>(
    await client.request('resources/read', { uri }),
  ).contents
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const on = (server: Server) => clientOf(scene({}, server).transport, version)
  const missing = version === MODERN ? -32602 : -32002

  test.each<[string, object, ResourceReturn, object[]]>([
    ['text', {}, 'x', [{ text: 'x' }]],
    ['no text at all', { mimeType: 'text/plain' }, '', [{ text: '', mimeType: 'text/plain' }]],
    ['bytes', {}, new Uint8Array([0, 255]), [{ blob: 'AP8=', mimeType: 'application/octet-stream' }]],
    ['bytes of a type', { mimeType: 'image/png' }, new Uint8Array([0, 255]), [{ blob: 'AP8=', mimeType: 'image/png' }]],
    ['no bytes at all', { mimeType: 'image/png' }, new Uint8Array(), [{ blob: '', mimeType: 'image/png' }]],
    [
      'contents',
      { mimeType: 'text/plain' },
      [
        { uri: 'note://a/1', text: 'one', _meta: { 'own.example/a': 1 } },
        { uri: 'note://a/2', mimeType: 'image/png', blob: new Uint8Array([0, 255]) },
        { uri: 'note://a/3', mimeType: 'image/png', blob: 'AP8=' },
      ],
      [
        {
          uri: 'note://a/1',
          text: 'one',
          ...(version > '2025-03-26' ? { _meta: { 'own.example/a': 1 } } : {}),
        },
        { uri: 'note://a/2', mimeType: 'image/png', blob: 'AP8=' },
        { uri: 'note://a/3', mimeType: 'image/png', blob: 'AP8=' },
      ],
    ],
  ])('L-22 L-26 P-22 %s', async (_what, config, returned, expected) => {
    const server = mcp()
    server.resource('note://a', config, () => returned)
    server.resource('later://{a}', config, async () => returned)
    const client = await on(server)
    expect(await contentsOf(client, 'note://a')).toEqual(expected.map((one) => ({ uri: 'note://a', ...one })))
    expect(await contentsOf(client, 'later://a')).toEqual(expected.map((one) => ({ uri: 'later://a', ...one })))
  })

  test.each<[string, string, ((server: Server) => unknown)?]>([
    ['never registered', 'note://b'],
    ['of no template', 'doc://1/2'],
    ['disabled', 'note://a', (s) => s.resource('note://a', {}, () => 'x').disable()],
    ['removed', 'note://a', (s) => s.resource('note://a', {}, () => 'x').remove()],
    ['the text of a template', 'doc://%7Bid%7D/x'],
    ['unknown to its template', 'doc://1', (s) => s.resource('doc://{id}', {}, () => undefined)],
    ['empty', 'note://c', (s) => s.resource('note://c', {}, () => [])],
    ['named like a property', 'constructor:x'],
  ])('L-25 L-26 P-14 a resource that is %s is missing, with its URI', async (_what, uri, register) => {
    const server = mcp()
    server.resource('note://z', {}, () => 'x')
    register?.(server)
    if (!register) server.resource('doc://{id}', {}, () => 'x')
    const { status, message } = await (await on(server)).request('resources/read', { uri })
    expect({ status, error: message.error }).toEqual({
      status: 200,
      error: { code: missing, message: 'there is no such resource', data: { uri } },
    })
  })

  test('L-25 a failure inside is an internal error, without its text', async () => {
    const server = mcp()
    const thrown: unknown[] = [new Error('private-1'), 'private-2', undefined]
    server.resource('throws://{n}', {}, ({ n }) => {
      throw thrown[Number(n)]
    })
    const returned: unknown[] = [
      null,
      5,
      { text: 'private-3' },
      [{ uri: 'note://a' }],
      [{ text: 'private-4' }],
      [{ uri: 'a b', text: 'private-5' }],
    ]
    server.resource('returns://{n}', {}, ({ n }) => returned[Number(n)] as string)
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    for (const uri of [...thrown.keys()]
      .map((n) => `throws://${n}`)
      .concat([...returned.keys()].map((n) => `returns://${n}`))) {
      const { message, text } = await client.request('resources/read', { uri })
      expect(message.error, uri).toEqual({ code: -32603, message: 'internal error' })
      expect(text).not.toContain('private')
    }
    expect(reported).toHaveLength(thrown.length + returned.length)
  })

  test('L-26 L-25 P-14 the app says itself that there is none, with whatever code', async () => {
    const server = mcp()
    server.resource('own://{n}', {}, ({ n }) => {
      throw new McpError(Number(n), 'gone', { at: 1 })
    })
    const client = await on(server)
    for (const code of [-32002, -32602]) {
      const { message } = await client.request('resources/read', { uri: `own://${code}` })
      expect(message.error).toEqual({ code: code === -32002 ? missing : code, message: 'gone', data: { at: 1 } })
    }
  })

  test.each([
    undefined,
    5,
    null,
    '',
    'a',
    'a b',
    '/etc/passwd',
    'note://a b',
    'note://<a>',
    'note://a\\b',
    'note://{id}',
    ['note://a'],
  ])('L-27 L-28 the URI %j is none', async (uri) => {
    const server = mcp()
    let runs = 0
    server.resource('note://{+id}', {}, () => {
      runs++
      return 'x'
    })
    const client = await on(server)
    const { message } = await client.request('resources/read', { uri })
    // In the modern era the header Mcp-Name must say the same, and so it must be sayable.
    expect([-32602, -32020]).toContain(message.error?.code)
    expect(runs).toBe(0)
  })

  test.each([
    'file:///root/../etc/passwd',
    'file:///root/a/../../etc/passwd',
    'file:///root/..',
    'file:///root/%2e%2e/etc/passwd',
    'file:///root/.%2E/etc/passwd',
    'file:///root/%2e%2e%2fetc%2fpasswd',
    'file:///root/..%2Fetc',
    'file:///root/..%5cetc',
    'file:///root/%252e%252e%252fetc',
    'file:///root/a%00.txt',
    'file:///root/a/..',
  ])('L-27 %s is refused before the handler', async (uri) => {
    const server = mcp()
    const read: string[] = []
    for (const template of [
      'file:///{+path}',
      'file:///root/{+path}',
      'file:///root/{path}',
      'file:///root{/a}',
      'file:///root{/a,b,c}',
      'file:///root/{a}/{+b}',
    ]) {
      server.resource(template, {}, (_variables, ctx) => {
        read.push(ctx.uri)
        return 'private'
      })
    }
    const { message } = await (await on(server)).request('resources/read', { uri })
    expect(message.error?.code).toBe(missing)
    expect(read).toEqual([])
  })

  // Each variable is looked at by itself, `ctx.uri` and what a handler puts together is not.
  test('L-27 variables that climb only together do not reach the handler', async () => {
    const server = mcp()
    const read: string[] = []
    for (const template of ['file:///root/{a}{b}/{+c}', 'file:///pub/{a}./{+c}', 'file:///doc/{a}{.b}/{+c}']) {
      server.resource(template, {}, (_variables, ctx) => {
        read.push(ctx.uri)
        return 'private'
      })
    }
    const client = await on(server)
    for (const uri of ['file:///root/../etc/passwd', 'file:///pub/../etc/passwd', 'file:///root/.%2e/etc/passwd']) {
      await client.request('resources/read', { uri })
    }
    expect(read).toEqual([])
  })

  test('L-27 dots that do not climb are names', async () => {
    const server = mcp()
    server.resource('file:///root/{+path}', {}, echo)
    const client = await on(server)
    for (const path of ['a..b', '...', '..a/b..', '.hidden', 'a/./b']) {
      expect(await contentsOf(client, `file:///root/${path}`)).toMatchObject([{ text: JSON.stringify({ path }) }])
    }
  })

  test('L-28 L-34 P-22 Q-43 what the listings show', async () => {
    const server = mcp()
    const annotations = { audience: ['user' as const], priority: 1, lastModified: '2025-01-12T15:00:58Z' }
    const icons = [{ src: 'https://x.example/i.png' }]
    const all = { name: 'n', title: 'T', description: 'd', mimeType: 'text/plain', annotations, icons, _meta: { a: 1 } }
    server.resource('note://plain', {}, () => 'x')
    server.resource('note://full', { ...all, size: 5 }, () => 'x')
    server.resource(
      'doc://{id}',
      {
        ...all,
        list: () => [
          { ...all, uri: 'doc://1', size: 6 },
          { uri: 'doc://2', name: 'two' },
        ],
      },
      () => 'x',
    )
    const client = await on(server)
    const known = {
      name: 'n',
      description: 'd',
      mimeType: 'text/plain',
      annotations: version === '2025-03-26' ? { audience: ['user'], priority: 1 } : annotations,
      ...(version > '2025-03-26' ? { title: 'T', _meta: { a: 1 } } : {}),
      ...(version > '2025-06-18' ? { icons } : {}),
    }
    expect(await listed(client, 'resources/list')).toEqual([
      { uri: 'note://plain', name: 'note://plain' },
      { uri: 'note://full', ...known, size: 5 },
      { uri: 'doc://1', ...known, size: 6 },
      { uri: 'doc://2', name: 'two', mimeType: 'text/plain' },
    ])
    expect(await listed(client, 'resources/templates/list')).toEqual([{ uriTemplate: 'doc://{id}', ...known }])
  })

  test('L-28 a template that lists what is no resource is an internal error', async () => {
    for (const one of [{ uri: 'a b', name: 'a' }, { uri: 'doc://1' }, { name: 'a' }]) {
      const server = mcp()
      server.resource('doc://{id}', { list: () => [one as never] }, () => 'x')
      const { message } = await (await on(server)).request('resources/list')
      expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    }
  })
})

describe('L-28 templates', () => {
  // The variables of RFC 6570, 3.2, and what its sections say that they expand to.
  const values: Record<string, string> = {
    var: 'value',
    hello: 'Hello World!',
    path: '/foo/bar',
    empty: '',
    x: '1024',
    y: '768',
    half: '50%',
    who: 'fred',
  }

  test.each<[number, string, string, ...string[]]>([
    [1, '{var}', 'value', 'var'],
    [1, '{hello}', 'Hello%20World%21', 'hello'],
    [1, '{half}', '50%25', 'half'],
    [1, '{path}', '%2Ffoo%2Fbar', 'path'],
    [2, '{+var}', 'value', 'var'],
    [2, '{+hello}', 'Hello%20World!', 'hello'],
    [2, '{+half}', '50%25', 'half'],
    [2, '{+path}/here', '/foo/bar/here', 'path'],
    [2, 'here?ref={+path}', 'here?ref=/foo/bar', 'path'],
    [2, 'up{+path}{var}/here', 'up/foo/barvalue/here'],
    [2, 'X{#var}', 'X#value', 'var'],
    [2, 'X{#hello}', 'X#Hello%20World!', 'hello'],
    [3, 'map?{x,y}', 'map?1024,768', 'x', 'y'],
    [3, '{x,hello,y}', '1024,Hello%20World%21,768', 'x', 'hello', 'y'],
    [3, '{+x,hello,y}', '1024,Hello%20World!,768', 'x', 'hello', 'y'],
    [3, '{+path,x}/here', '/foo/bar,1024/here', 'path', 'x'],
    [3, 'X{#x,hello,y}', 'X#1024,Hello%20World!,768', 'x', 'hello', 'y'],
    [3, 'X{#path,x}/here', 'X#/foo/bar,1024/here', 'path', 'x'],
    [3, 'X{.var}', 'X.value', 'var'],
    [3, 'X{.x,y}', 'X.1024.768', 'x', 'y'],
    [3, 'X{.half,who}', 'X.50%25.fred', 'half', 'who'],
    [3, 'X{/var}', 'X/value', 'var'],
    [3, 'X{/var,x}/here', 'X/value/1024/here', 'var', 'x'],
    [3, 'X{;x,y}', 'X;x=1024;y=768', 'x', 'y'],
    [3, 'X{;x,y,empty}', 'X;x=1024;y=768;empty', 'x', 'y', 'empty'],
    [3, 'X{?x,y}', 'X?x=1024&y=768', 'x', 'y'],
    [3, 'X{?x,y,empty}', 'X?x=1024&y=768&empty=', 'x', 'y', 'empty'],
    [3, 'X?fixed=yes{&x}', 'X?fixed=yes&x=1024', 'x'],
    [3, 'X?a=b{&x,y,empty}', 'X?a=b&x=1024&y=768&empty=', 'x', 'y', 'empty'],
    [3, 'X{?x,y}', 'X?y=768', 'y'],
    [3, 'X{?x,y}', 'X'],
    [3, 'X{;x,y,empty}', 'X;empty', 'empty'],
    [3, 'X{/var}{?x,y}{#hello}', 'X/value?y=768#Hello%20World!', 'var', 'y', 'hello'],
  ])('L-28 level %i: %s makes %s, and gets its variables back', async (_level, template, expanded, ...names) => {
    const server = mcp()
    server.resource(`x://h/${template}`, {}, echo)
    const client = modern(scene({}, server).transport)
    const [{ text }] = (await contentsOf(client, `x://h/${expanded}`)) as unknown as [{ text: string }]
    // Two variables without anything in between can be told apart in more than one way.
    const found = JSON.parse(text) as Record<string, string>
    if (template.includes('}{var}')) expect(`${found.path}${found.var}`).toBe(`${values.path}${values.var}`)
    else expect(found).toEqual(Object.fromEntries(names.map((name) => [name, values[name]])))
  })

  test.each<[string, string]>([
    ['{var}', ''],
    ['{var}', 'a/b'],
    ['{var}', 'a?b=c'],
    ['{var}', 'a#b'],
    ['{var}/x', 'a/y'],
    ['a{var}', 'ba'],
    ['{x,y}', '1'],
    ['{x}', '%'],
    ['{x}', '%FF'],
    ['X{?x}', 'X?z=1'],
    ['X{?x}', 'X?x=1&z=1'],
    ['X{?x,y}', 'X?y=1&x=2'],
    ['X{/a}', 'X/'],
    ['X{.a}', 'X'],
  ])('L-28 %s does not make %s', async (template, uri) => {
    const server = mcp()
    server.resource(`x://h/${template}`, {}, echo)
    const { message } = await modern(scene({}, server).transport).request('resources/read', { uri: `x://h/${uri}` })
    expect(message.error?.code).toBe(-32602)
  })

  test('L-28 a fixed one comes before a template, and a template before those after it', async () => {
    const server = mcp()
    server.resource('x://h/{a}', {}, () => 'first')
    server.resource('x://h/{b}', {}, () => 'second')
    const fixed = server.resource('x://h/fixed', {}, () => 'fixed')
    const client = modern(scene({}, server).transport)
    expect(await contentsOf(client, 'x://h/fixed')).toMatchObject([{ text: 'fixed' }])
    fixed.disable()
    expect(await contentsOf(client, 'x://h/fixed')).toMatchObject([{ text: 'first' }])
  })

  test.each([
    'x://h/{',
    'x://h/}',
    'x://h/{a',
    'x://h/a}',
    'x://h/{}',
    'x://h/{a,}',
    'x://h/{,a}',
    'x://h/{a b}',
    'x://h/{a*}',
    'x://h/{a:3}',
    'x://h/{{a}}',
    'x://h/{=a}',
    'x://h/{!a}',
    'x://h/{|a}',
    'x://h/{?}',
    'x://h/{a}{a}',
    'x://h/{a,a}',
    'x://h/<{a}>',
    'x://h/%zz{a}',
    'x://h/ {a}',
  ])('L-28 %j is no template', (template) => {
    expect(() => mcp().resource(template, {}, () => 'x')).toThrow(/^resource ".*": /)
  })

  test.each([
    '',
    'a',
    '/a',
    'note',
    'note://a b',
    'note://<a>',
    'note://"',
    'note://a\\b',
    'note://`',
    '//h/a',
    'http://',
  ])('L-28 L-27 %j is no URI', (uri) => {
    expect(() => mcp().resource(uri, {}, () => 'x')).toThrow('not a URI')
  })

  test.each([
    'note://a',
    'urn:isbn:0451450523',
    'https://own.example/a?b=c#d',
    'file:///a%20b',
    'git+ssh://x/y',
    'mailto:a@b.example',
  ])('L-28 %s is a URI', async (uri) => {
    const server = mcp()
    server.resource(uri, {}, () => 'x')
    expect(await contentsOf(modern(scene({}, server).transport), uri)).toEqual([{ uri, text: 'x' }])
  })

  test('L-27 a long URI costs no more than its length', async () => {
    const server = mcp()
    server.resource('x://h/{a}-{b}-{c}-{d}-{e}-{f}!', {}, echo)
    server.resource('x://h/{+a}/{+b}/{+c}/{+d}?{+e}', {}, echo)
    const client = modern(scene({}, server).transport)
    const started = performance.now()
    for (const uri of [`x://h/${'-'.repeat(8000)}`, `x://h/${'/'.repeat(8000)}`, `x://h/${'a'.repeat(20_000)}!`]) {
      expect((await client.request('resources/read', { uri })).message.error?.code).toBe(-32602)
    }
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

test.each<[string, string, object]>([
  ['size', 'note://{a}', { size: 5 }],
  ['list', 'note://a', { list: () => [] }],
  ['complete', 'note://a', { complete: {} }],
  ['size', 'note://a', { size: -1 }],
  ['mimeType', 'note://a', { mimeType: 'text' }],
  ['annotations.priority', 'note://a', { annotations: { priority: 2 } }],
  ['annotations.lastModified', 'note://{a}', { annotations: { lastModified: 'yesterday' } }],
  ['annotations.audience.0', 'note://{a}', { annotations: { audience: ['all'] } }],
  ['icons.0.src', 'note://a', { icons: [{ src: 'javascript:alert(1)' }] }],
  ['complete.b', 'note://{a}', { complete: { b: () => [] } }],
  ['mimetype', 'note://{a}', { mimetype: 'text/plain' }],
])('L-34 L-28 option %s of %s: %j', (option, uri, config) => {
  expect(() => mcp().resource(uri, config, () => 'x')).toThrow(`resource ${uri}: option ${option}: `)
})

test('L-28 a URI or template that is taken is an error', () => {
  const server = mcp()
  for (const uri of ['note://a', 'note://{a}']) {
    server.resource(uri, {}, () => 'x')
    expect(() => server.resource(uri, {}, () => 'x')).toThrow(`resource "${uri}" is registered already`)
  }
  expect(() => server.resource('note://b', {}, undefined as never)).toThrow('read must be a function')
})
