// Structured output: checked by its schema, and shown as each revision knows it.
import { ToolError } from '@fairlead/core'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf } from '../../packages/core/test-support/clients.ts'
import { listed, mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
const WEATHER = v.object({ degrees: v.number(), city: v.optional(v.string(), 'Oslo') })

describe.each(ALL_VERSIONS)('%s', (version) => {
  const knowsObjects = version > '2025-03-26'
  const knowsAll = version > '2025-11-25'
  const on = (server: ReturnType<typeof mcp>) => clientOf(scene({}, server).transport, version)

  test.each<[string, () => unknown]>([
    ['the value', () => ({ degrees: 5 })],
    ['the value, later', async () => ({ degrees: 5 })],
    ['a result of it', () => ({ content: [], structuredContent: { degrees: 5 } })],
    ['a result without content', () => ({ structuredContent: { degrees: 5 } })],
  ])('L-09 L-10 L-13 P-16 %s goes out as its schema makes it, and as text', async (_form, handler) => {
    const server = mcp()
    server.tool('weather', { outputSchema: WEATHER }, handler as () => { degrees: number; city: string })
    const { content, structuredContent } = resultOf(await (await on(server)).call('weather'))
    expect(content).toEqual([{ type: 'text', text: '{"degrees":5,"city":"Oslo"}' }])
    expect(structuredContent).toEqual(knowsObjects ? { degrees: 5, city: 'Oslo' } : undefined)
  })

  test('L-10 content of its own stays as it is', async () => {
    const server = mcp()
    const content = [{ type: 'text' as const, text: 'cold' }]
    server.tool('weather', { outputSchema: WEATHER }, () => ({
      content,
      structuredContent: { degrees: 5, city: 'Oslo' },
    }))
    expect(resultOf(await (await on(server)).call('weather')).content).toEqual(content)
  })

  test.each<[string, unknown]>([
    ['another shape', { degrees: 'private-5' }],
    ['nothing', undefined],
    ['null', null],
    ['a text', 'private-5'],
    ['content', { type: 'text', text: 'private-5' }],
    ['a result of another shape', { content: [], structuredContent: { degrees: 'private-5' } }],
    ['a result without its value', { content: [{ type: 'text', text: 'private-5' }] }],
  ])('L-09 Q-29 %s is an error without the value', async (_what, value) => {
    const server = mcp()
    server.tool('weather', { outputSchema: WEATHER }, () => value as never)
    const { transport, reported } = scene({}, server)
    const { message, text } = await (await clientOf(transport, version)).call('weather')
    expect(message.result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'the tool has failed' }] })
    expect(message.result).not.toHaveProperty('structuredContent')
    expect(text).not.toContain('private-5')
    expect(String(reported[0]?.error)).toMatch(/what weather returned does not fit its outputSchema: /)
  })

  test('L-09 L-15 Q-29 an error needs no structured value', async () => {
    const server = mcp()
    server.tool('told', { outputSchema: WEATHER }, () => ({
      isError: true,
      content: [{ type: 'text', text: 'no such city' }],
    }))
    server.tool('thrown', { outputSchema: WEATHER }, () => {
      throw new ToolError('no such city')
    })
    const client = await on(server)
    for (const name of ['told', 'thrown']) {
      const { content, isError, structuredContent } = resultOf(await client.call(name))
      expect({ content, isError }).toEqual({ content: [{ type: 'text', text: 'no such city' }], isError: true })
      expect(structuredContent).toBeUndefined()
    }
  })

  test.each<[unknown, v.GenericSchema]>([
    [null, v.null()],
    [[], v.array(v.string())],
    [['a', 1], v.tuple([v.string(), v.number()])],
    [5, v.number()],
    [0, v.number()],
    ['', v.string()],
    ['x', v.picklist(['x', 'y'])],
    [false, v.boolean()],
    [{ a: 1 }, v.union([v.object({ a: v.number() }), v.null()])],
  ])('L-11 L-12 P-16 Q-29 the value %j', async (value, outputSchema) => {
    const server = mcp()
    server.tool('typed', { outputSchema }, () => value as never)
    server.tool('untyped', {}, () => ({ content: [], structuredContent: value }))
    const client = await on(server)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    for (const name of ['typed', 'untyped']) {
      const result = resultOf(await client.call(name))
      expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(value) }])
      expect('structuredContent' in result).toBe(knowsAll || (isObject && knowsObjects))
      if ('structuredContent' in result) expect(result.structuredContent).toEqual(value)
    }
    // Its root is no object: no revision but the last has such a thing.
    const [typed] = await listed(client, 'tools/list')
    expect('outputSchema' in typed!).toBe(knowsAll)
  })

  test('L-11 P-16 A-14 an outputSchema with an object root is shown from 2025-06-18 on, with its dialect', async () => {
    const server = mcp()
    server.tool('weather', { outputSchema: v.object({ degrees: v.number() }) }, () => ({ degrees: 5 }))
    const [tool] = await listed(await on(server), 'tools/list')
    const shown = {
      $schema: DIALECT,
      type: 'object',
      properties: { degrees: { type: 'number' } },
      required: ['degrees'],
    }
    expect(tool?.outputSchema).toEqual(knowsObjects ? shown : undefined)
  })
})
