// x-mcp-header: arguments that headers mirror, checked at registration and before the call.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { ALL_VERSIONS, clientOf, MODERN, modern } from '../../packages/core/test-support/clients.ts'
import { listed, mcp } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'
import { textOf } from '../../packages/core/test-support/sse.ts'

const MARK = 'x-mcp-header'
const mark = (name: unknown) => ({ [MARK]: name })
const header = <T>(name: string) => v.metadata<T, { [MARK]: string }>({ [MARK]: name })
const validator = () => () => undefined

function registered(inputSchema: unknown, warnings: string[] = []) {
  const server = mcp({ validator, onWarning: (text: string) => warnings.push(text) })
  server.tool('a', { inputSchema: inputSchema as v.GenericSchema }, () => 'x')
  return server
}
const json = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const string = (name: unknown) => ({ type: 'string', ...mark(name) })

describe('P-22 what may be marked', () => {
  const path = { Region: ['cfg', 'region'], Dry: ['dry'], Count: ['count'] }
  test.each<[string, unknown, object]>([
    [
      'JSON Schema',
      json({
        cfg: json({ region: string('Region') }),
        dry: { type: 'boolean', ...mark('Dry') },
        count: { type: 'integer', ...mark('Count') },
      }),
      path,
    ],
    [
      'valibot',
      v.object({
        cfg: v.object({ region: v.pipe(v.string(), v.minLength(1), header('Region')) }),
        dry: v.optional(v.pipe(v.boolean(), header('Dry')), false),
        count: v.pipe(v.number(), v.integer(), header('Count'), v.transform(String)),
      }),
      path,
    ],
    [
      'zod',
      z.object({
        cfg: z.object({ region: z.string().meta(mark('Region')) }),
        dry: z.boolean().meta(mark('Dry')),
        count: z.int().meta(mark('Count')),
      }),
      path,
    ],
    [
      'arktype',
      type({
        cfg: { region: type.string.configure(mark('Region') as never, 'self') },
        dry: type.boolean.configure(mark('Dry') as never, 'self'),
        count: type('number.integer').configure(mark('Count') as never, 'self'),
      }),
      path,
    ],
    [
      'valibot choices',
      v.object({ a: v.pipe(v.picklist(['x', 'y']), header('A')), b: v.optional(v.pipe(v.string(), header('B'))) }),
      { A: ['a'], B: ['b'] },
    ],
    ['any token', json({ a: string("!#$%&'*+.^_`|~0-9A-Za-z-") }), { "!#$%&'*+.^_`|~0-9A-Za-z-": ['a'] }],
    ['a property of that name', json({ [MARK]: { type: 'string' } }), {}],
    ['data that looks like it', json({ a: { type: 'string', default: mark('x y'), enum: [mark('')] } }), {}],
    [
      'a name that JavaScript has',
      json({ a: string('constructor'), b: string('__proto') }),
      { constructor: ['a'], __proto: ['b'] },
    ],
  ])('L-18 L-19 %s', async (_what, inputSchema, expected) => {
    const server = registered(inputSchema)
    const { paramHeaders = {} } = server.route('tools/call', { name: 'a' })!
    expect(Object.fromEntries(Object.entries(paramHeaders))).toEqual(expected)
    for (const version of ALL_VERSIONS) {
      expect(await listed(await clientOf(scene({}, server).transport, version), 'tools/list')).toHaveLength(1)
    }
  })
})

