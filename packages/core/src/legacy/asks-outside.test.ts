// Requests to the client outside of a call, and answers that come to another node.
import { describe, expect, test } from 'vitest'
import { initialize, LEGACY_VERSIONS, legacy, post } from '../../test-support/clients.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, type Nodes, twoNodes } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import type { Session } from '../server.ts'
import { unreliable } from '../testing/unreliable.ts'
import type { Transport } from '../transport.ts'

const ROOTS = { capabilities: { roots: {} } }
const session = async (transport: Transport, { session: id }: { session: string }): Promise<Session> =>
  (await transport.session(id))!
/** How it failed, and that it did so at once. */
async function failure(work: Promise<unknown>): Promise<string> {
  const began = Date.now()
  const error = await work.then(
    () => undefined,
    (error: Error) => error,
  )
  expect(Date.now() - began).toBeLessThan(1000)
  return error!.message
}

describe.each(LEGACY_VERSIONS)('R25 %s', (version) => {
  test('S22 E-02 a request from either node goes out on the standalone stream of either, and any node takes the answer', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport, version, ROOTS)
    const nodes = [a, b]
    for (const reading of nodes) {
      const get = await listen(at(reading.transport, client, version))
      for (const asking of nodes) {
        for (const answering of nodes) {
          const asked = (await session(asking.transport, client)).request('roots/list')
          const seen = get.messages.length
          const request = (await get.has(seen + 1))[seen]!
          expect(request).toMatchObject({ method: 'roots/list' })
          const result = { roots: [{ uri: `file:///${seen}` }] }
          const { status } = await at(answering.transport, client, version).send({
            jsonrpc: '2.0',
            id: request.id,
            result,
          })
          expect(status).toBe(202)
          expect(await asked).toEqual(result)
        }
      }
      expect(new Set(get.messages.map(({ id }) => id)).size).toBe(4)
      await get.leave()
    }
  })

  test('E-19 ping, with an empty answer; an error is an McpError', async () => {
    const { transport } = scene()
    const client = await legacy(transport, version)
    const get = await listen(client)
    const held = await session(transport, client)
    const ping = held.request('ping')
    const [asked] = await get.has(1)
    await client.send({ jsonrpc: '2.0', id: asked!.id, result: {} })
    expect(await ping).toEqual({})
    const second = held.request('ping')
    await get.has(2)
    await client.send({ jsonrpc: '2.0', id: get.messages[1]!.id, error: { code: -32000, message: 'no', data: [1] } })
    await expect(second).rejects.toMatchObject({ code: -32000, message: 'no', data: [1] })
    await get.leave()
  })
})

