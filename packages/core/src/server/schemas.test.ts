import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type } from 'arktype'
import * as v from 'valibot'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ALL_VERSIONS, clientOf, modern } from '../../test-support/clients.ts'
import { listed, mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { textOf } from '../../test-support/sse.ts'
import type { Schema, Validator } from './config.ts'
import { McpServer } from './index.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
const ajv = new Ajv2020({ strict: false })
const validator: Validator = (schema) => {
  const check = ajv.compile(schema)
  return (value) => (check(value) ? undefined : ajv.errorsText(check.errors))
}

/** A tool with these schemas. */
function served(config: { inputSchema?: Schema; outputSchema?: Schema }, options = {}): McpServer {
  const server = mcp({ validator, ...options })
  server.tool('t', config, ((args: unknown) => (config.outputSchema ? args : JSON.stringify(args))) as never)
  return server
}

const register = (inputSchema: unknown) => () => served({ inputSchema: inputSchema as Schema })

/** As a modern client sees it. */
async function shown(config: { inputSchema?: Schema; outputSchema?: Schema }) {
  const [tool] = await listed(modern(scene({}, served(config)).transport), 'tools/list')
  return tool as { inputSchema: object; outputSchema: object }
}

const OF_EVERY_KIND: Record<string, Schema> = {
  valibot: v.object({ city: v.string(), days: v.optional(v.number(), 3) }),
  zod: z.object({ city: z.string(), days: z.number().default(3) }),
  arktype: type({ city: 'string', days: 'number = 3' }),
  'plain JSON Schema': {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'number' } },
    required: ['city'],
  },
}

describe.each(Object.entries(OF_EVERY_KIND))('%s', (kind, schema) => {
  test.each(ALL_VERSIONS)('L-06 L-17 validates, and is shown, in %s', async (version) => {
    const client = await clientOf(scene({}, served({ inputSchema: schema })).transport, version)
    const [tool] = await listed(client, 'tools/list')
    expect(tool?.inputSchema).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'number' } },
      required: ['city'],
    })
    const { message } = await client.call('t', { city: 'Oslo' })
    const given = kind === 'plain JSON Schema' ? { city: 'Oslo' } : { city: 'Oslo', days: 3 }
    expect(JSON.parse(textOf(message)!)).toEqual(given)
    const { message: failed } = await client.call('t', { city: 5 })
    if (version < '2025-11-25') expect(failed.error?.message).toContain('city')
    else expect(failed.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('city') }] })
  })

  test('L-09 L-10 as an outputSchema', async () => {
    const client = modern(scene({}, served({ inputSchema: schema, outputSchema: schema })).transport)
    const { message } = await client.call('t', { city: 'Oslo', days: 1 })
    expect(message.result?.structuredContent).toEqual({ city: 'Oslo', days: 1 })
    const [tool] = await listed(client, 'tools/list')
    expect(tool?.outputSchema).toMatchObject({ type: 'object', properties: { city: { type: 'string' } } })
  })

  test('A-14 says its dialect, or is of 2020-12 without saying it', async () => {
    const { inputSchema } = await shown({ inputSchema: schema })
    expect(inputSchema).toMatchObject(kind === 'plain JSON Schema' ? {} : { $schema: DIALECT })
  })
})

