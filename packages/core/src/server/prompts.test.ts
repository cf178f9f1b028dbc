import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ALL_VERSIONS, clientOf, MODERN } from '../../test-support/clients.ts'
import { listed, mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { McpError } from '../errors.ts'
import { type McpServer, ToolError } from './index.ts'

const PRIVATE = 'private-5d0c'
const ICON = { src: 'https://x.example/icon.png' }

function greeter(): McpServer {
  const server = mcp()
  const argsSchema = v.object({
    name: v.pipe(v.string(), v.title('Name'), v.description('who is greeted'), v.minLength(1)),
    times: v.optional(v.pipe(v.string(), v.transform(Number)), '1'),
  })
  server.prompt('greet', { argsSchema, description: 'Greets.' }, ({ name, times }) => `Hello, ${name}! `.repeat(times))
  return server
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const clientOn = (server: McpServer) => clientOf(scene({}, server).transport, version)
  const isOld = version === '2025-03-26'

  test('L-29 a text is a message of the user, with what the schema makes of the arguments', async () => {
    const client = await clientOn(greeter())
    const get = async (args: object) =>
      (await client.request('prompts/get', { name: 'greet', arguments: args })).message
    expect((await get({ name: 'Ada' })).result).toMatchObject({
      description: 'Greets.',
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello, Ada! ' } }],
    })
    expect((await get({ name: 'Ada', times: '2', surplus: 'x' })).result?.messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Hello, Ada! Hello, Ada! ' } },
    ])
  })

  test.each<[string, unknown]>([
    ['no arguments', undefined],
    ['a required one missing', { times: '1' }],
    ['one that does not fit', { name: '' }],
    ['a number', { name: 5 }],
    ['a number that is optional', { name: 'Ada', times: 2 }],
    ['null', { name: null }],
    ['a surplus one that is no text', { name: 'Ada', surplus: {} }],
    ['arguments that are a list', ['Ada']],
    ['arguments that are a text', 'Ada'],
    ['arguments that are null', null],
  ])('L-29 L-30 P-15 %s: -32602, and the handler does not run', async (_, args) => {
    const server = mcp()
    let runs = 0
    const argsSchema = v.object({ name: v.pipe(v.string(), v.minLength(1)), times: v.optional(v.string()) })
    server.prompt('greet', { argsSchema }, () => {
      runs++
      return 'x'
    })
    const client = await clientOn(server)
    const { status, message } = await client.request('prompts/get', { name: 'greet', arguments: args })
    expect(status).toBe(200)
    expect(message.error?.code).toBe(-32602)
    expect(message.error?.message).toMatch(/^(the arguments of greet are not valid: |params.arguments must be)/)
    expect(runs).toBe(0)
  })

  test('L-29 an unknown name: -32602', async () => {
    const client = await clientOn(greeter())
    for (const name of ['nope', 'Greet', '__proto__']) {
      const { status, message } = await client.request('prompts/get', { name })
      expect({ status, ...message.error }).toEqual({
        status: 200,
        code: -32602,
        message: `there is no prompt ${JSON.stringify(name)}`,
      })
    }
    const { message } = await client.request('prompts/get', { name: 5 })
    expect(message.error?.code).toBe(version === MODERN ? -32020 : -32602)
  })

  test('L-29 what a handler throws is an internal error, and its text stays here; but a McpError is its own', async () => {
    const server = mcp()
    const thrown: Record<string, unknown> = {
      error: new Error(PRIVATE),
      'tool-error': new ToolError(PRIVATE),
      undefined: undefined,
      own: new McpError(-31000, 'busy', { after: 1 }),
    }
    for (const name of Object.keys(thrown)) {
      server.prompt(name, {}, () => {
        throw thrown[name]
      })
    }
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    for (const name of ['error', 'tool-error', 'undefined']) {
      const { message, text } = await client.request('prompts/get', { name })
      expect(message.error).toEqual({ code: -32603, message: 'internal error' })
      expect(text).not.toContain(PRIVATE)
      expect(reported.pop()?.error).toBe(thrown[name])
    }
    const { message } = await client.request('prompts/get', { name: 'own' })
    expect(message.error).toEqual({ code: -31000, message: 'busy', data: { after: 1 } })
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['a number', 5],
    ['an object', { messages: [] }],
    ['a role that is none', [{ role: 'system', content: { type: 'text', text: 'x' } }]],
    ['a message without content', [{ role: 'user' }]],
    ['a list of contents', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]],
  ])('L-29 L-30 %s is no result, so it is an internal error', async (_, value) => {
    const server = mcp()
    server.prompt('p', {}, () => value as string)
    const { message } = await (await clientOn(server)).request('prompts/get', { name: 'p' })
    expect(message.error).toEqual({ code: -32603, message: 'internal error' })
  })

  test('L-22 messages of either role, and none', async () => {
    const server = mcp()
    const link = { type: 'resource_link' as const, uri: 'a://b', name: 'b' }
    server.prompt('many', {}, async () => [
      { role: 'user', content: { type: 'image', data: new Uint8Array([1]), mimeType: 'image/png' } },
      { role: 'assistant', content: link },
    ])
    server.prompt('none', {}, () => [])
    const client = await clientOn(server)
    expect(resultOf(await client.request('prompts/get', { name: 'many' })).messages).toEqual([
      { role: 'user', content: { type: 'image', data: 'AQ==', mimeType: 'image/png' } },
      { role: 'assistant', content: isOld ? { type: 'text', text: 'b: a://b' } : link },
    ])
    expect(resultOf(await client.request('prompts/get', { name: 'none' })).messages).toEqual([])
  })

  test('L-34 P-22 the listing has the arguments, and what the revision knows', async () => {
    const server = greeter()
    const _meta = { 'own.example/a': 1 }
    server.prompt('bare', { title: 'Bare', icons: [ICON], _meta }, () => 'x')
    server.prompt('zod', { argsSchema: z.object({ city: z.string().describe('where') }) }, ({ city }) => city)
    expect(await listed(await clientOn(server), 'prompts/list')).toEqual([
      {
        name: 'greet',
        description: 'Greets.',
        arguments: [
          { name: 'name', ...(isOld ? {} : { title: 'Name' }), description: 'who is greeted', required: true },
          { name: 'times', required: false },
        ],
      },
      {
        name: 'bare',
        ...(isOld ? {} : { title: 'Bare', _meta }),
        ...(version > '2025-06-18' ? { icons: [ICON] } : {}),
      },
      { name: 'zod', arguments: [{ name: 'city', description: 'where', required: true }] },
    ])
  })
})

