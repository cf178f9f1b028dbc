// Draining, and the limits that refuse for now.
import { describe, expect, test, vi } from 'vitest'
import {
  ALL_VERSIONS,
  clientOf,
  initialize,
  legacy,
  modern,
  modernMeta,
  post,
  sessionless,
  verb,
} from '../test-support/clients.ts'
import { scene, until } from '../test-support/scene.ts'
import { type Answer, Frames, read, textOf } from '../test-support/sse.ts'
import { memoryStore } from './memory-store.ts'
import type { TransportOptions } from './options.ts'

function expectUnavailable(answer: Answer): void {
  expect(answer).toMatchObject({ status: 503, form: 'json', message: { error: { code: expect.any(Number) } } })
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
}

/** Has it settled by now? */
async function isPending(work: Promise<unknown>): Promise<boolean> {
  const pending = Symbol()
  await new Promise((resolve) => setImmediate(resolve))
  return (await Promise.race([work, pending])) === pending
}

describe.each(ALL_VERSIONS)('R32 drain: %s', (version) => {
  const PATIENT: TransportOptions = { streams: { streamAfterMs: 60_000 } }

  test('running calls finish, in either form, while new ones are refused', async () => {
    const { transport, server } = scene(PATIENT)
    const client = await clientOf(transport, version)
    const json = client.call('slow', { text: 'a' })
    const frames = await client.stream('steps', { n: 1 }, { meta: { progressToken: 1 } })
    await server.started('slow')

    const closing = transport.close()
    expectUnavailable(await client.call('echo', { text: 'x' }))
    expect(await isPending(closing)).toBe(true)
    server.gates.open('slow')
    server.gates.open('step 1')
    expect(textOf((await json).message)).toBe('a')
    expect((await frames.rest()).map(textOf)).toContain('done')
    await closing
    expect(server.runs.echo).toBeUndefined()
  })

  test('the deadline ends them with an error, and their handlers hear of it', async () => {
    const { transport, server } = scene(PATIENT)
    const client = await clientOf(transport, version)
    const json = client.call('slow', { text: 'a' }, { id: 5 })
    const frames = await client.stream('steps', { n: 1 }, { id: 6, meta: { progressToken: 1 } })
    await server.started('slow')
    await transport.close({ timeoutMs: 10 })
    expect((await json).message).toMatchObject({ id: 5, error: { code: -32603 } })
    expect((await frames.rest()).at(-1)).toMatchObject({ id: 6, error: { code: -32603 } })
    await until(() => expect(server.aborted).toHaveLength(1))
  })
})

