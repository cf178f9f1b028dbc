import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, MODERN, modern } from '../../test-support/clients.ts'
import { mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import type { McpServer } from './index.ts'

const CITIES = ['Oslo', 'Olten', 'Paris']
const many = Array.from({ length: 150 }, (_, i) => `n${i}`)

function server(): McpServer {
  const server = mcp()
  const argsSchema = v.object({ city: v.string(), street: v.optional(v.string()), many: v.optional(v.string()) })
  const complete = {
    city: (value: string) => CITIES.filter((city) => city.startsWith(value)),
    street: async (value: string, _ctx: unknown, others?: Readonly<Record<string, string>>) =>
      others?.city === 'Oslo' ? [`${value}gate`] : [`${value}street`],
    many: () => many,
  }
  server.prompt(
    'go',
    { argsSchema: v.object({ ...argsSchema.entries, plain: v.optional(v.string()) }), complete },
    () => 'x',
  )
  server.prompt('bare', {}, () => 'x')
  server.resource('map://{city}/{street}', { complete: { city: complete.city } }, () => 'x')
  server.resource('map://all', {}, () => 'x')
  return server
}

const GO = { type: 'ref/prompt', name: 'go' }
const MAP = { type: 'ref/resource', uri: 'map://{city}/{street}' }

describe.each(ALL_VERSIONS)('%s', (version) => {
  async function complete(ref: unknown, name: unknown, value: unknown = '', more: object = {}, on = server()) {
    const { transport, reported } = scene({}, on)
    const client = await clientOf(transport, version)
    const answer = await client.request('completion/complete', { ref, argument: { name, value }, ...more })
    return { ...answer, completion: answer.message.result?.completion, reported }
  }

  test('L-31 L-32 of a prompt and of a template', async () => {
    const expected = { values: ['Oslo', 'Olten'], total: 2, hasMore: false }
    for (const ref of [GO, MAP]) expect((await complete(ref, 'city', 'O')).completion).toEqual(expected)
    expect((await complete(GO, 'city', 'x')).completion).toEqual({ values: [], total: 0, hasMore: false })
  })

  test('L-31 100 values at most, and how many there are', async () => {
    expect((await complete(GO, 'many')).completion).toEqual({ values: many.slice(0, 100), total: 150, hasMore: true })
    const exactly = mcp()
    exactly.resource('a://{b}', { complete: { b: () => many.slice(0, 100) } }, () => 'x')
    const { completion } = await complete({ type: 'ref/resource', uri: 'a://{b}' }, 'b', '', {}, exactly)
    expect(completion).toMatchObject({ total: 100, hasMore: false })
  })

  test('L-32 an argument without suggestions has none', async () => {
    const none = { values: [], total: 0, hasMore: false }
    expect((await complete(GO, 'plain')).completion).toEqual(none)
    expect((await complete(MAP, 'street')).completion).toEqual(none)
  })

  test('L-32 P-22 the other arguments refine it, from 2025-06-18 on', async () => {
    const context = { arguments: { city: 'Oslo' } }
    const isOld = version === '2025-03-26'
    expect((await complete(GO, 'street', 'a', { context })).completion).toMatchObject({
      values: [isOld ? 'astreet' : 'agate'],
    })
    expect((await complete(GO, 'street', 'a')).completion).toMatchObject({ values: ['astreet'] })
    const { message } = await complete(GO, 'street', 'a', { context: { arguments: { city: 5 } } })
    expect(message.error?.code).toBe(isOld ? undefined : -32602)
  })

  test.each<[string, unknown, unknown, unknown]>([
    ['an unknown prompt', { type: 'ref/prompt', name: 'nope' }, 'city', ''],
    ['an unknown template', { type: 'ref/resource', uri: 'map://{city}' }, 'city', ''],
    ['an unknown kind', { type: 'ref/tool', name: 'go' }, 'city', ''],
    ['no ref', undefined, 'city', ''],
    ['a ref that is a text', 'go', 'city', ''],
    ['a ref without a name', { type: 'ref/prompt' }, 'city', ''],
    ['an unknown argument', GO, 'nope', ''],
    ['an argument of every object', GO, 'constructor', ''],
    ['an unknown variable', MAP, 'nope', ''],
    ['a prompt without arguments', { type: 'ref/prompt', name: 'bare' }, 'city', ''],
    ['a resource without variables', { type: 'ref/resource', uri: 'map://all' }, 'city', ''],
    ['no argument', GO, undefined, ''],
    ['a value that is no text', GO, 'city', 5],
  ])('L-32 L-33 %s: -32602', async (_, ref, name, value) => {
    const { status, message, reported } = await complete(ref, name, value)
    expect(status).toBe(200)
    expect(message.error?.code).toBe(-32602)
    expect(reported).toEqual([])
  })

  test('L-33 nothing is suggested for what is disabled', async () => {
    const on = mcp()
    const registered = on.resource('a://{b}', { complete: { b: () => ['x'] } }, () => 'x')
    registered.disable()
    const { message } = await complete({ type: 'ref/resource', uri: 'a://{b}' }, 'b', '', {}, on)
    expect(message.error).toMatchObject({ code: -32602, message: 'params.ref names nothing that is here' })
  })

  test.each([5, 'text', [5], { a: 1 }])('L-31 suggestions that are %j are an internal error', async (value) => {
    const on = mcp()
    on.resource('a://{b}', { complete: { b: () => value as never } }, () => 'x')
    const { message, reported } = await complete({ type: 'ref/resource', uri: 'a://{b}' }, 'b', '', {}, on)
    expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    expect(reported).toHaveLength(1)
  })

  test('L-32 G-14 a server that completes nothing has no such method', async () => {
    const on = mcp()
    on.prompt('p', { argsSchema: v.object({ a: v.string() }) }, () => 'x')
    const { status, message } = await complete({ type: 'ref/prompt', name: 'p' }, 'a', '', {}, on)
    expect({ status, code: message.error?.code }).toEqual({ status: version === MODERN ? 404 : 200, code: -32601 })
  })
})

test('L-33 a handler knows who asks', async () => {
  const on = mcp()
  on.resource('a://{b}', { complete: { b: (value, ctx) => [`${value} ${ctx.principal?.id}`] } }, () => 'x')
  const { transport } = scene({ auth: () => ({ id: 'ada' }) }, on)
  const params = { ref: { type: 'ref/resource', uri: 'a://{b}' }, argument: { name: 'b', value: 'x' } }
  const { completion } = resultOf(await modern(transport).request('completion/complete', params))
  expect(completion).toMatchObject({ values: ['x ada'] })
})
