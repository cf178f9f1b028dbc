// Listings: their order, their pages, what they cost, and their fingerprints.

import * as v from 'valibot'
import { describe, expect, test, vi } from 'vitest'
import {
  ALL_VERSIONS,
  type Client,
  clientOf,
  LEGACY_VERSIONS,
  legacy,
  MODERN,
  modern,
  type Params,
} from '../../packages/core/test-support/clients.ts'
import { listed, mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

type Server = ReturnType<typeof mcp>

const NAMES = ['zeta', 'Alpha', 'mid', '世界', 'b b']

/** Each listing: how to fill it, and what its items go by. */
const KINDS: readonly [string, string, string, (server: Server, name: string) => { remove(): void }][] = [
  ['tools/list', 'tools', 'name', (s, name) => s.tool(name, {}, () => 'x')],
  ['prompts/list', 'prompts', 'name', (s, name) => s.prompt(name, {}, () => 'x')],
  ['resources/list', 'resources', 'name', (s, name) => s.resource(uriOf(name), { name }, () => 'x')],
  [
    'resources/templates/list',
    'resourceTemplates',
    'name',
    (s, name) => s.resource(`${uriOf(name)}/{x}`, { name }, () => 'x'),
  ],
]

const uriOf = (name: string) => `note://${encodeURIComponent(name)}`

function made(fill: (server: Server, name: string) => unknown, names: readonly string[] = NAMES): Server {
  const server = mcp({ pageSize: 2, onWarning: () => {} })
  for (const name of names) fill(server, name)
  return server
}

/** The pages from one client to the next, so that each may be on another node. */
async function pages(clients: Client[], method: string, key: string): Promise<string[][]> {
  const found: string[][] = []
  for (let params: Params | undefined, i = 0; ; i++) {
    const result = resultOf(await clients[i % clients.length]!.request(method, params))
    found.push((result[key] as { name: string }[]).map(({ name }) => name))
    if (!('nextCursor' in result)) return found
    expect(result.nextCursor).toEqual(expect.stringMatching(/./))
    params = { cursor: result.nextCursor }
  }
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const onNode = (server: Server) => clientOf(scene({}, server).transport, version)

  describe.each(KINDS)('%s', (method, key, _named, fill) => {
    test('L-05 L-04 Q-43 Q-45 pages of two, the last one without a cursor, on two nodes with the same registrations', async () => {
      const clients = [await onNode(made(fill)), await onNode(made(fill))]
      expect(await pages(clients, method, key)).toEqual([['zeta', 'Alpha'], ['mid', '世界'], ['b b']])
      expect(await pages(clients.reverse(), method, key)).toEqual([['zeta', 'Alpha'], ['mid', '世界'], ['b b']])
    })

    test('L-05 a whole number of pages ends without an empty one', async () => {
      expect(await pages([await onNode(made(fill, NAMES.slice(0, 4)))], method, key)).toHaveLength(2)
    })

    test.each(['junk', '', 'MA==', '0', 5, null, {}, [], true])(
      'L-05 Q-45 the cursor %j is refused',
      async (cursor) => {
        const client = await onNode(made(fill))
        const { message } = await client.request(method, { cursor })
        expect(message.error).toMatchObject({ code: -32602, message: 'params.cursor is not valid' })
      },
    )

    test('L-05 a cursor that was tampered with, or is of another listing, is refused', async () => {
      const client = await onNode(made(fill))
      const { nextCursor } = resultOf<{ nextCursor: string }>(await client.request(method))
      const [sum, position, ...name] = atob(nextCursor).split(' ')
      const tampered = btoa([sum, Number(position) + 1, ...name].join(' '))
      for (const cursor of [tampered, `${nextCursor}x`, nextCursor.slice(1), nextCursor.toLowerCase()]) {
        expect((await client.request(method, { cursor })).message.error?.code).toBe(-32602)
      }
      for (const [other, otherKey, , fillOther] of KINDS.filter(([one]) => one !== method)) {
        const { message } = await (await onNode(made(fillOther))).request(other, { cursor: nextCursor })
        expect(message.error?.code, otherKey).toBe(-32602)
      }
    })

    test('L-05 a cursor goes on after its item, wherever that is by now; or from its place, when it is gone', async () => {
      const server = mcp({ pageSize: 2, onWarning: () => {} })
      const registered = new Map(NAMES.map((name) => [name, fill(server, name)]))
      const client = await onNode(server)
      const { nextCursor: cursor } = resultOf(await client.request(method))
      const next = async () => (await listed<{ name: string }>(client, method, { cursor })).map(({ name }) => name)
      expect(await next()).toEqual(['mid', '世界'])
      registered.get('zeta')!.remove()
      expect(await next()).toEqual(['mid', '世界'])
      registered.get('Alpha')!.remove()
      for (const name of await next()) expect(NAMES).toContain(name)
    })

    test('L-03 L-04 the same list for every connection, whatever was called before', async () => {
      const { transport } = scene({}, made(fill))
      const one = await clientOf(transport, version)
      const before = (await one.request(method, {}, { id: 'same' })).text
      await one.call('zeta')
      await one.request('prompts/get', { name: 'zeta' })
      await one.request('resources/read', { uri: 'note://zeta' })
      const two = await clientOf(transport, version)
      expect((await two.request(method, {}, { id: 'same' })).text).toBe(before)
      expect((await one.request(method, {}, { id: 'same' })).text).toBe(before)
    })
  })

  test('L-05 what templates list is paged too: fixed ones first, each URI once', async () => {
    const make = () => {
      const server = mcp({ pageSize: 2 })
      const list = () => ['1', '2', '3'].map((id) => ({ uri: `doc://${id}`, name: id }))
      server.resource('doc://{id}', { list }, ({ id }) => id)
      server.resource('doc://2', { name: 'fixed 2' }, () => 'x')
      server.resource('doc://a', { name: 'a' }, () => 'x')
      return server
    }
    const clients = [await onNode(make()), await onNode(make())]
    expect(await pages(clients, 'resources/list', 'resources')).toEqual([
      ['fixed 2', 'a'],
      ['1', '3'],
    ])
  })
})

