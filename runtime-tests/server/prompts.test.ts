// Prompts: their arguments, and what they return. Content of every kind: content.test.ts.
import { McpError, type PromptReturn } from '@fairlead/core'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, MODERN } from '../../packages/core/test-support/clients.ts'
import { listed, mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

const text = (value: string) => ({ type: 'text', text: value })
const TRIP = v.object({
  city: v.pipe(v.string(), v.title('City'), v.description('where to')),
  days: v.optional(v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number)), '1'),
})

function planner() {
  const server = mcp()
  let runs = 0
  server.prompt('plan', { title: 'Plan', description: 'a trip', argsSchema: TRIP }, ({ city, days }) => {
    runs++
    return `${city} ${days + 1}`
  })
  return { server, runs: () => runs }
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  test('L-29 L-34 P-22 what the listing shows', async () => {
    const { server } = planner()
    const icons = [{ src: 'https://x.example/i.png' }]
    server.prompt('plain', {}, () => 'x')
    server.prompt('shown', { icons, _meta: { a: 1 } }, () => 'x')
    const titled = version > '2025-03-26'
    expect(await listed(await clientOf(scene({}, server).transport, version), 'prompts/list')).toEqual([
      {
        name: 'plan',
        description: 'a trip',
        ...(titled ? { title: 'Plan' } : {}),
        arguments: [
          { name: 'city', description: 'where to', required: true, ...(titled ? { title: 'City' } : {}) },
          { name: 'days', required: false },
        ],
      },
      { name: 'plain' },
      { name: 'shown', ...(titled ? { _meta: { a: 1 } } : {}), ...(version > '2025-06-18' ? { icons } : {}) },
    ])
  })

  test('L-29 L-30 a handler gets what its schema makes of the arguments', async () => {
    const { server } = planner()
    const client = await clientOf(scene({}, server).transport, version)
    const get = async (args: object) => resultOf(await client.request('prompts/get', { name: 'plan', arguments: args }))
    const { description, messages } = await get({ city: 'Oslo', days: '2' })
    expect({ description, messages }).toEqual({
      description: 'a trip',
      messages: [{ role: 'user', content: text('Oslo 3') }],
    })
    expect(await get({ city: 'Oslo', surplus: 'x' })).toMatchObject({ messages: [{ content: text('Oslo 2') }] })
  })

  test.each<[string, unknown]>([
    ['none', undefined],
    ['no city', {}],
    ['a number', { city: 5 }],
    ['null', { city: null }],
    ['an object', { city: {} }],
    ['a surplus number', { city: 'Oslo', other: 5 }],
    ['what does not fit', { city: 'Oslo', days: 'two' }],
    ['a text', 'Oslo'],
    ['a list', ['Oslo']],
    ['null for all', null],
  ])('L-29 L-30 arguments: %s', async (_what, args) => {
    const { server, runs } = planner()
    const client = await clientOf(scene({}, server).transport, version)
    const { status, message } = await client.request('prompts/get', { name: 'plan', arguments: args })
    expect({ status, code: message.error?.code }).toEqual({ status: 200, code: -32602 })
    expect(message.error?.message).toMatch(
      /^(the arguments of plan are not valid: .*(city|days)|params.arguments must be an object of texts$)/,
    )
    expect(runs()).toBe(0)
  })

  test.each(['nope', 'Plan', '', '__proto__', 'constructor'])('L-29 the unknown name %j', async (name) => {
    const client = await clientOf(scene({}, planner().server).transport, version)
    const { message } = await client.request('prompts/get', { name, arguments: {} })
    expect(message.error).toEqual({ code: -32602, message: `there is no prompt ${JSON.stringify(name)}` })
  })

  test.each([undefined, 5, null, {}])('L-29 the name %j is none', async (name) => {
    const client = await clientOf(scene({}, planner().server).transport, version)
    const { message } = await client.request('prompts/get', { name, arguments: {} })
    expect(message.error?.code).toBe(version === MODERN ? -32020 : -32602)
  })

  test('L-29 a failure inside is an internal error, without its text; a McpError is the app’s own', async () => {
    const server = mcp()
    const thrown: unknown[] = [new Error('private-1'), 'private-2', null]
    const returned: unknown[] = [
      undefined,
      null,
      5,
      {},
      { role: 'user' },
      [{ role: 'system', content: text('private-3') }],
      [{ role: 'user' }],
      [null],
      ['x'],
    ]
    const n = v.object({ n: v.string() })
    server.prompt('throws', { argsSchema: n }, ({ n }) => {
      throw thrown[Number(n)]
    })
    server.prompt('returns', { argsSchema: n }, async ({ n }) => returned[Number(n)] as PromptReturn)
    server.prompt('tells', {}, () => {
      throw new McpError(-31000, 'not now')
    })
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    for (const [name, all] of [
      ['throws', thrown],
      ['returns', returned],
    ] as const) {
      for (const n of all.keys()) {
        const { message, text } = await client.request('prompts/get', { name, arguments: { n: String(n) } })
        expect(message.error, `${name} ${n}`).toEqual({ code: -32603, message: 'internal error' })
        expect(text).not.toContain('private')
      }
    }
    expect(reported).toHaveLength(thrown.length + returned.length)
    expect((await client.request('prompts/get', { name: 'tells' })).message.error).toEqual({
      code: -31000,
      message: 'not now',
    })
  })

  test('L-29 no messages are messages, and roles stay as they are', async () => {
    const server = mcp()
    server.prompt('empty', {}, () => [])
    server.prompt('talk', {}, () => [
      { role: 'user', content: { type: 'text', text: 'a' } },
      { role: 'assistant', content: { type: 'text', text: 'b' } },
    ])
    const client = await clientOf(scene({}, server).transport, version)
    expect(resultOf(await client.request('prompts/get', { name: 'empty' })).messages).toEqual([])
    expect(resultOf(await client.request('prompts/get', { name: 'talk', arguments: {} })).messages).toEqual([
      { role: 'user', content: text('a') },
      { role: 'assistant', content: text('b') },
    ])
  })
})

