// use(): what runs around every method.
import { McpError, McpServer, ToolError } from '@fairlead/core'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, MODERN } from '../../packages/core/test-support/clients.ts'
import { mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'
import { textOf } from '../../packages/core/test-support/sse.ts'

const METHODS: readonly [string, object][] = [
  ['tools/list', {}],
  ['tools/call', { name: 't', arguments: {} }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'p' }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'note://1' }],
  ['completion/complete', { ref: { type: 'ref/resource', uri: 'note://{id}' }, argument: { name: 'id', value: '' } }],
]

function filled() {
  const server = mcp()
  server.tool('t', {}, () => 'x')
  server.prompt('p', {}, () => 'x')
  server.resource('note://{id}', { complete: { id: () => [] } }, () => 'x')
  return server
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  test.each(METHODS)('L-17 it runs around %s, the first one outermost', async (method, params) => {
    const server = filled()
    const plain = await clientOf(scene({}, filled()).transport, version)
    const seen: unknown[] = []
    for (const name of ['outer', 'inner']) {
      server.use(async (call, next) => {
        seen.push(`${name} ${call.method}`)
        expect(call.params).toMatchObject(params)
        expect(call.ctx.protocolVersion).toBe(version)
        const result = await next()
        seen.push(name)
        return result
      })
    }
    const client = await clientOf(scene({}, server).transport, version)
    const { text } = await client.request(method, { ...params }, { id: 1 })
    expect(text).toBe((await plain.request(method, { ...params }, { id: 1 })).text)
    expect(seen).toEqual([`outer ${method}`, `inner ${method}`, 'inner', 'outer'])
  })

  test('L-17 L-30 it refuses, answers, changes and sees errors', async () => {
    const server = mcp()
    let runs = 0
    server.tool('runs', { inputSchema: v.object({ n: v.number() }) }, ({ n }) => {
      runs++
      if (n === 1) throw new ToolError('told')
      if (n === 2) throw new McpError(-31000, 'refused')
      return 'x'
    })
    const seen: unknown[] = []
    server.use(async ({ params }, next) => {
      const { arguments: { n } = {} } = params as { arguments?: { n?: number } }
      if (n === 10) throw new McpError(-31010, 'not you')
      if (n === 11) throw new Error('private')
      if (n === 12) return { content: [{ type: 'text', text: 'from the middleware' }] }
      try {
        const result = await next()
        seen.push(result.isError ?? false)
        return n === 13 ? { ...result, content: [{ type: 'text', text: 'changed' }] } : result
      } catch (error) {
        seen.push((error as McpError).code)
        throw error
      }
    })
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    const call = async (n: number) => (await client.call('runs', { n })).message
    expect((await call(10)).error).toEqual({ code: -31010, message: 'not you' })
    expect((await call(11)).error).toEqual({ code: -32603, message: 'internal error' })
    expect(reported.map(({ error }) => String(error))).toEqual(['Error: private'])
    expect(textOf(await call(12))).toBe('from the middleware')
    expect(runs).toBe(0)
    expect(textOf(await call(13))).toBe('changed')
    expect(await call(1)).toMatchObject({ result: { isError: true } })
    expect((await call(2)).error).toEqual({ code: -31000, message: 'refused' })
    expect(seen).toEqual([false, true, -31000])
  })

  test('L-17 what it is not for: the methods of the transport, and those that there are not', async () => {
    const server = filled()
    const seen: string[] = []
    server.use(({ method }, next) => {
      seen.push(method)
      return next()
    })
    const client = await clientOf(scene({}, server).transport, version)
    await client.request(version === MODERN ? 'server/discover' : 'ping')
    expect((await client.request('nope/nope')).message.error?.code).toBe(-32601)
    expect(seen).toEqual([])
  })

  test('L-17 the context of the app is there', async () => {
    const server = new McpServer<{ tenant: string }>({ name: 'test', version: '1.0.0' })
    server.tool('own', {}, (_args, { context }) => context.tenant)
    server.use(async ({ ctx }, next) => {
      if (ctx.context.tenant === 'closed') throw new McpError(-31000, 'closed')
      return next()
    })
    const context = (request: Request) => ({ tenant: request.headers.get('x-tenant') ?? 'closed' })
    const client = await clientOf(scene({ context }, server as never).transport, version)
    expect((await client.call('own')).message.error?.code).toBe(-31000)
    expect(textOf((await client.call('own', {}, { headers: { 'x-tenant': 'a' } })).message)).toBe('a')
  })
})

test('L-17 one that is given later runs from then on', async () => {
  const server = filled()
  const client = await clientOf(scene({}, server).transport, MODERN)
  expect(resultOf(await client.request('tools/list')).tools).toHaveLength(1)
  server.use(async (_call, next) => ({ ...(await next()), tools: [] }))
  expect(resultOf(await client.request('tools/list')).tools).toEqual([])
  for (const none of [undefined, {}, 'x']) expect(() => server.use(none as never)).toThrow('use takes a function')
})