describe('what may not be', () => {
  test.each<unknown>(['', ' ', 'a b', 'a:b', 'a,b', 'ä', 'a\r\nb', 5, null, true, {}, ['A']])(
    'L-18 the name %j',
    (name) => {
      expect(() => registered(json({ a: string(name) }))).toThrow('tool a: x-mcp-header of a: it must be a header name')
    },
  )

  test.each<[string, unknown]>([
    ['JSON Schema', json({ a: string('Region'), b: string('region') })],
    ['JSON Schema at any depth', json({ a: string('Region'), b: json({ c: string('REGION') }) })],
    ['valibot', v.object({ a: v.pipe(v.string(), header('Region')), b: v.pipe(v.string(), header('region')) })],
    ['zod', z.object({ a: z.string().meta(mark('Region')), b: z.object({ c: z.string().meta(mark('region')) }) })],
  ])('L-18 a name that is used twice, whatever its case: %s', (_what, schema) => {
    expect(() => registered(schema)).toThrow(/is used twice$/)
  })

  const marked = v.pipe(v.string(), header('A'))
  const zMarked = z.string().meta(mark('A'))
  test.each<[string, unknown]>([
    ['a number', json({ a: { type: 'number', ...mark('A') } })],
    ['null', json({ a: { type: 'null', ...mark('A') } })],
    ['a list', json({ a: { type: 'array', ...mark('A') } })],
    ['an object', json({ a: { type: 'object', ...mark('A') } })],
    ['no type', json({ a: mark('A') })],
    ['types', json({ a: { type: ['string', 'null'], ...mark('A') } })],
    ['valibot number', v.object({ a: v.pipe(v.number(), header('A')) })],
    ['valibot object', v.object({ a: v.pipe(v.object({}), header('A')) })],
    ['valibot numbers to choose from', v.object({ a: v.pipe(v.picklist([1, 2]), header('A')) })],
    ['zod number', z.object({ a: z.number().meta(mark('A')) })],
  ])('L-19 the type: %s', (_what, schema) => {
    expect(() => registered(schema)).toThrow('x-mcp-header of a: only a string, an integer or a boolean can have it')
  })

  test.each<[string, unknown]>([
    ['the root', json({}, mark('A'))],
    ['items', json({ a: { type: 'array', items: string('A') } })],
    ['prefixItems', json({ a: { type: 'array', prefixItems: [string('A')] } })],
    ['properties of items', json({ a: { type: 'array', items: json({ b: string('A') }) } })],
    ...['anyOf', 'oneOf', 'allOf'].map((word): [string, unknown] => [
      word,
      json({}, { [word]: [json({ b: string('A') })] }),
    ]),
    ...['not', 'if', 'then', 'else', 'additionalProperties', 'propertyNames', 'contains'].map(
      (word): [string, unknown] => [word, json({}, { [word]: json({ b: string('A') }) })],
    ),
    ...['$defs', 'definitions', 'patternProperties', 'dependentSchemas'].map((word): [string, unknown] => [
      word,
      json({}, { [word]: { b: string('A') } }),
    ]),
    ['$ref', json({ a: { $ref: '#/$defs/b' } }, { $defs: { b: string('A') } })],
    ['a choice in a property', json({ a: { anyOf: [string('A')] } })],
    ['valibot array', v.object({ a: v.array(marked) })],
    ['valibot tuple', v.object({ a: v.tuple([marked]) })],
    ['valibot union', v.object({ a: v.union([marked, v.number()]) })],
    ['valibot nullable', v.object({ a: v.nullable(marked) })],
    ['valibot record', v.object({ a: v.record(v.string(), marked) })],
    ['valibot intersect', v.intersect([v.object({ a: marked }), v.object({ b: v.string() })])],
    ['valibot variant', v.variant('k', [v.object({ k: v.literal('x'), a: marked })])],
    ['valibot rest', v.objectWithRest({}, marked)],
    ['zod array', z.object({ a: z.array(zMarked) })],
    ['zod union', z.object({ a: z.union([zMarked, z.number()]) })],
  ])('L-19 the place: %s', (_what, schema) => {
    expect(() => registered(schema)).toThrow('it is not reached through properties alone')
  })

  test('L-19 a mark that only the JSON Schema shows fails the listing, not in silence', async () => {
    const { transport, reported } = scene({}, registered(v.object({ a: v.array(v.lazy(() => marked)) })))
    const { message } = await modern(transport).request('tools/list')
    expect(message.error?.code).toBe(-32603)
    expect(String(reported[0]?.error)).toContain('x-mcp-header')
  })

  test('L-18 a mark in an outputSchema is data', () => {
    const server = mcp({ validator })
    server.tool('a', { outputSchema: json({ a: string('') }) }, () => ({}))
    expect(server.route('tools/call', { name: 'a' })).toEqual({})
  })
})

test.each([
  'password',
  'db_passwd',
  'apiKey',
  'api_key',
  'accessToken',
  'client_secret',
  'credential',
  'creditCard',
  'ssn',
])('L-20 a header for %s is a warning', (name) => {
  const warnings: string[] = []
  registered(json({ [name]: string('A') }), warnings)
  registered(v.object({ [name]: v.pipe(v.string(), header('A')) }), warnings)
  const told = `tool a: x-mcp-header of ${name}: a header is seen by proxies and logs; do not mirror secrets`
  expect(warnings).toEqual([told, told])
})

test('L-20 a header for anything else is none', () => {
  const warnings: string[] = []
  registered(json({ region: string('A'), tenant_id: string('B') }), warnings)
  expect(warnings).toEqual([])
})

test('L-18 P-22 the first call of all is checked against its headers, in the modern era alone', async () => {
  const inputSchema = v.object({ cfg: v.object({ region: v.pipe(v.string(), header('Region')) }) })
  for (const version of ALL_VERSIONS) {
    const server = mcp()
    let runs = 0
    server.tool('a', { inputSchema }, ({ cfg }) => {
      runs++
      return cfg.region
    })
    const client = await clientOf(scene({}, server).transport, version)
    const args = { cfg: { region: 'eu' } }
    const isModern = version === MODERN
    for (const headers of [{}, { 'mcp-param-region': 'us' }]) {
      const { status, message } = await client.call('a', args, { headers })
      expect({ status, code: message.error?.code }).toEqual(
        isModern ? { status: 400, code: -32020 } : { status: 200, code: undefined },
      )
    }
    expect(runs).toBe(isModern ? 0 : 2)
    expect(textOf((await client.call('a', args, { headers: { 'mcp-param-region': 'eu' } })).message)).toBe('eu')
  }
})
