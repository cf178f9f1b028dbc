import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, MODERN } from '../../test-support/clients.ts'
import { listed, mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import type { Schema } from './config.ts'
import type { McpServer } from './index.ts'

/** A tool that returns what a test says, with that outputSchema. */
function returning(outputSchema: Schema | undefined, value: unknown): McpServer {
  const server = mcp()
  server.tool('returns', outputSchema ? { outputSchema } : {}, (() => value) as never)
  return server
}

interface ToolResult {
  content: { type: string; text: string }[]
  structuredContent?: unknown
  isError?: boolean
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  /** Of these revisions on there are structured results. */
  const isStructured = version !== '2025-03-26'
  const isModern = version === MODERN

  async function call(server: McpServer) {
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    const result = resultOf<ToolResult>(await client.call('returns'))
    const [tool] = await listed(client, 'tools/list')
    return { result, tool: tool!, reported }
  }

  test('L-10 L-13 P-16 an object goes out structured, and as text', async () => {
    const { result, tool } = await call(returning(v.object({ m: v.number() }), { m: 1 }))
    expect(result.content).toEqual([{ type: 'text', text: '{"m":1}' }])
    expect(result.structuredContent).toEqual(isStructured ? { m: 1 } : undefined)
    const schema = { type: 'object', properties: { m: { type: 'number' } }, required: ['m'] }
    if (isStructured) expect(tool.outputSchema).toMatchObject(schema)
    else expect(tool).not.toHaveProperty('outputSchema')
  })

  test('L-10 text that the handler brings along is kept', async () => {
    const whole = { content: [{ type: 'text', text: 'one' }], structuredContent: { m: 1 } }
    const { result } = await call(returning(v.object({ m: v.number() }), whole))
    expect(result.content).toEqual([{ type: 'text', text: 'one' }])
    expect(result.structuredContent).toEqual(isStructured ? { m: 1 } : undefined)
  })

  test.each<[string, Schema, unknown]>([
    ['an array', v.array(v.number()), [1, 2]],
    ['null', v.null(), null],
    ['false', v.boolean(), false],
    ['a number', v.number(), 0],
    ['a text', v.string(), ''],
  ])(
    'L-11 L-12 P-16 Q-29 %s goes out structured in 2026-07-28 only, and as text everywhere',
    async (_, schema, value) => {
      for (const returned of [value, { content: [], structuredContent: value }]) {
        const { result, tool } = await call(returning(schema, returned))
        expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(value) }])
        expect('structuredContent' in result).toBe(isModern)
        expect(result.structuredContent).toEqual(isModern ? value : undefined)
        expect('outputSchema' in tool).toBe(isModern)
      }
    },
  )

  test('L-11 L-12 a choice between objects has no object root, so that only 2026-07-28 is shown it', async () => {
    const choice = v.union([v.object({ a: v.string() }), v.object({ b: v.string() })])
    const { result, tool } = await call(returning(choice, { b: 'x' }))
    expect('outputSchema' in tool).toBe(isModern)
    expect(result.structuredContent).toEqual(isStructured ? { b: 'x' } : undefined)
  })

  test.each<[string, unknown]>([
    ['a wrong member', { m: 'no' }],
    ['nothing', undefined],
    ['null', null],
    ['a whole result with a wrong value', { content: [], structuredContent: { m: 'no' } }],
    ['a whole result without a value', { content: [] }],
    ['text', 'no'],
  ])('L-09 %s never goes out where it does not fit the schema', async (_, value) => {
    const { result, reported } = await call(returning(v.object({ m: v.number() }), value))
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'the tool has failed' }] })
    expect(result).not.toHaveProperty('structuredContent')
    expect(String(reported[0]?.error)).toContain('what returns returned does not fit its outputSchema: ')
  })

  test('L-09 what the schema does not know of is left out, and what it defaults is there', async () => {
    const schema = v.object({ m: v.optional(v.number(), 5) })
    const { result } = await call(returning(schema, { surplus: 'private' }))
    expect(result.content).toEqual([{ type: 'text', text: '{"m":5}' }])
  })

  test('L-09 Q-29 an error needs no structured value', async () => {
    const whole = { content: [{ type: 'text', text: 'no such city' }], isError: true }
    const { result, reported } = await call(returning(v.object({ m: v.number() }), whole))
    expect(result).toMatchObject(whole)
    expect(reported).toEqual([])
  })

  test('L-10 L-11 structuredContent without an outputSchema', async () => {
    const { result, tool } = await call(returning(undefined, { content: [], structuredContent: [1] }))
    expect(result.content).toEqual([{ type: 'text', text: '[1]' }])
    expect('structuredContent' in result).toBe(isModern)
    expect(tool).not.toHaveProperty('outputSchema')
  })

  test('L-09 a schema that takes its time', async () => {
    const server = mcp()
    const later = v.pipeAsync(
      v.object({ m: v.number() }),
      v.checkAsync(async ({ m }) => m > 0, 'too small'),
    )
    server.tool('returns', { inputSchema: later, outputSchema: later }, ({ m }) => ({ m: m - 1 }))
    const client = await clientOf(scene({}, server).transport, version)
    const result = resultOf<ToolResult>(await client.call('returns', { m: 2 }))
    expect(result.content).toEqual([{ type: 'text', text: '{"m":1}' }])
    expect(resultOf(await client.call('returns', { m: 1 }))).toMatchObject({ isError: true })
    const { message } = await client.call('returns', { m: 0 })
    if (version < '2025-11-25') expect(message.error?.message).toContain('too small')
    else
      expect(message.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('too small') }] })
  })
})
