// Batches of 2025-03-26: each member by itself, the answers together.
import { describe, expect, test } from 'vitest'
import { legacy, sessionless } from '../../test-support/clients.ts'
import { listen } from '../../test-support/listener.ts'
import { scene, until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'

const request = (id: unknown, method: string, params?: object) => ({ jsonrpc: '2.0', id, method, params })
const call = (id: unknown, name: string, args: object = {}) =>
  request(id, 'tools/call', { name, arguments: args, _meta: { progressToken: id } })
const note = (method = 'notifications/x', params?: object) => ({ jsonrpc: '2.0', method, params })

async function start(options: TransportOptions = {}) {
  const made = scene(options)
  return { ...made, client: await legacy(made.transport, '2025-03-26', { capabilities: { roots: {} } }) }
}

describe('A-07 Q-25 S31 P-02 2025-03-26', () => {
  test('requests and notifications: a JSON array of the answers, each with its id', async () => {
    const { client, server } = await start()
    const answer = await read(
      client.send([request(1, 'ping'), note(), call('two', 'echo', { text: 'x' }), request(3, 'nope')]),
    )
    expect(answer).toMatchObject({ status: 200, form: 'json' })
    expect(answer.text).toMatch(/^\[.*\]$/)
    expect(answer.messages).toMatchObject([
      { id: 1, result: {} },
      { id: 'two', result: { content: [{ text: 'x' }] } },
      { id: 3, error: { code: -32601 } },
    ])
    expect(server.runs.echo).toBe(1)
  })

  test('to a client that takes streams alone: one event for each answer', async () => {
    const { client } = await start()
    const answer = await read(client.send([request(1, 'ping'), request(2, 'ping')], { accept: 'text/event-stream' }))
    expect(answer).toMatchObject({ status: 200, form: 'sse', messages: [{ id: 1 }, { id: 2 }] })
    expect(answer.text.match(/data: /g)).toHaveLength(2)
  })

  test.each<[string, unknown[]]>([
    ['notifications', [note(), note('notifications/initialized')]],
    [
      'responses',
      [
        { jsonrpc: '2.0', id: 'x', result: {} },
        { jsonrpc: '2.0', id: 'y', error: { code: 1, message: '' } },
      ],
    ],
  ])('%s alone: 202 and nothing else', async (_what, body) => {
    const { client } = await start()
    const response = await client.send(body)
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 202, text: '' })
    expect(response.headers.has('content-type')).toBe(false)
  })

  test('S29 a bad member: an error of its own, and the others are served', async () => {
    const { client } = await start()
    const bad = [5, null, {}, { jsonrpc: '2.0', id: 9, method: 5 }, [request(1, 'ping')], { id: 1, method: 'ping' }]
    const { messages } = await read(client.send([...bad, request(7, 'ping')]))
    expect(messages).toHaveLength(bad.length + 1)
    expect(messages.slice(0, -1).map(({ error }) => error!.code)).toEqual(bad.map(() => -32600))
    expect(messages.map(({ id }) => id)).toEqual([undefined, undefined, undefined, 9, undefined, 1, 7])
  })

  test.each<[string, (limit: number) => unknown[], number]>([
    ['empty', () => [], 400],
    ['with initialize', () => [request(1, 'initialize', { protocolVersion: '2025-03-26' }), call(2, 'echo')], 400],
    ['longer than limits.batch', (limit) => Array.from({ length: limit + 1 }, (_, i) => call(i + 1, 'echo')), 400],
  ])('%s: 400 -32600, and nothing runs', async (_what, body, status) => {
    const { client, server, transport } = await start({ limits: { batch: 5 } })
    const answer = await read(client.send(body(5)))
    expect(answer).toMatchObject({ status, form: 'json', message: { error: { code: -32600 } } })
    expect(answer.message).not.toHaveProperty('id')
    expect(server.runs).toEqual({})
    expect(transport.stats().sessions).toBe(1)
  })

  test('members run side by side, and their progress goes nowhere', async () => {
    const { client, server } = await start()
    const both = read(client.send([call(1, 'slow', { text: 'a', gate: 'a' }), call(2, 'steps', { n: 1 })]))
    await Promise.all([server.started('slow'), server.started('steps')])
    server.gates.open('step 1')
    server.gates.open('a')
    const { messages } = await both
    expect(messages.map(textOf)).toEqual(['a', 'done'])
  })

  test('E-17 a member can be cancelled, by another one too: it has no answer', async () => {
    const { client, server } = await start()
    const batch = read(client.send([call(1, 'slow'), request(2, 'ping')]))
    await server.started('slow')
    await client.send([note('notifications/cancelled', { requestId: 1 })])
    expect((await batch).messages).toMatchObject([{ id: 2, result: {} }])
    await until(() => expect(server.aborted).toHaveLength(1))
  })

  test('S20 what a member asks goes out on the GET, and answers come in batches too', async () => {
    const { client, server } = await start()
    server.tool('ask', async (_args, ctx) => ({ content: [{ type: 'text', text: (await ctx.roots())[0]!.uri }] }))
    const get = await listen(client)
    const batch = read(client.send([call(1, 'ask'), call(2, 'ask')]))
    const asked = await get.has(2)
    await client.send(asked.map(({ id }, i) => ({ jsonrpc: '2.0', id, result: { roots: [{ uri: `file:///${i}` }] } })))
    expect((await batch).messages.map(textOf).toSorted()).toEqual(['file:///0', 'file:///1'])
    await get.leave()
  })

  test('M-12 a member that lacks a scope has an error of its own', async () => {
    const { client, server } = await start({ auth: () => ({ id: 'a', scopes: ['read'] }) })
    server.tool('admin', () => ({ content: [] }), { scopes: ['admin'] })
    const answer = await read(client.send([call(1, 'admin'), request(2, 'ping')]))
    expect(answer).toMatchObject({
      status: 200,
      messages: [
        { id: 1, error: {} },
        { id: 2, result: {} },
      ],
    })
    expect(server.runs.admin).toBeUndefined()
  })

  test('W19 without a session: as 2025-03-26 where none are needed, else 400', async () => {
    const { transport } = scene({ sessions: false })
    const client = sessionless(transport)
    expect((await read(client.send([request(1, 'ping')]))).messages).toMatchObject([{ id: 1, result: {} }])
    const needed = scene()
    expect((await read(sessionless(needed.transport).send([request(1, 'ping')]))).status).toBe(400)
  })
})