describe('L-06 a root that is no object', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['true', true],
    ['a text', 'object'],
    ['a list', []],
    ['a plain schema without a type', {}],
    ['a plain schema of a text', { type: 'string' }],
    ['a plain schema of a type array', { type: ['object', 'null'] }],
    ['a text of valibot', v.string()],
    ['a list of valibot', v.array(v.string())],
    ['what may be nothing, of valibot', v.optional(v.object({}))],
    ['a piped text of valibot', v.pipe(v.string(), v.minLength(1))],
    ['a text of zod', z.string()],
    ['a list of arktype', type('string[]')],
  ])('%s throws', (_, schema) => {
    expect(register(schema)).toThrow(/^tool t: inputSchema(: the root must be an object| must be a)/)
  })

  test.each<[string, Schema]>([
    ['valibot’s variant', v.variant('k', [v.object({ k: v.literal('a') }), v.object({ k: v.literal('b') })])],
    ['valibot’s union', v.union([v.object({ a: v.string() }), v.object({ b: v.string() })])],
    ['valibot’s intersect', v.intersect([v.object({ a: v.string() }), v.object({ b: v.string() })])],
    ['zod’s union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
    ['arktype’s union', type({ a: 'string' }).or({ b: 'string' })],
  ])('%s of objects is an object', async (_, inputSchema) => {
    expect((await shown({ inputSchema })).inputSchema).toMatchObject({ type: 'object' })
  })

  test('a lazy one is a reference that says nothing of its type: it is taken as the object that arguments are', async () => {
    const inputSchema = v.lazy(() => v.object({ a: v.string() }))
    expect((await shown({ inputSchema })).inputSchema).toMatchObject({ type: 'object', $ref: '#/$defs/0' })
  })
})

describe('A-14 dialects', () => {
  test.each(['http://json-schema.org/draft-03/schema#', 'https://x.example/dialect', '', 5])(
    '%j is refused',
    ($schema) => {
      expect(register({ $schema, type: 'object' })).toThrow(
        `tool t: inputSchema: the JSON Schema dialect ${JSON.stringify($schema)} is not supported`,
      )
    },
  )

  test('a stated dialect is kept, and the validator goes by it', async () => {
    const $schema = 'http://json-schema.org/draft-07/schema#'
    const ajv07 = new Ajv({ strict: false })
    const server = mcp({
      validator: (schema) => {
        const check = ajv07.compile(schema)
        return (value) => (check(value) ? undefined : ajv07.errorsText(check.errors))
      },
    })
    // In draft 7 a list of items is a tuple; in 2020-12 that is no schema at all.
    const inputSchema = { $schema, type: 'object', properties: { a: { type: 'array', items: [{ type: 'string' }] } } }
    server.tool('t', { inputSchema }, () => 'x')
    const client = modern(scene({}, server).transport)
    expect((await listed(client, 'tools/list'))[0]?.inputSchema).toEqual(inputSchema)
    expect(resultOf(await client.call('t', { a: [5] }))).toMatchObject({ isError: true })
    expect(textOf((await client.call('t', { a: ['x'] })).message)).toBe('x')
  })

  test('a dialect that the validator does not know is its error, with the tool’s name', () => {
    const inputSchema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }
    expect(register(inputSchema)).toThrow(/^tool t: inputSchema: no schema with key or ref/)
  })
})

test('L-12 A-14 a plain schema of 2020-12 is shown as it was written', async () => {
  const written = {
    $schema: DIALECT,
    $id: 'https://x.example/address',
    type: 'object',
    properties: {
      street: { $ref: '#/$defs/street' },
      city: { $ref: '#city' },
      whole: { $ref: 'https://x.example/address' },
      self: { $ref: '#' },
      odd: { $ref: '#/$defs/a~1b%20c~0d' },
    },
    $defs: {
      street: { type: 'object', properties: { line: { type: 'string' } }, required: ['line'] },
      city: { $anchor: 'city', type: 'string' },
      'a/b c~d': { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['street'] }, { required: ['city'] }] }],
    if: { properties: { city: { const: 'Oslo' } }, required: ['city'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['street'] },
    else: {},
    additionalProperties: false,
    'x-own': { kept: true },
  }
  const server = served({ inputSchema: written, outputSchema: written })
  const client = modern(scene({}, server).transport)
  const [tool] = await listed(client, 'tools/list')
  expect(tool?.inputSchema).toEqual(written)
  expect(tool?.outputSchema).toEqual(written)
  expect(resultOf(await client.call('t', { city: 'Oslo' }))).toMatchObject({ isError: true })
  const args = { city: 'Oslo', street: { line: '1' } }
  expect(resultOf(await client.call('t', args)).structuredContent).toEqual(args)
})