describe('who can be asked', () => {
  test('with nobody to receive it, it fails at once, and does not wait for the next connection', async () => {
    const { transport } = scene()
    const client = await legacy(transport, '2025-11-25', ROOTS)
    const held = await session(transport, client)
    expect(await failure(held.request('roots/list'))).toMatch(/no stream open/)
    const get = await listen(client)
    await held.send('notifications/message', { level: 'info', data: 'end' })
    await get.has(1)
    expect(get.messages.map(({ method }) => method)).toEqual(['notifications/message'])
    await get.leave()
  })

  test('nor when the node that holds its stream is gone', async () => {
    const { a, b } = twoNodes({ leaseMs: 100 })
    const client = await legacy(a.transport, '2025-11-25', ROOTS)
    const get = await listen(at(b.transport, client))
    const held = await session(a.transport, client)
    b.line.kill()
    // Its inbox lives for two leases.
    await until(async () => expect(await held.send('notifications/message', { level: 'info', data: 1 })).toBe('kept'))
    expect(await failure(held.request('roots/list'))).toMatch(/no stream open/)
    b.line.mend()
    await get.leave()
  })

  test.each<[string, object, string, { mode: string } | { tools: [] } | undefined]>([
    ['roots', {}, 'roots/list', undefined],
    ['sampling', { roots: {} }, 'sampling/createMessage', undefined],
    ['elicitation', {}, 'elicitation/create', undefined],
    ['E-03 a URL, to one that takes forms', { elicitation: {} }, 'elicitation/create', { mode: 'url' }],
    ['E-12 sampling with tools', { sampling: {} }, 'sampling/createMessage', { tools: [] }],
  ])('E-01 %s that was not declared: refused here, nothing goes out', async (_what, capabilities, method, params) => {
    const { transport } = scene()
    const client = await legacy(transport, '2025-11-25', { capabilities })
    const get = await listen(client)
    expect(await failure((await session(transport, client)).request(method, params))).toMatch(/declared|params/)
    await get.leave()
    expect(get.messages).toEqual([])
  })

  test('A-12 before notifications/initialized has come: a ping, log messages, and no other request', async () => {
    const { transport } = scene()
    const { headers } = await read(post(transport, initialize('2025-11-25', { roots: {} })))
    const client = { session: headers.get('mcp-session-id')! }
    const here = at(transport, client)
    const get = await listen(here)
    const held = await session(transport, client)
    expect(await failure(held.request('roots/list'))).toMatch(/handshake/)
    const ping = held.request('ping')
    await held.send('notifications/message', { level: 'info', data: 1 })
    await get.has(2)
    const asked = (method: string) => get.messages.find((message) => message.method === method)!.id
    await here.send({ jsonrpc: '2.0', id: asked('ping'), result: {} })
    await ping
    await here.notify('notifications/initialized')
    const roots = held.request('roots/list')
    await get.has(3)
    await here.send({ jsonrpc: '2.0', id: asked('roots/list'), result: { roots: [] } })
    expect(await roots).toEqual({ roots: [] })
    await get.leave()
  })
})

describe('E-20 how long', () => {
  test('timeoutMs: it is cancelled, and what comes after that is dropped', async () => {
    const { transport } = scene()
    const client = await legacy(transport, '2025-11-25', ROOTS)
    const get = await listen(client)
    const asked = (await session(transport, client)).request('roots/list', undefined, { timeoutMs: 30 })
    await expect(asked).rejects.toThrow(/30 ms/)
    const [request, cancel] = await get.has(2)
    expect(cancel).toMatchObject({ method: 'notifications/cancelled', params: { requestId: request!.id } })
    expect((await client.send({ jsonrpc: '2.0', id: request!.id, result: { roots: [] } })).status).toBe(202)
    await get.leave()
  })

  test('one that is too late for a connection is not delivered to it', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport, '2025-11-25', ROOTS)
    const first = await listen(at(b.transport, client))
    // The node of the stream hears nothing for a while.
    b.line.cut()
    const asked = (await session(a.transport, client)).request('roots/list', undefined, { timeoutMs: 30 })
    await expect(asked).rejects.toThrow(/30 ms/)
    const second = await listen(client)
    await (await session(a.transport, client)).send('notifications/message', { level: 'info', data: 'end' })
    await until(() => expect(second.messages.at(-1)?.params?.data).toBe('end'))
    expect(second.messages.map(({ method }) => method)).not.toContain('roots/list')
    b.line.mend()
    await first.ended
    await second.leave()
    expect(first.messages).toEqual([])
  })

  test('signal: the client is told, with nothing left to wait for', async () => {
    const { transport } = scene()
    const client = await legacy(transport, '2025-11-25', ROOTS)
    const get = await listen(client)
    const stop = new AbortController()
    const asked = (await session(transport, client)).request('roots/list', undefined, { signal: stop.signal })
    await get.has(1)
    stop.abort(new Error('never mind'))
    await expect(asked).rejects.toThrow('never mind')
    expect((await get.has(2))[1]).toMatchObject({ method: 'notifications/cancelled' })
    const before = (await session(transport, client)).request('roots/list', undefined, { signal: stop.signal })
    await expect(before).rejects.toThrow('never mind')
    await get.leave()
    expect(get.messages).toHaveLength(2)
  })
})

