import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { clientOf, LEGACY_VERSIONS, modern } from '../../test-support/clients.ts'
import { listed, mcp } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { textOf } from '../../test-support/sse.ts'
import type { Schema } from './config.ts'

const mark = (header: unknown) => ({ 'x-mcp-header': header })
const marked = <S extends v.GenericSchema>(schema: S, header: unknown = 'Region') =>
  v.pipe(schema, v.metadata(mark(header)))

/** What the route of a tool with these arguments says. */
function headersOf(inputSchema: Schema) {
  const server = mcp({ validator: () => () => undefined })
  server.tool('t', { inputSchema }, () => 'x')
  return server.route('tools/call', { name: 't' })?.paramHeaders
}

const plain = (properties: object) => ({ type: 'object', properties })

const region = { Region: ['cfg', 'region'], N: ['n'], Fast: ['fast'] }
const OF_EVERY_KIND: Record<string, Schema> = {
  valibot: v.object({
    cfg: v.object({ region: marked(v.string()) }),
    n: v.pipe(v.number(), v.integer(), v.metadata(mark('N'))),
    fast: v.optional(marked(v.boolean(), 'Fast')),
    other: v.optional(v.array(v.string())),
  }),
  zod: z.object({
    cfg: z.object({ region: z.string().meta(mark('Region')) }),
    n: z.int().meta(mark('N')),
    fast: z.boolean().optional().meta(mark('Fast')),
    other: z.array(z.string()).optional(),
  }),
  arktype: type({
    cfg: { region: type('string').configure(mark('Region') as object) },
    n: type('number.integer').configure(mark('N') as object),
    'fast?': type('boolean').configure(mark('Fast') as object),
    'other?': 'string[]',
  }),
  'plain JSON Schema': plain({
    cfg: plain({ region: { type: 'string', ...mark('Region') } }),
    n: { type: 'integer', ...mark('N') },
    fast: { type: 'boolean', ...mark('Fast') },
    other: { type: 'array', items: { type: 'string' } },
  }),
}

test.each(Object.entries(OF_EVERY_KIND))('G-09 L-18 the marks of %s are known at registration', (_, schema) => {
  expect(headersOf(schema)).toEqual(region)
})

test('where there is no mark there is nothing to check', () => {
  expect(headersOf(v.object({ region: v.string() }))).toBeUndefined()
})

describe('where valibot has a mark', () => {
  const of = (entry: v.GenericSchema) => headersOf(v.object({ region: entry }))
  test.each<[string, v.GenericSchema]>([
    ['around an optional', v.pipe(v.optional(v.string()), v.metadata(mark('Region')))],
    ['within an optional', v.optional(marked(v.string()), 'x')],
    ['before other steps', v.pipe(v.string(), v.metadata(mark('Region')), v.trim(), v.minLength(1))],
    ['within a pipe in a pipe', v.pipe(marked(v.string()), v.minLength(1))],
    [
      'more than once, the last one counting',
      v.pipe(v.string(), v.metadata(mark('Other')), v.metadata(mark('Region'))),
    ],
    ['on a choice of texts', marked(v.picklist(['a', 'b']))],
    ['before a transform', v.pipe(v.string(), v.metadata(mark('Region')), v.transform(Number))],
  ])('G-09 L-19 %s', (_, entry) => {
    expect(of(entry)).toEqual({ Region: ['region'] })
  })

  test('L-19 a mark behind a transform is of the output, so it is none', () => {
    expect(of(v.pipe(v.string(), v.transform(Number), v.metadata(mark('Region'))))).toBeUndefined()
    expect(of(v.pipe(v.string(), v.transform(Number), marked(v.number())))).toBeUndefined()
  })
})

describe('L-18 a mark that is no header name', () => {
  test.each<[string, unknown]>([
    ['empty', ''],
    ['two words', 'a b'],
    ['not ASCII', 'Région'],
    ['a separator', 'a:b'],
    ['a number', 5],
    ['null', null],
    ['a line break', 'a\n'],
  ])('%s', (_, header) => {
    for (const schema of [
      v.object({ a: marked(v.string(), header) }),
      plain({ a: { type: 'string', ...mark(header) } }),
    ]) {
      expect(() => headersOf(schema)).toThrow('tool t: x-mcp-header of a: it must be a header name')
    }
  })

  test('L-18 used twice, whatever its case', () => {
    const schemas = [
      v.object({ a: marked(v.string(), 'Region'), b: marked(v.string(), 'region') }),
      z.object({ a: z.string().meta(mark('Region')), b: z.object({ c: z.string().meta(mark('REGION')) }) }),
      plain({ a: { type: 'string', ...mark('Region') }, b: { type: 'string', ...mark('Region') } }),
    ]
    for (const schema of schemas) expect(() => headersOf(schema)).toThrow(/is used twice$/)
  })
})