describe('F-15 F-16 references that would have to be fetched', () => {
  const refs = [
    'http://169.254.169.254/latest',
    'https://x.example/schema.json',
    'http://127.0.0.1/x#/a',
    'file:///etc/passwd',
    'other.json',
    '//x.example/a',
    '#/$defs/none',
    '#none',
    '#/%',
  ]
  const fetched = vi.spyOn(globalThis, 'fetch')
  afterEach(() => expect(fetched).not.toHaveBeenCalled())

  test.each(refs)('%s is refused at registration, and nothing is fetched', ($ref) => {
    const told = `$ref ${JSON.stringify($ref)} is not within the schema, and nothing is ever fetched`
    const schema = { type: 'object', properties: { a: { items: { $ref } } } }
    expect(register(schema)).toThrow(`tool t: inputSchema: ${told}`)
    expect(() => served({ outputSchema: { $dynamicRef: $ref } })).toThrow(`tool t: outputSchema: ${told}`)
  })

  test('F-15 of a prompt, and of a Standard Schema', () => {
    const schema = { type: 'object', properties: { a: { $ref: 'http://x.example/' } } }
    expect(() => mcp({ validator }).prompt('p', { argsSchema: schema }, () => 'x')).toThrow(
      'prompt p: argsSchema: $ref',
    )
    const standard = { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) }
    const jsonSchema = { input: () => schema, output: () => schema }
    expect(register({ '~standard': { ...standard, jsonSchema } })).toThrow('tool t: inputSchema: $ref')
  })

  test('F-15 what is data is no reference', async () => {
    const $ref = 'http://x.example/'
    const schema = {
      type: 'object',
      properties: {
        $ref: { type: 'string', enum: [$ref], default: $ref },
        a: { const: { $ref }, examples: [{ $ref }] },
      },
      default: { $ref },
    }
    expect((await shown({ inputSchema: schema })).inputSchema).toEqual(schema)
  })

  test('F-16 a schema of 10,000 levels is refused, one of 60 is taken', () => {
    const nested = (depth: number) => {
      let schema: Schema = { type: 'object' }
      for (let i = 0; i < depth; i++) schema = { type: 'object', allOf: [schema] }
      return schema
    }
    expect(register(nested(10_000))).toThrow('tool t: inputSchema: the JSON Schema is nested deeper than 64 levels')
    expect(register(nested(60))).not.toThrow()
  })
})

