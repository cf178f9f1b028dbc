// Schemas of every kind: what is shown of them, and what they let through.
import type { McpServerOptions } from '@fairlead/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type } from 'arktype'
import * as v from 'valibot'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { ALL_VERSIONS, clientOf } from '../../packages/core/test-support/clients.ts'
import { listed, mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** As a user would write it. */
const validator: NonNullable<McpServerOptions['validator']> = (schema) => {
  const ajv = new Ajv2020({ strict: false })
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors))
}

const SHOWN = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city', 'days'],
}

const LIBRARIES: Readonly<Record<string, unknown>> = {
  valibot: v.object({ city: v.string(), days: v.pipe(v.number(), v.integer(), v.minValue(1)) }),
  zod: z.object({ city: z.string(), days: z.int().min(1) }),
  arktype: type({ city: 'string', days: 'number.integer >= 1' }),
  'JSON Schema': SHOWN,
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const on = (server: ReturnType<typeof mcp>) => clientOf(scene({}, server).transport, version)

  test.each(Object.entries(LIBRARIES))('L-06 L-09 L-17 L-16 A-14 a schema of %s', async (library, schema) => {
    const server = mcp({ validator })
    const given = schema as v.GenericSchema<unknown, { city: string; days: number }>
    server.tool('in', { inputSchema: given }, (args) => JSON.stringify(args))
    server.tool('out', { inputSchema: given, outputSchema: given }, ({ city, days }) => ({ city, days: 0 - days }))
    const client = await on(server)
    const [input, output] = await listed(client, 'tools/list')
    const { $schema, additionalProperties: _, ...shown } = input!.inputSchema as { [key: string]: unknown }
    expect($schema).toBe(library === 'JSON Schema' ? undefined : DIALECT)
    expect(shown).toMatchObject({ type: 'object', required: ['city', 'days'] })
    const { properties } = shown as { properties: { [name: string]: object } }
    expect(properties.city).toEqual({ type: 'string' })
    expect(properties.days).toMatchObject({ type: 'integer', minimum: 1 })
    expect('outputSchema' in output!).toBe(version > '2025-03-26')

    const fits = resultOf(await client.call('in', { city: 'Oslo', days: 2 }))
    expect(fits.content).toEqual([{ type: 'text', text: '{"city":"Oslo","days":2}' }])
    for (const args of [
      { city: 'Oslo' },
      { city: 5, days: 1 },
      { city: 'Oslo', days: 1.5 },
      { city: 'Oslo', days: 0 },
    ]) {
      const { message } = await client.call('in', args)
      if (version < '2025-11-25') expect(message.error?.code).toBe(-32602)
      else expect(message.result).toMatchObject({ isError: true })
      const told = JSON.stringify(message)
      expect(told).toMatch(/the arguments of in are not valid: .*(city|days)/)
    }
    // -2 is not what the output schema wants.
    expect(resultOf(await client.call('out', { city: 'Oslo', days: 2 }))).toMatchObject({
      isError: true,
      content: [{ text: 'the tool has failed' }],
    })
  })

  test.each(Object.entries(LIBRARIES))('L-30 a schema of %s for the arguments of a prompt', async (library, schema) => {
    if (library !== 'JSON Schema' && library !== 'arktype') {
      schema =
        library === 'zod'
          ? z.object({ city: z.string().describe('where') })
          : v.object({ city: v.pipe(v.string(), v.description('where')) })
    } else if (library === 'arktype') schema = type({ city: type('string').describe('where', 'self') })
    else schema = { type: 'object', properties: { city: { type: 'string', description: 'where' } }, required: ['city'] }
    const server = mcp({ validator })
    server.prompt('p', { argsSchema: schema as v.GenericSchema<unknown, { city: string }> }, ({ city }) => city)
    const client = await on(server)
    const [prompt] = await listed<{ arguments: object[] }>(client, 'prompts/list')
    expect(prompt?.arguments).toEqual([
      library === 'arktype'
        ? expect.objectContaining({ name: 'city', required: true })
        : { name: 'city', description: 'where', required: true },
    ])
    expect(
      resultOf(await client.request('prompts/get', { name: 'p', arguments: { city: 'Oslo' } })).messages,
    ).toHaveLength(1)
    expect((await client.request('prompts/get', { name: 'p' })).message.error?.code).toBe(-32602)
  })

  test('L-12 A-14 P-16 a plain JSON Schema is shown as it was written, and validated by its dialect', async () => {
    const inputSchema = {
      $schema: DIALECT,
      $id: 'https://own.example/order',
      $anchor: 'order',
      type: 'object',
      properties: {
        item: { $ref: '#item' },
        more: { type: 'array', prefixItems: [{ $ref: '#/$defs/item' }], items: false },
        to: { anyOf: [{ type: 'string', maxLength: 9 }, { $ref: 'address' }] },
        kind: { enum: ['gift', { $ref: 'https://data.example/not-a-ref' }] },
        inner: { $dynamicRef: '#node' },
      },
      required: ['item'],
      if: { properties: { kind: { const: 'gift' } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['to'] },
      else: { not: { required: ['to'] } },
      dependentRequired: { more: ['kind'] },
      unevaluatedProperties: false,
      $defs: {
        item: { $anchor: 'item', type: 'string', minLength: 1 },
        address: { $id: 'address', type: 'object', properties: { city: { type: 'string' } } },
        node: { $dynamicAnchor: 'node', type: 'object' },
      },
      examples: [{ item: 'book' }],
    }
    const written = structuredClone(inputSchema)
    const server = mcp({ validator })
    server.tool('order', { inputSchema, outputSchema: inputSchema }, () => ({ item: 'book' }))
    const client = await on(server)
    const [tool] = await listed(client, 'tools/list')
    expect(JSON.stringify(tool?.inputSchema)).toBe(JSON.stringify(written))
    if (version > '2025-03-26') expect(JSON.stringify(tool?.outputSchema)).toBe(JSON.stringify(written))
    const isFine = async (args: object) => {
      const { result } = (await client.call('order', { ...args })).message
      return result !== undefined && result.isError !== true
    }
    for (const args of [
      { item: 'a' },
      { item: 'a', kind: 'gift', to: 'x' },
      { item: 'a', kind: 'gift', to: { city: 'Oslo' }, more: ['b'] },
    ]) {
      expect(await isFine(args), JSON.stringify(args)).toBe(true)
    }
    for (const args of [
      {},
      { item: '' },
      { item: 'a', kind: 'gift' },
      { item: 'a', to: 'x' },
      { item: 'a', extra: 1 },
      { item: 'a', kind: 'gift', to: 'x', more: ['b', 'c'] },
    ]) {
      expect(await isFine(args), JSON.stringify(args)).toBe(false)
    }
  })

  test('L-06 a choice between objects is an object', async () => {
    const inputSchema = v.variant('kind', [
      v.object({ kind: v.literal('a'), n: v.number() }),
      v.object({ kind: v.literal('b') }),
    ])
    const server = mcp()
    server.tool('choice', { inputSchema }, ({ kind }) => kind)
    const client = await on(server)
    const [tool] = await listed(client, 'tools/list')
    expect(tool?.inputSchema).toMatchObject({
      type: 'object',
      oneOf: [{ required: ['kind', 'n'] }, { required: ['kind'] }],
    })
    expect(resultOf(await client.call('choice', { kind: 'b' })).content).toEqual([{ type: 'text', text: 'b' }])
  })

  test('L-17 a schema that is asynchronous is waited for', async () => {
    const inputSchema = v.pipeAsync(
      v.objectAsync({ n: v.number() }),
      v.checkAsync(async ({ n }) => n > 0, 'n is too small'),
    )
    const server = mcp()
    server.tool('later', { inputSchema }, ({ n }) => String(n))
    const client = await on(server)
    expect(resultOf(await client.call('later', { n: 1 })).content).toEqual([{ type: 'text', text: '1' }])
    expect((await client.call('later', { n: 0 })).text).toContain('n is too small')
  })
})