describe('R32 R33 close', () => {
  test('every verb is refused after it, and with nothing running it is at once', async () => {
    const { transport } = scene()
    const { session } = await legacy(transport)
    await transport.close()
    for (const method of ['GET', 'DELETE']) {
      expectUnavailable(await read(verb(transport, method, { 'mcp-session-id': session })))
    }
    expectUnavailable(await read(post(transport, initialize('2025-11-25'))))
    expectUnavailable(await modern(transport).call('echo'))
  })

  test('a browser that is refused can read why', async () => {
    const { transport } = scene({ cors: true })
    await transport.close()
    const { headers } = await post(transport, {}, { origin: 'http://localhost:5173' })
    expect(headers.get('access-control-allow-origin')).toBe('http://localhost:5173')
  })

  test('a second close waits for the same end', async () => {
    const { transport, server } = scene()
    const call = modern(transport).call('slow', { text: '' })
    await server.started('slow')
    const [first, second] = [transport.close(), transport.close()]
    expect(await isPending(second)).toBe(true)
    server.gates.open('slow')
    await Promise.all([call, first, second])
  })

  test('await using closes', async () => {
    const { transport } = scene()
    await transport[Symbol.asyncDispose]()
    expectUnavailable(await modern(transport).call('echo'))
  })

  test('no handler starts after close has resolved: a body that comes late is refused', async () => {
    const { transport, server } = scene()
    const bytes = new TransformStream<Uint8Array, Uint8Array>()
    const headers = {
      'content-type': 'application/json',
      host: 'localhost',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    }
    const init = { method: 'POST', headers, body: bytes.readable, duplex: 'half' } as RequestInit
    const late = transport.handle(new Request('http://localhost/mcp', init))
    const closed = transport.close({ timeoutMs: 10 })
    const before = closed.then(() => server.runs['tools/list'] ?? 0)
    const writer = bytes.writable.getWriter()
    const params = { _meta: modernMeta() }
    await Promise.race([closed, isPending(closed)])
    await writer.write(
      new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params })),
    )
    await writer.close()
    const answer = await read(late)
    expect(server.runs['tools/list'] ?? 0).toBe(await before)
    if ((await before) === 0) expectUnavailable(answer)
  })

  test('a store that was given stays open; one that it made itself is closed', async () => {
    const store = memoryStore()
    const close = vi.spyOn(store, 'close')
    const { transport } = scene({ store })
    await legacy(transport)
    await transport.close()
    expect(close).not.toHaveBeenCalled()
    await store.close()
  })

  test('the server’s changes are not listened to any more', async () => {
    const { transport, server, reported } = scene()
    await transport.close()
    server.changed('tools')
    await new Promise((resolve) => setImmediate(resolve))
    expect(reported).toEqual([])
  })
})

describe('limits', () => {
  test('S34 bodyBytes: 413, and the next request is served', async () => {
    const { transport } = scene({ limits: { bodyBytes: 1000 } })
    const client = modern(transport)
    expect((await client.call('echo', { text: 'x'.repeat(400) })).status).toBe(200)
    const answer = await client.call('echo', { text: 'x'.repeat(1000) })
    expect(answer).toMatchObject({ status: 413, form: 'json', message: { error: { code: -32600 } } })
    expect((await client.call('echo', { text: '' })).status).toBe(200)
  })

  test('jsonDepth: 400 without parsing', async () => {
    const { transport, server } = scene({ limits: { jsonDepth: 10 } })
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    const client = modern(transport)
    expect((await client.call('echo', { deep: nested(7) })).status).toBe(200)
    expect(await client.call('echo', { deep: nested(8) })).toMatchObject({
      status: 400,
      message: { error: { code: -32600 } },
    })
    const bomb = await read(post(transport, '['.repeat(1_000_000)))
    expect(bomb).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
    expect(server.runs.echo).toBe(1)
  })

  test.each(ALL_VERSIONS)('inFlight: 503 with the id, until one is done: %s', async (version) => {
    const { transport, server } = scene({ limits: { inFlight: 2 } })
    const client = await clientOf(transport, version)
    const running = [client.call('slow', { text: 'a' }, { id: 1 }), client.call('slow', { text: 'b' }, { id: 2 })]
    await server.started('slow', 2)
    const refused = await client.call('echo', { text: 'c' }, { id: 'third' })
    expectUnavailable(refused)
    expect(refused.message.id).toBe('third')
    // What ends work is always taken.
    expect((await client.notify('notifications/cancelled', { requestId: 99 })).status).toBe(202)
    server.gates.open('slow')
    await Promise.all(running)
    expect((await client.call('echo', { text: 'd' })).status).toBe(200)
  })

  test('inFlight holds without sessions too', async () => {
    const { transport, server } = scene({ limits: { inFlight: 1 }, sessions: false, streams: { streamAfterMs: 0 } })
    const client = sessionless(transport, '2025-06-18')
    const running = new Frames(await client.open('tools/call', { name: 'slow', arguments: { text: '' } }))
    expectUnavailable(await client.call('echo'))
    server.gates.open('slow')
    await running.rest()
    expect((await client.call('echo', { text: '' })).status).toBe(200)
  })
})