test('L-04 the order is that of registration; what is enabled again is where it was', async () => {
  const server = mcp()
  const registered = ['c', 'a', 'b'].map((name) => server.tool(name, {}, () => 'x'))
  const client = modern(scene({}, server).transport)
  const names = async () => (await listed(client, 'tools/list')).map(({ name }) => name)
  registered[1]!.disable()
  expect(await names()).toEqual(['c', 'b'])
  registered[1]!.enable()
  expect(await names()).toEqual(['c', 'a', 'b'])
  registered[0]!.remove()
  server.tool('c', {}, () => 'x')
  expect(await names()).toEqual(['a', 'b', 'c'])
})

test('L-03 L-33 what a template lists may depend on who asks', async () => {
  const server = mcp()
  server.resource(
    'doc://{id}',
    { list: ({ principal }) => [{ uri: `doc://${principal?.id}`, name: 'own' }] },
    ({ id }) => id,
  )
  const auth = (request: Request) => ({ id: request.headers.get('x-user') ?? 'nobody' })
  const { transport } = scene({ auth }, server)
  for (const user of ['ada', 'bob']) {
    for (const version of ALL_VERSIONS) {
      const client =
        version === MODERN
          ? modern(transport, { 'x-user': user })
          : await legacy(transport, version, { headers: { 'x-user': user } })
      expect((await listed(client, 'resources/list')).map(({ uri }) => uri)).toEqual([`doc://${user}`])
    }
  }
})

describe('two hundred tools', () => {
  const COUNT = 200

  test('L-04 a schema of each is converted once, whatever is asked, in whatever revision', async () => {
    const toJson = vi.fn(() => ({ type: 'object', properties: {} }))
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'spy',
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: toJson, output: toJson },
      },
    }
    const server = mcp()
    for (let i = 0; i < COUNT; i++) server.tool(`t${i}`, { inputSchema: schema, outputSchema: schema }, () => ({}))
    const { transport } = scene({}, server)
    for (const version of ALL_VERSIONS) {
      const client = await clientOf(transport, version)
      for (let i = 0; i < 3; i++) expect(await listed(client, 'tools/list')).toHaveLength(COUNT)
      await client.call('t0')
    }
    expect(toJson).toHaveBeenCalledTimes(2 * COUNT)
  })

  /** A server of valibot tools that counts how often their schemas are looked at. */
  function watched() {
    const looks = { count: 0 }
    const server = mcp()
    for (let i = 0; i < COUNT; i++) {
      const schema = v.object({ a: v.string() })
      const { entries } = schema
      const get = () => {
        looks.count++
        return entries
      }
      Object.defineProperty(schema, 'entries', { get, enumerable: true })
      server.tool(`t${i}`, { inputSchema: schema }, () => 'x')
    }
    return { looks, transport: scene({}, server).transport }
  }

  test('L-04 a valibot schema is looked at for no listing after the first, and once for all that come together', async () => {
    const alone = watched()
    await modern(alone.transport).request('tools/list')
    const { looks, transport } = watched()
    const client = modern(transport)
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.request('tools/list', {}, { id: 1 })))
    expect(looks.count).toBe(alone.looks.count)
    expect(looks.count).toBeGreaterThanOrEqual(2 * COUNT) // at the registration, and now
    for (const version of LEGACY_VERSIONS) {
      expect(await listed(await legacy(transport, version), 'tools/list')).toHaveLength(COUNT)
    }
    const { text } = await client.request('tools/list', {}, { id: 1 })
    expect(answers.map((answer) => answer.text)).toEqual(Array(5).fill(text))
    expect(looks.count).toBe(alone.looks.count)
  })
})