describe('L-19 a mark where it may not be', () => {
  const entry = marked(v.string())
  const json = { type: 'string', ...mark('Region') }
  test.each<[string, Schema]>([
    ['a number of valibot', v.object({ a: marked(v.number()) })],
    ['an object of valibot', v.object({ a: marked(v.object({})) })],
    ['a list of valibot', v.object({ a: marked(v.array(v.string())) })],
    ['what may be null, of valibot (Q-18)', v.object({ a: v.nullable(entry) })],
    ['around what may be null, of valibot', v.object({ a: marked(v.nullable(v.string())) })],
    ['an item of valibot', v.object({ a: v.array(entry) })],
    ['an item of a tuple of valibot', v.object({ a: v.tuple([entry]) })],
    ['a value of a record of valibot', v.object({ a: v.record(v.string(), entry) })],
    ['a choice of valibot', v.object({ a: v.union([entry, v.number()]) })],
    ['a choice of numbers of valibot', v.object({ a: marked(v.picklist([1, 2])) })],
    ['an option of valibot’s root', v.variant('k', [v.object({ k: v.literal('a'), a: entry })])],
    ['a part of valibot’s root', v.intersect([v.object({ a: entry }), v.object({ b: v.string() })])],
    ['the rest of valibot’s root', v.objectWithRest({ a: v.string() }, entry)],
    ['valibot’s root', marked(v.object({ a: v.string() }))],
    ['a number of zod', z.object({ a: z.number().meta(mark('Region')) })],
    ['an item of zod', z.object({ a: z.array(z.string().meta(mark('Region'))) })],
    ['a choice of zod', z.object({ a: z.union([z.string().meta(mark('Region')), z.number()]) })],
    ['a type array (Q-18)', plain({ a: { type: ['string', 'null'], ...mark('Region') } })],
    ['no type', plain({ a: mark('Region') })],
    ['items', plain({ a: { type: 'array', items: json } })],
    ['prefixItems', plain({ a: { type: 'array', prefixItems: [json] } })],
    ['anyOf', { type: 'object', anyOf: [plain({ a: json })] }],
    ['if', { type: 'object', if: plain({ a: json }) }],
    ['$defs', { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: json } }],
    ['additionalProperties', { type: 'object', additionalProperties: json }],
    ['patternProperties', { type: 'object', patternProperties: { '^a': json } }],
    ['the root', { type: 'object', ...mark('Region') }],
  ])('%s', (_, schema) => {
    expect(() => headersOf(schema)).toThrow(/^tool t: x-mcp-header of .*: (it is not reached|only a string)/)
  })

  test('what only looks like a mark is none: data, and a property of that name', () => {
    expect(headersOf(plain({ a: { const: mark('a b') }, 'x-mcp-header': { type: 'number' } }))).toBeUndefined()
  })

  test('a mark in what is lazy is found when the JSON Schema is made', async () => {
    const server = mcp()
    const nested = v.object({ a: v.lazy(() => marked(v.string())) })
    server.tool('t', { inputSchema: nested }, () => 'x')
    const { transport, reported } = scene({}, server)
    const { message } = await modern(transport).request('tools/list')
    expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    expect(String(reported[0]?.error)).toContain('tool t: x-mcp-header of ')
  })
})

test('L-20 a secret that is mirrored is a warning', () => {
  const warnings: string[] = []
  const server = mcp({ onWarning: (text: string) => warnings.push(text) })
  const inputSchema = v.object({
    login: v.object({ password: marked(v.string(), 'Pass') }),
    region: marked(v.string()),
  })
  server.tool('t', { inputSchema }, () => 'x')
  expect(warnings).toEqual([
    'tool t: x-mcp-header of login.password: a header is seen by proxies and logs; do not mirror secrets',
  ])
})

describe.each(Object.entries(OF_EVERY_KIND))('%s on the wire', (_, inputSchema) => {
  function served() {
    const server = mcp({ validator: () => () => undefined })
    server.tool('t', { inputSchema }, (args) => JSON.stringify(args))
    return scene({}, server).transport
  }

  test('G-09 G-10 the first call is checked already, before any listing', async () => {
    const args = { cfg: { region: 'eu' }, n: 5 }
    const client = modern(served())
    const refused = await client.call('t', args)
    expect(refused).toMatchObject({ status: 400, message: { error: { code: -32020 } } })
    const headers = { 'mcp-param-region': 'eu', 'mcp-param-n': '5' }
    expect(textOf((await client.call('t', args, { headers })).message)).toBe(JSON.stringify(args))
  })

  test('L-18 L-19 the marks are in the listing, and legacy revisions look at no header', async () => {
    const transport = served()
    const [tool] = await listed(modern(transport), 'tools/list')
    expect(tool?.inputSchema).toMatchObject({
      properties: {
        cfg: { properties: { region: { type: 'string', ...mark('Region') } } },
        n: { type: 'integer', ...mark('N') },
        fast: { type: 'boolean', ...mark('Fast') },
      },
    })
    for (const version of LEGACY_VERSIONS) {
      const client = await clientOf(transport, version)
      expect((await client.call('t', { cfg: { region: 'eu' }, n: 5 })).message.result).not.toHaveProperty('isError')
    }
  })
})