test('L-30 L-33 a prompt knows who asks', async () => {
  const server = mcp()
  server.prompt('own', {}, (_args, ctx) => {
    if (!ctx.principal?.scopes?.includes('read')) throw new McpError(-32602, 'there is no prompt "own"')
    return ctx.principal.id
  })
  const auth = (request: Request) => ({ id: 'ada', scopes: [request.headers.get('x-scope') ?? 'none'] })
  const { transport } = scene({ auth }, server)
  for (const version of ALL_VERSIONS) {
    const client = await clientOf(transport, version)
    expect((await client.request('prompts/get', { name: 'own' })).message.error?.code).toBe(-32602)
    const asked = await client.request('prompts/get', { name: 'own' }, { headers: { 'x-scope': 'read' } })
    expect(resultOf(asked).messages).toEqual([{ role: 'user', content: text('ada') }])
  }
})

test.each<[string, object]>([
  ['title', { title: 5 }],
  ['icons.0.src', { icons: [{ src: 'http://x.example/i.png' }] }],
  ['arguments', { arguments: [] }],
  ['complete.a', { complete: { a: () => [] } }],
])('L-34 option %s of a prompt: %j', (option, config) => {
  expect(() => mcp().prompt('p', config, () => 'x')).toThrow(`prompt p: option ${option}: `)
})

test('L-29 names of prompts', () => {
  const { server } = planner()
  expect(() => server.prompt('plan', {}, () => 'x')).toThrow('prompt "plan" is registered already')
  for (const name of ['', 5, undefined]) {
    expect(() => server.prompt(name as string, {}, () => 'x')).toThrow('a prompt must have a name')
  }
  expect(() => server.prompt('p', {}, 'x' as never)).toThrow('prompt p: the handler must be a function')
})
