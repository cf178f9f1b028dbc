// completion/complete: suggestions for arguments of prompts and variables of templates.
import { McpError, type ProtocolVersion } from '@fairlead/core'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, type Client, clientOf, type Params } from '../../packages/core/test-support/clients.ts'
import { mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

const FRAMEWORKS: Readonly<Record<string, string[]>> = { python: ['fastapi', 'flask'], ruby: ['rails'] }
const prompt = (name: unknown = 'code') => ({ type: 'ref/prompt', name })
const template = (uri: unknown = 'doc://{shelf}/{page}') => ({ type: 'ref/resource', uri })

function suggesting() {
  const server = mcp()
  const argsSchema = v.object({ language: v.string(), framework: v.optional(v.string()), note: v.optional(v.string()) })
  server.prompt(
    'code',
    {
      argsSchema,
      complete: {
        language: (value) => Object.keys(FRAMEWORKS).filter((one) => one.includes(value)),
        framework: async (value, _ctx, { language } = {}) =>
          (language ? (FRAMEWORKS[language] ?? []) : Object.values(FRAMEWORKS).flat()).filter((one) =>
            one.startsWith(value),
          ),
      },
    },
    ({ language }) => language,
  )
  server.resource(
    'doc://{shelf}/{page}',
    { complete: { page: (value) => Array.from({ length: Number(value) }, (_, i) => `p${i}`) } },
    () => 'x',
  )
  return server
}

const ask = (client: Client, ref: unknown, name: unknown, value: unknown, more?: Params) =>
  client.request('completion/complete', { ref, argument: { name, value }, ...more })

describe.each(ALL_VERSIONS)('%s', (version) => {
  const on = (server = suggesting()) => clientOf(scene({}, server).transport, version)

  test.each([
    [0, 0, false],
    [1, 1, false],
    [100, 100, false],
    [101, 100, true],
    [150, 100, true],
  ])('L-31 of %i matches %i go out, in their order', async (count, length, hasMore) => {
    const { completion } = resultOf(await ask(await on(), template(), 'page', String(count)))
    expect(completion).toEqual({ values: Array.from({ length }, (_, i) => `p${i}`), total: count, hasMore })
  })

  test('L-31 L-32 an argument without suggestions has none', async () => {
    const client = await on()
    for (const [ref, name] of [
      [prompt(), 'note'],
      [template(), 'shelf'],
    ] as const) {
      expect(resultOf(await ask(client, ref, name, '')).completion).toEqual({ values: [], total: 0, hasMore: false })
    }
  })

  test('L-32 the order of the app is kept, and the arguments that are there refine, from 2025-06-18 on', async () => {
    const client = await on()
    const values = async (...args: [unknown, string, string, Params?]) =>
      resultOf<{ completion: { values: string[] } }>(await ask(client, ...args)).completion.values
    expect(await values(prompt(), 'language', 'y')).toEqual(['python', 'ruby'])
    expect(await values(prompt(), 'framework', 'f')).toEqual(['fastapi', 'flask'])
    const knows = version > '2025-03-26'
    const context = (language: string) => ({ context: { arguments: { language } } })
    expect(await values(prompt(), 'framework', '', context('ruby'))).toEqual(
      knows ? ['rails'] : ['fastapi', 'flask', 'rails'],
    )
    expect(await values(prompt(), 'framework', '', context('cobol'))).toHaveLength(knows ? 0 : 3)
    expect(await values(prompt(), 'framework', '', { context: {} })).toHaveLength(3)
  })

  test.each<[string, unknown, unknown, unknown]>([
    ['an unknown prompt', prompt('nope'), 'language', ''],
    ['a prompt by another case', prompt('Code'), 'language', ''],
    ['a prompt named like a property', prompt('constructor'), 'language', ''],
    ['a prompt of no name', prompt(5), 'language', ''],
    ['an unknown template', template('doc://{nope}'), 'page', ''],
    ['a URI that the template makes', template('doc://1/2'), 'page', ''],
    ['a template of no URI', template(null), 'page', ''],
    ['an unknown kind', { type: 'ref/tool', name: 'code' }, 'language', ''],
    ['no kind', { name: 'code' }, 'language', ''],
    ['no ref', undefined, 'language', ''],
    ['a ref that is a text', 'code', 'language', ''],
    ['an unknown argument', prompt(), 'nope', ''],
    ['an argument named like a property', prompt(), 'toString', ''],
    ['an argument of no name', prompt(), undefined, ''],
    ['a value that is a number', prompt(), 'language', 5],
    ['no value', prompt(), 'language', undefined],
    ['an unknown variable', template(), 'nope', ''],
  ])('L-32 L-33 %s', async (_what, ref, name, value) => {
    const { status, message } = await ask(await on(), ref, name, value)
    expect({ status, code: message.error?.code }).toEqual({ status: 200, code: -32602 })
  })

  test.each<[unknown]>([[5], [null], [{ arguments: 5 }], [{ arguments: { language: 5 } }], [{ arguments: [] }]])(
    'L-32 L-33 the context %j',
    async (context) => {
      const { message } = await ask(await on(), prompt(), 'framework', '', { context })
      if ((context as { arguments?: unknown } | null)?.arguments === undefined || version === '2025-03-26') {
        expect(message.result).toBeDefined()
      } else expect(message.error?.code).toBe(-32602)
    },
  )

  test('L-32 L-01 where nothing has suggestions there is no such method', async () => {
    const server = mcp()
    server.prompt('code', { argsSchema: v.object({ language: v.string() }) }, () => 'x')
    const { message } = await ask(await on(server), prompt(), 'language', '')
    expect(message.error?.code).toBe(-32601)
  })

  test('L-33 nothing is suggested of what is disabled or removed', async () => {
    const server = mcp()
    const complete = { a: () => ['private'] }
    const registered = [
      server.prompt('code', { argsSchema: v.object({ a: v.string() }), complete }, () => 'x'),
      server.resource('doc://{a}', { complete }, () => 'x'),
    ]
    const client = await on(server)
    const answers = () => Promise.all([ask(client, prompt(), 'a', ''), ask(client, template('doc://{a}'), 'a', '')])
    for (const one of registered) one.disable()
    for (const { message } of await answers()) expect(message.error?.code).toBe(-32602)
    for (const one of registered) one.enable()
    for (const { message } of await answers()) expect(message.result).toBeDefined()
    for (const one of registered) one.remove()
    for (const { message } of await answers()) expect(message.error?.code).toBe(-32602)
  })

  test('L-33 a failure inside tells nothing', async () => {
    const server = mcp()
    const returned: unknown[] = [[5], [null], 5]
    server.resource(
      'doc://{throws}/{returns}',
      {
        complete: {
          throws: () => {
            throw new Error('private-1')
          },
          returns: (value) => returned[Number(value)] as string[],
        },
      },
      () => 'x',
    )
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    const ref = template('doc://{throws}/{returns}')
    for (const [name, value] of [
      ['throws', ''],
      ['returns', '0'],
      ['returns', '1'],
      ['returns', '2'],
    ]) {
      const { message } = await ask(client, ref, name, value)
      expect(message.error, `${name} ${value}`).toEqual({ code: -32603, message: 'internal error' })
    }
    expect(reported).toHaveLength(4)
  })
})

test('L-33 suggestions know who asks, and a middleware can limit how often', async () => {
  const server = mcp()
  server.resource(
    'doc://{a}',
    { complete: { a: (_value, { principal }) => (principal?.scopes?.includes('read') ? ['own'] : []) } },
    () => 'x',
  )
  let left = 0
  server.use(({ method }, next) => {
    if (method === 'completion/complete' && left-- <= 0) throw new McpError(-31029, 'too many')
    return next()
  })
  const auth = (request: Request) => ({ id: 'u', scopes: [request.headers.get('x-scope') ?? ''] })
  const { transport } = scene({ auth }, server)
  for (const version of ALL_VERSIONS as readonly ProtocolVersion[]) {
    left = 2
    const client = await clientOf(transport, version)
    const params = { ref: template('doc://{a}'), argument: { name: 'a', value: '' } }
    expect(resultOf(await client.request('completion/complete', params)).completion).toMatchObject({ values: [] })
    const allowed = await client.request('completion/complete', params, { headers: { 'x-scope': 'read' } })
    expect(resultOf(allowed).completion).toMatchObject({ values: ['own'] })
    expect((await client.request('completion/complete', params)).message.error).toEqual({
      code: -31029,
      message: 'too many',
    })
  }
})

test('L-32 suggestions for what is not there are refused at registration', () => {
  const complete = { b: () => [] } as object
  expect(() => mcp().resource('doc://{a}', { complete }, () => 'x')).toThrow(
    'option complete.b: there is no such variable',
  )
  expect(() => mcp().prompt('p', { complete }, () => 'x')).toThrow('option complete.b: there is no such argument')
})

// A prompt whose schema brings its JSON Schema along is refused; of valibot the entries are not looked at.
test('L-32 complete of an argument that a valibot argsSchema has not is refused at registration', () => {
  const complete = { b: () => [] } as object
  const argsSchema = v.object({ a: v.string() })
  expect(() => mcp().prompt('p', { argsSchema, complete }, () => 'x')).toThrow('complete.b: there is no such argument')
})