describe.each([false, true])('S22 W13 answers inside of a call, at the other node; replies get lost: %s', (lossy) => {
  const auth: TransportOptions['auth'] = (request) => ({ id: request.headers.get('x-user') ?? 'alice' })

  async function start(): Promise<Nodes & { ask: Listener; client: Awaited<ReturnType<typeof legacy>>; id: string }> {
    const nodes = twoNodes({ auth }, lossy ? (store) => unreliable(store) : undefined)
    nodes.a.server.tool('ask', async (_args, ctx) => {
      const [root] = await ctx.roots()
      return { content: [{ type: 'text', text: root!.uri }] }
    })
    const client = await legacy(nodes.a.transport, '2025-11-25', ROOTS)
    const ask = new Listener(await client.stream('ask'))
    const [{ id }] = (await ask.has(1)) as [{ id: string }]
    return { ...nodes, client, ask, id }
  }

  const roots = (uri: string) => ({ roots: [{ uri: `file:///${uri}` }] })

  test('the first counts, and once', async () => {
    const { b, client, ask, id } = await start()
    const there = at(b.transport, client)
    expect((await there.send({ jsonrpc: '2.0', id, result: roots('first') })).status).toBe(202)
    expect((await there.send({ jsonrpc: '2.0', id, result: roots('second') })).status).toBe(202)
    expect((await client.send({ jsonrpc: '2.0', id, result: roots('third') })).status).toBe(202)
    await ask.ended
    expect(textOf(ask.messages.at(-1)!)).toBe('file:///first')
    expect(ask.messages).toHaveLength(2)
  })

  test('C-08 W22 not from another session, another user, or with an id that is nearly it', async () => {
    const { a, b, client, ask, id } = await start()
    const stranger = await legacy(a.transport, '2025-11-25', ROOTS)
    const bob = await legacy(a.transport, '2025-11-25', { ...ROOTS, headers: { 'x-user': 'bob' } })
    for (const { transport } of [a, b]) {
      await at(transport, stranger).send({ jsonrpc: '2.0', id, result: roots('stranger') })
      await at(transport, bob, '2025-11-25', { 'x-user': 'bob' }).send({ jsonrpc: '2.0', id, result: roots('bob') })
      const stolen = at(transport, client, '2025-11-25', { 'x-user': 'bob' })
      expect((await stolen.send({ jsonrpc: '2.0', id, result: roots('thief') })).status).toBe(404)
      for (const near of [`${id}x`, id.slice(0, -1), `AAAAAAAAAAAA${id.slice(12)}`, 1, '']) {
        expect((await at(transport, client).send({ jsonrpc: '2.0', id: near, result: roots('near') })).status).toBe(202)
      }
    }
    expect(ask.over).toBe(false)
    await at(b.transport, client).send({ jsonrpc: '2.0', id, result: roots('mine') })
    await ask.ended
    expect(textOf(ask.messages.at(-1)!)).toBe('file:///mine')
  })

  test('E-11 what a session is sent about its elicitation reaches that session alone', async () => {
    const { a, b, client, ask, id } = await start()
    const other = await legacy(a.transport)
    const [own, foreign] = [await listen(client), await listen(other)]
    const held = await session(b.transport, client)
    await held.send('notifications/elicitation/complete', { elicitationId: 'e1' })
    await own.has(1)
    await a.transport.notify.toolsChanged()
    await Promise.all([own.has(2), foreign.has(1)])
    expect(own.messages[0]).toMatchObject({ params: { elicitationId: 'e1' } })
    expect(foreign.messages).toHaveLength(1)
    await Promise.all([own.leave(), foreign.leave()])
    await client.send({ jsonrpc: '2.0', id, result: roots('end') })
    await ask.ended
  })
})