describe('valibot', () => {
  test('what JSON Schema has no word for is left to the validation', async () => {
    const inputSchema = v.object({
      a: v.pipe(
        v.string(),
        v.trim(),
        v.check((text) => text !== 'no', 'never no'),
        v.transform(Number),
        v.number('not a number'),
      ),
    })
    const server = mcp()
    server.tool('t', { inputSchema }, ({ a }) => String(a + 1))
    const client = modern(scene({}, server).transport)
    expect((await listed(client, 'tools/list'))[0]?.inputSchema).toMatchObject({
      properties: { a: { type: 'string' } },
    })
    expect(textOf((await client.call('t', { a: ' 4 ' })).message)).toBe('5')
    expect(textOf((await client.call('t', { a: 'no' })).message)).toContain('never no')
  })

  test.each<[string, Schema, Schema]>([
    ['a type that JSON does not have', v.object({ a: v.date() }), v.object({})],
    ['an output that a function makes', v.object({}), v.pipe(v.string(), v.transform(Number))],
  ])('%s fails the listing each time, and says where', async (_, inputSchema, outputSchema) => {
    const { transport, reported } = scene({}, served({ inputSchema, outputSchema }))
    const client = modern(transport)
    for (let i = 0; i < 2; i++) {
      expect((await client.request('tools/list')).message.error).toEqual({ code: -32603, message: 'internal error' })
      expect(String(reported.pop()?.error)).toMatch(/^TypeError: tool t: (in|out)putSchema: /)
    }
  })

  test('a schema is converted once, whatever the number of listings and revisions', async () => {
    const { toJsonSchema } = await vi.importActual<typeof import('@valibot/to-json-schema')>('@valibot/to-json-schema')
    const convert = vi.fn(toJsonSchema)
    vi.doMock('@valibot/to-json-schema', () => ({ toJsonSchema: convert }))
    try {
      const server = mcp()
      for (let i = 0; i < 200; i++) server.tool(`t${i}`, { inputSchema: v.object({ a: v.string() }) }, () => 'x')
      const { transport } = scene({}, server)
      for (const version of ALL_VERSIONS) {
        const client = await clientOf(transport, version)
        for (let i = 0; i < 2; i++) expect(await listed(client, 'tools/list')).toHaveLength(200)
      }
      expect(convert).toHaveBeenCalledTimes(200)
      server.tool('more', { inputSchema: v.object({}) }, () => 'x')
      expect(await listed(modern(transport), 'tools/list')).toHaveLength(201)
      expect(convert).toHaveBeenCalledTimes(201)
    } finally {
      vi.doUnmock('@valibot/to-json-schema')
    }
  })

  test('a second listing is there at once, and the first one is shared by all who ask for it', async () => {
    const server = served({ inputSchema: v.object({}) })
    const list = () => server.call('tools/list', {}, { protocolVersion: '2026-07-28' } as never)
    const first = [list(), list()]
    expect(first[0]).toBeInstanceOf(Promise)
    const [a, b] = await Promise.all(first)
    expect(a).toBe(b)
    expect(list()).toBe(a)
  })

  test('without the package that converts, the listing says what to install, and calls still work', async () => {
    vi.doMock('@valibot/to-json-schema', () => {
      throw new Error('cannot find module')
    })
    try {
      const { transport, reported } = scene({}, served({ inputSchema: v.object({}) }))
      const client = modern(transport)
      expect((await client.request('tools/list')).message.error).toEqual({ code: -32603, message: 'internal error' })
      expect(String(reported[0]?.error)).toMatch(/^TypeError: tool t: .* @valibot\/to-json-schema: install it$/)
      expect(textOf((await client.call('t')).message)).toBe('{}')
    } finally {
      vi.doUnmock('@valibot/to-json-schema')
    }
  })
})

describe('schemas of others', () => {
  test('one without a JSON Schema is refused at registration', () => {
    const schema: StandardSchemaV1 = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } }
    expect(register(schema)).toThrow('tool t: inputSchema: a schema of own has no JSON Schema of its own')
  })

  test('a type that zod can not show is refused at registration', () => {
    expect(register(z.object({ a: z.date() }))).toThrow(/^tool t: inputSchema: Date cannot be represented/)
  })

  test('a plain one without a validator is refused at registration', () => {
    const told = 'is a plain JSON Schema: give McpServer the option validator, or a Standard Schema here'
    expect(() => served({ inputSchema: { type: 'object' } }, { validator: undefined })).toThrow(told)
    const bare = new McpServer({ name: 'x', version: '1' })
    expect(() => bare.prompt('p', { argsSchema: { type: 'object' } }, () => 'x')).toThrow(
      `prompt p: argsSchema ${told}`,
    )
  })

  test('what a schema throws is the tool’s failure', async () => {
    const schema = v.pipe(
      v.object({}),
      v.transform(() => {
        throw new Error('private-1')
      }),
    )
    const { transport, reported } = scene({}, served({ inputSchema: schema }))
    const { message } = await modern(transport).call('t')
    expect(message.result).toMatchObject({ isError: true, content: [{ text: 'the tool has failed' }] })
    expect(reported).toHaveLength(1)
  })
})
