// Who has gone, and who has not (S63): a body that was read is no disconnect, a response that closes unfinished is.
import { describe, expect, test } from 'vitest'
import { initialize } from '../../core/test-support/clients.ts'
import { modernCall, type NodeScene, nodeScene, type RawClient, rawPost } from '../../core/test-support/node.ts'
import { idle, until } from '../../core/test-support/scene.ts'
import { textOf } from '../../core/test-support/sse.ts'

const JSON_FORM = { streams: { streamAfterMs: 60_000 } }
const SSE_FORM = { streams: { streamAfterMs: 0 } }

/** A call of a session, as raw bytes. */
async function legacyCall(
  { connect }: NodeScene,
  version: string,
): Promise<{ body: string; headers: Record<string, string> }> {
  const client = await connect()
  const { headers } = await client.post(JSON.stringify(initialize(version)), {})
  client.drop()
  const params = { name: 'slow', arguments: { text: 'x' } }
  return {
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: { 'Mcp-Session-Id': headers.get('mcp-session-id')! },
  }
}

async function sendSlow(made: NodeScene): Promise<RawClient> {
  const client = await made.connect()
  const { body, headers } = modernCall('slow', { text: 'x' })
  client.write(rawPost(body, headers))
  await made.server.started('slow')
  return client
}

describe('S63 G-21 Q-30 2026-07-28', () => {
  test('a body that was read is no disconnect', async () => {
    const closed = Promise.withResolvers<void>()
    const made = await nodeScene(JSON_FORM, (handler) => (req, res) => {
      req.once('close', closed.resolve)
      handler(req, res)
    })
    const client = await sendSlow(made)
    await closed.promise
    expect(made.server.aborted).toEqual([])
    made.server.gates.open('slow')
    expect(textOf((await client.answer()).message)).toBe('x')
    expect(made.server.finished).toBe(1)
  })

  test('S24 a client that drops while it waits for JSON has cancelled, within a second though nothing is written', async () => {
    const made = await nodeScene(JSON_FORM)
    const client = await sendSlow(made)
    const dropped = performance.now()
    client.drop()
    await until(() => expect(made.server.aborted).toHaveLength(1))
    expect(performance.now() - dropped).toBeLessThan(1000)
    await idle(made.transport)
    expect(made.transport.stats().timers).toBe(0)
  })

  test.each(['drops', 'half-closes and drops'])('S24 a client that %s on an idle stream too', async (how) => {
    const made = await nodeScene({ streams: { streamAfterMs: 0, keepAliveMs: 0 } })
    const client = await sendSlow(made)
    expect((await client.head()).headers.get('content-type')).toBe('text/event-stream')
    const dropped = performance.now()
    if (how !== 'drops') client.socket.end()
    client.drop()
    await until(() => expect(made.server.aborted).toHaveLength(1))
    expect(performance.now() - dropped).toBeLessThan(1000)
    await idle(made.transport)
  })

  test('after a whole answer a connection that closes cancels nothing', async () => {
    const closed = Promise.withResolvers<void>()
    const { connect, server, transport } = await nodeScene({}, (handler) => (req, res) => {
      req.socket.once('close', closed.resolve)
      handler(req, res)
    })
    let signal: AbortSignal | undefined
    server.tool('keeps', (_args, ctx) => {
      signal = ctx.signal
      return { content: [] }
    })
    const client = await connect()
    const { body, headers } = modernCall('keeps')
    expect((await client.post(body, headers)).status).toBe(200)
    client.drop()
    await closed.promise
    await idle(transport)
    expect(signal?.aborted).toBe(false)
  })
})

describe.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
  'S24 B-08 %s: a client that drops has not cancelled',
  (version) => {
    test.each([
      ['JSON', JSON_FORM],
      ['a stream', SSE_FORM],
    ])('while it waits for %s', async (_form, options) => {
      const made = await nodeScene(options)
      const { body, headers } = await legacyCall(made, version)
      const client = await made.connect()
      client.write(rawPost(body, headers))
      await made.server.started('slow')
      if (options === SSE_FORM) await client.head()
      client.drop()
      await until(() => expect(made.transport.stats().connections).toBe(0))
      made.server.gates.open('slow')
      await until(() => expect(made.server.finished).toBe(1))
      expect(made.server.aborted).toEqual([])
      await idle(made.transport)
    })
  },
)

test('S12 many clients that vanish at once, with comments due: nothing is thrown, nothing is left', async () => {
  const made = await nodeScene({ streams: { streamAfterMs: 0, keepAliveMs: 2 } })
  const { body, headers } = await legacyCall(made, '2025-11-25')
  const clients = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const client = await made.connect()
      const call = modernCall('slow', { text: 'x' })
      client.write(i % 2 ? rawPost(call.body, call.headers) : rawPost(body, headers))
      await client.head()
      return client
    }),
  )
  for (const client of clients) client.drop()
  await until(() => expect(made.server.aborted).toHaveLength(20))
  await until(() => expect(made.transport.stats().connections).toBe(0))
  made.server.gates.open('slow')
  await idle(made.transport)
  const call = modernCall('echo', { text: 'still here' })
  expect(textOf((await (await made.connect()).post(call.body, call.headers)).message)).toBe('still here')
  expect(made.reported).toEqual([])
})

test('S13 a client that stops reading is cut off at the bound, and others go on', async () => {
  const made = await nodeScene({ streams: { maxBytes: 100_000 } })
  made.server.tool('flood', async (_args, ctx) => {
    for (let step = 1; !ctx.signal.aborted; step++) {
      await ctx.progress(step, undefined, 'x'.repeat(10_000))
      await new Promise((resolve) => setImmediate(resolve))
    }
    made.server.aborted.push(ctx.signal.reason)
    return { content: [] }
  })
  const client = await made.connect()
  const { body, headers } = modernCall('flood', {}, { progressToken: 1 })
  client.write(rawPost(body, headers))
  await client.head()
  client.socket.pause()
  await until(() => expect(made.server.aborted).toHaveLength(1))
  const call = modernCall('echo', { text: 'fine' })
  expect(textOf((await (await made.connect()).post(call.body, call.headers)).message)).toBe('fine')
  client.drop()
  await idle(made.transport)
})