describe('fingerprints', () => {
  /** Of all variants, so that no two are alike. */
  const prints: string[] = []
  const print = (server: Server) => server.describe(MODERN).fingerprints
  const base = (server: Server) => {
    server.tool('t', { description: 'd', inputSchema: v.object({ a: v.string() }) }, () => 'x')
    server.prompt('p', { argsSchema: v.object({ a: v.string() }) }, () => 'x')
    server.resource('note://a', { name: 'a' }, () => 'x')
    return server
  }

  test('I-08 L-03 the same registrations have the same ones, in every revision, before and after a listing', async () => {
    const one = base(mcp())
    const two = base(mcp())
    const before = print(one)
    expect(print(two)).toEqual(before)
    await listed(modern(scene({}, one).transport), 'tools/list') // the schema is converted now
    one.tool('gone', {}, () => 'x').remove() // and looked at anew
    expect(print(one)).toEqual(before)
    for (const version of LEGACY_VERSIONS) expect(one.describe(version).fingerprints).toEqual(before)
    expect(new Set(Object.values(before)).size).toBe(3)
  })

  type Kind = 'tools' | 'prompts' | 'resources'
  test.each<[string, Kind, (server: Server) => void]>([
    ['another tool', 'tools', (s) => s.tool('u', {}, () => 'x')],
    ['a tool of another description', 'tools', (s) => s.tool('u', { description: 'd' }, () => 'x')],
    ['a tool of another schema', 'tools', (s) => s.tool('u', { inputSchema: v.object({ b: v.number() }) }, () => 'x')],
    [
      'a tool of another limit',
      'tools',
      (s) => s.tool('u', { inputSchema: v.object({ b: v.pipe(v.number(), v.minValue(5)) }) }, () => 'x'),
    ],
    [
      'a tool of a pattern',
      'tools',
      (s) => s.tool('u', { inputSchema: v.object({ b: v.pipe(v.string(), v.regex(/a/)) }) }, () => 'x'),
    ],
    [
      'a tool of another pattern',
      'tools',
      (s) => s.tool('u', { inputSchema: v.object({ b: v.pipe(v.string(), v.regex(/b/)) }) }, () => 'x'),
    ],
    [
      'a tool of an output',
      'tools',
      (s) => s.tool('u', { outputSchema: v.object({ b: v.number() }) }, () => ({ b: 1 })),
    ],
    ['a tool of icons', 'tools', (s) => s.tool('u', { icons: [{ src: 'https://x.example/i.png' }] }, () => 'x')],
    ['another prompt', 'prompts', (s) => s.prompt('q', {}, () => 'x')],
    ['a prompt of arguments', 'prompts', (s) => s.prompt('q', { argsSchema: v.object({ b: v.string() }) }, () => 'x')],
    ['another resource', 'resources', (s) => s.resource('note://b', {}, () => 'x')],
    ['a resource of a size', 'resources', (s) => s.resource('note://b', { size: 5 }, () => 'x')],
    ['a template', 'resources', (s) => s.resource('note://{b}/c', {}, () => 'x')],
  ])('I-08 %s changes that of %s alone', (_what, kind, change) => {
    const before = print(base(mcp()))
    const server = base(mcp())
    change(server)
    const after = print(server)
    for (const one of ['tools', 'prompts', 'resources'] as const) {
      if (one === kind) expect(after[one]).not.toBe(before[one])
      else expect(after[one]).toBe(before[one])
    }
    prints.push(after[kind])
    expect(new Set(prints).size).toBe(prints.length)
  })
})