type Plain = { [key: string]: unknown }

describe('what is refused at registration', () => {
  const network = vi.spyOn(globalThis, 'fetch')
  afterEach(() => expect(network, 'nothing is ever fetched').not.toHaveBeenCalled())

  const input = (schema: unknown) => () => mcp({ validator }).tool('a', { inputSchema: schema as Plain }, () => 'x')
  const output = (schema: unknown) => () => mcp({ validator }).tool('a', { outputSchema: schema as Plain }, () => ({}))
  const args = (schema: unknown) => () => mcp({ validator }).prompt('a', { argsSchema: schema as Plain }, () => 'x')

  test.each([null, true, false, 5, 'object', []])('L-06 L-11 %j is no schema', (schema) => {
    for (const register of [input(schema), output(schema), args(schema)]) {
      expect(register).toThrow(/^(tool|prompt) a: \w+Schema must be a Standard Schema or a JSON Schema$/)
    }
  })

  test.each<[string, unknown]>([
    ['no type', {}],
    ['another type', { type: 'array' }],
    ['a list of types', { type: ['object'] }],
    ['a choice', { anyOf: [{ type: 'object' }] }],
    ['a text of valibot', v.string()],
    ['a text of zod', z.string()],
    ['a list of arktype', type('string[]')],
  ])('L-06 arguments of %s are no object', (_what, schema) => {
    expect(input(schema)).toThrow('tool a: inputSchema: the root must be an object')
    expect(args(schema)).toThrow('prompt a: argsSchema: the root must be an object')
  })

  test.each<unknown>([
    'http://169.254.169.254/schema',
    'https://json-schema.org/draft/2020-12/meta/core-private',
    '',
    5,
    null,
    'https://json-schema.org/draft/2031-01/schema',
  ])('A-14 the dialect %j is not supported', (dialect) => {
    const told = `the JSON Schema dialect ${JSON.stringify(dialect)} is not supported`
    const schema = { $schema: dialect, type: 'object' }
    for (const register of [input, output, args]) {
      expect(register(schema)).toThrow(told)
      expect(register({ type: 'object', properties: { a: { ...schema } } })).toThrow(told)
    }
  })

  test.each([
    'http://169.254.169.254/',
    'https://own.example/schema#/$defs/a',
    'file:///etc/passwd',
    '//169.254.169.254/a',
    'other.json',
    '#/$defs/missing',
    '#missing',
    'data:application/json,{}',
    'https://json-schema.org/draft/2020-12/schema',
  ])('F-15 F-16 $ref %j is unresolved, and refused', (ref) => {
    const places = [
      { type: 'object', properties: { a: { $ref: ref } } },
      { type: 'object', allOf: [{ $dynamicRef: ref }] },
      { type: 'object', $defs: { b: { type: 'array', items: { $ref: ref } } } },
      { $id: 'https://base.example/x/', type: 'object', if: { not: { $ref: ref } } },
    ]
    for (const schema of places) {
      for (const register of [input, output, args]) {
        expect(register(schema)).toThrow('is not within the schema, and nothing is ever fetched')
      }
    }
  })

  test.each<[string, (depth: number) => object]>([
    ['allOf', (depth) => Array.from({ length: depth }).reduce<object>((inner) => ({ allOf: [inner] }), {})],
    [
      'properties',
      (depth) => Array.from({ length: depth }).reduce<object>((inner) => ({ properties: { a: inner } }), {}),
    ],
  ])('F-16 10,000 nested %s fail at once', (_keyword, nested) => {
    const told = 'the JSON Schema is nested deeper than 64 levels'
    const started = performance.now()
    for (const register of [input, output, args]) expect(register({ type: 'object', ...nested(10_000) })).toThrow(told)
    expect(performance.now() - started).toBeLessThan(5000)
    expect(input({ type: 'object', ...nested(60) })).not.toThrow()
  })

  test('F-16 a schema that holds itself is too deep', () => {
    const schema: { [key: string]: unknown } = { type: 'object' }
    schema.properties = { a: schema, b: schema }
    expect(input(schema)).toThrow('nested deeper than 64 levels')
  })

  test('A-14 a plain JSON Schema needs a validator, and its error says where', () => {
    const schema = { type: 'object' }
    expect(() => mcp().tool('a', { inputSchema: schema }, () => 'x')).toThrow(
      'tool a: inputSchema is a plain JSON Schema: give McpServer the option validator, or a Standard Schema here',
    )
    expect(input({ type: 'object', properties: { a: { pattern: '[' } } })).toThrow(/^tool a: inputSchema: /)
  })

  test('A-14 a Standard Schema without a JSON Schema is refused', () => {
    const schema = { '~standard': { version: 1 as const, vendor: 'own', validate: (value: unknown) => ({ value }) } }
    expect(input(schema)).toThrow('tool a: inputSchema: a schema of own has no JSON Schema of its own')
  })

  test('L-07 L-06 what was refused leaves nothing behind', () => {
    const server = mcp()
    expect(() => server.tool('a', { inputSchema: {} }, () => 'x')).toThrow()
    expect(server.describe('2026-07-28').capabilities).toEqual({ logging: {} })
    server.tool('a', {}, () => 'x')
  })
})

test.each(['draft/2019-09/schema', 'draft-07/schema#', 'draft/2020-12/schema'])(
  'A-14 the dialect %s is kept',
  async (dialect) => {
    const inputSchema = { $schema: `https://json-schema.org/${dialect}`, type: 'object' }
    const compiled: unknown[] = []
    const server = mcp({
      validator: (schema) => {
        compiled.push(schema)
        return () => undefined
      },
    })
    server.tool('a', { inputSchema }, () => 'x')
    expect(compiled).toEqual([inputSchema])
    const [tool] = await listed(await clientOf(scene({}, server).transport, '2026-07-28'), 'tools/list')
    expect(tool?.inputSchema).toEqual(inputSchema)
  },
)
