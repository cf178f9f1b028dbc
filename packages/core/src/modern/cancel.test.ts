import { describe, expect, test } from 'vitest'
import { modern } from '../../test-support/clients.ts'
import { idle, scene, until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'

const PATIENT = { streams: { streamAfterMs: 60_000 } }

describe('S24 G-21 P-10 a client that goes away has cancelled', () => {
  test('Q-30 while it waits for JSON', async () => {
    const { transport, server } = scene(PATIENT)
    const client = new AbortController()
    const call = modern(transport).open('tools/call', { name: 'slow', arguments: {} }, { signal: client.signal })
    await server.started('slow')
    client.abort()
    await until(() => expect(server.aborted).toHaveLength(1))
    expect((await read(call)).messages).toEqual([])
    await idle(transport)
    expect(transport.stats().timers).toBe(0)
  })

  test.each(['by its signal', 'by its body'])('while it reads a stream, %s', async (how) => {
    const { transport, server } = scene()
    const client = new AbortController()
    server.tool('talk', async (_args, ctx) => {
      await ctx.progress(1)
      await server.gates.pass('never', ctx.signal).catch((reason) => server.aborted.push(reason))
      await ctx.progress(2)
      return { content: [] }
    })
    const frames = await modern(transport).stream('talk', {}, { signal: client.signal, meta: { progressToken: 1 } })
    expect((await frames.message())?.params?.progress).toBe(1)
    if (how === 'by its body') await frames.cancel()
    else client.abort()
    await until(() => expect(server.aborted).toHaveLength(1))
    if (how === 'by its signal') expect(await frames.rest()).toEqual([])
    await idle(transport)
    expect(transport.stats().timers).toBe(0)
  })

  test('before its request was looked at: the handler does not run on', async () => {
    const { transport, server } = scene()
    const sent = { signal: AbortSignal.abort() }
    const answer = await modern(transport)
      .call('slow', {}, sent)
      .catch((error: Error) => error)
    // A Request with a fired signal may refuse its body; either way nothing runs and nothing is thrown by handle.
    if (!(answer instanceof Error)) expect(answer.message.result).toBeUndefined()
    await idle(transport)
    expect(server.finished).toBe(0)
  })

  test('while the app makes its context: the handler never runs', async () => {
    const gate = Promise.withResolvers<void>()
    const { transport, server } = scene({ context: () => gate.promise })
    const client = new AbortController()
    const call = modern(transport).open('tools/call', { name: 'echo', arguments: {} }, { signal: client.signal })
    await until(() => expect(transport.stats().inFlight).toBe(1))
    client.abort()
    await read(call)
    gate.resolve()
    await idle(transport)
    expect(server.runs.echo).toBeUndefined()
  })

  test('one client’s leaving does not stop another’s call with the same id', async () => {
    const { transport, server } = scene(PATIENT)
    const client = new AbortController()
    const sent = { id: 1 }
    const gone = modern(transport).open(
      'tools/call',
      { name: 'slow', arguments: {} },
      { ...sent, signal: client.signal },
    )
    const stays = modern(transport).call('slow', { text: 'mine' }, sent)
    await server.started('slow', 2)
    client.abort()
    await until(() => expect(server.aborted).toHaveLength(1))
    server.gates.open('slow')
    expect(textOf((await stays).message)).toBe('mine')
    await read(gone)
  })
})

test('S63 after the answer the signal does not fire any more', async () => {
  const { transport, server } = scene()
  let signal: AbortSignal | undefined
  server.tool('keeps', (_args, ctx) => {
    signal = ctx.signal
    return { content: [] }
  })
  const client = new AbortController()
  await modern(transport).call('keeps', {}, { signal: client.signal })
  client.abort()
  await idle(transport)
  expect(signal?.aborted).toBe(false)
})

test('S13 a reader that stops reading is cut off at the bound, its handler is told, and others go on', async () => {
  const { transport, server } = scene({ streams: { maxBytes: 10_000 } })
  server.tool('flood', async (_args, ctx) => {
    for (let step = 1; !ctx.signal.aborted; step++) {
      await ctx.progress(step, undefined, 'x'.repeat(1000))
      if (step % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    server.aborted.push(ctx.signal.reason)
    return { content: [] }
  })
  const flooded = modern(transport).stream('flood', {}, { meta: { progressToken: 1 } })
  await until(() => expect(server.aborted).toHaveLength(1))
  expect(textOf((await modern(transport).call('echo', { text: 'fine' })).message)).toBe('fine')
  await (await flooded).cancel()
})