describe('what a prompt is registered with', () => {
  test('a name, and one that is free', () => {
    for (const name of ['', undefined, 5]) {
      expect(() => mcp().prompt(name as string, {}, () => 'x')).toThrow('a prompt must have a name')
    }
    expect(() => greeter().prompt('greet', {}, () => 'x')).toThrow('prompt "greet" is registered already')
    expect(() => mcp().prompt('p', {}, 'x' as never)).toThrow('prompt p: the handler must be a function')
  })

  test.each<[string, object]>([
    ['title', { title: 5 }],
    ['icons.0.src', { icons: [{ src: 'javascript:x' }] }],
    ['complete.a', { complete: { a: 'x' } }],
    ['complete.a', { complete: { a: () => [] } }],
    ['complete.b', { argsSchema: z.object({ a: z.string() }), complete: { b: () => [] } }],
    ['inputSchema', { inputSchema: {} }],
  ])('L-34 option %s: %j', (option, config) => {
    expect(() => mcp().prompt('p', config, () => 'x')).toThrow(`prompt p: option ${option}: `)
  })

  test('L-30 arguments that are no object', () => {
    for (const argsSchema of [null, v.string(), z.array(z.string())]) {
      expect(() => mcp().prompt('p', { argsSchema: argsSchema as never }, () => 'x')).toThrow(/^prompt p: argsSchema/)
    }
  })
})
