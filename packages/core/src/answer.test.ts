import { describe, expect, test } from 'vitest'
import {
  ALL_VERSIONS,
  clientOf,
  initialize,
  LEGACY_VERSIONS,
  modern,
  post,
  sessionless,
} from '../test-support/clients.ts'
import { idle, scene } from '../test-support/scene.ts'
import { PRIVATE } from '../test-support/server.ts'
import { type Message, read, textOf } from '../test-support/sse.ts'
import type { TransportOptions } from './options.ts'

/** No call becomes a stream by waiting. */
const PATIENT: TransportOptions = { streams: { streamAfterMs: 60_000 } }
const withToken = { meta: { progressToken: 'p1' } }

const progressOf = (messages: Message[]) =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params)

describe.each(ALL_VERSIONS)('%s', (version) => {
  async function start(options: TransportOptions = {}) {
    const { transport, server, reported } = scene(options)
    return { transport, server, reported, client: await clientOf(transport, version) }
  }

  test('R14 B-04 G-15 nothing sent before the answer: one JSON object', async () => {
    const { client } = await start(PATIENT)
    const answer = await client.call('echo', { text: 'hi' }, { id: 7 })
    expect(answer).toMatchObject({ status: 200, form: 'json', message: { id: 7 } })
    expect(answer.messages).toHaveLength(1)
    expect(textOf(answer.message)).toBe('hi')
  })

  test('R14 S23 progress turns the answer into a stream, each step live, then the result, then the end', async () => {
    const { client, server } = await start(PATIENT)
    const frames = await client.stream('steps', { n: 3 }, { id: 'call', ...withToken })
    for (const step of [1, 2, 3]) {
      // The handler stands still until its gate is opened: a step that is here was sent live.
      const params = { progressToken: 'p1', progress: step, total: 3, message: `step ${step}` }
      expect(await frames.message()).toMatchObject({ method: 'notifications/progress', params })
      server.gates.open(`step ${step}`)
    }
    const last = await frames.message()
    expect(last?.id).toBe('call')
    expect(textOf(last!)).toBe('done')
    expect(await frames.next()).toBeUndefined()
  })

  test.each(['p1', '', 7, 0])('S23 E-15 the token %j keeps its type', async (progressToken) => {
    const { client, server } = await start()
    server.gates.open('step 1')
    const answer = await client.call('steps', { n: 1 }, { meta: { progressToken } })
    expect(progressOf(answer.messages)).toEqual([expect.objectContaining({ progressToken, progress: 1 })])
  })

  test('S23 E-15 no token, no progress: the answer stays JSON', async () => {
    const { client, server } = await start(PATIENT)
    for (const step of [1, 2]) server.gates.open(`step ${step}`)
    expect(await client.call('steps', { n: 2 })).toMatchObject({ form: 'json' })
  })

  test('E-15 progress that does not rise is dropped', async () => {
    const { client, server } = await start()
    server.tool('falls', async (_args, ctx) => {
      for (const step of [5, 5, 4, Number.NaN, 6]) await ctx.progress(step)
      return { content: [] }
    })
    const { messages } = await client.call('falls', {}, withToken)
    expect(progressOf(messages)).toMatchObject([{ progress: 5 }, { progress: 6 }])
  })

  test('S23 what is reported after the return goes nowhere', async () => {
    const { client, server } = await start()
    const late = Promise.withResolvers<void>()
    server.tool('late', async (_args, ctx) => {
      await ctx.progress(1)
      void server.gates.pass('later').then(async () => {
        await ctx.progress(2)
        await ctx.log('error', 'late')
        late.resolve()
      })
      return { content: [] }
    })
    const { messages } = await client.call('late', {}, withToken)
    server.gates.open('later')
    await late.promise
    expect(messages).toHaveLength(2)
  })

  test('R14 a wait longer than streamAfterMs opens the stream before there is anything to say', async () => {
    const { client, server } = await start({ streams: { streamAfterMs: 1 } })
    const frames = await client.stream('slow', { text: 'at last' })
    server.gates.open('slow')
    expect(textOf((await frames.message())!)).toBe('at last')
    expect(await frames.next()).toBeUndefined()
  })

  test("R14 response 'json' never streams, and progress is dropped without harm", async () => {
    const { client, server } = await start({ response: 'json', streams: { streamAfterMs: 1 } })
    for (const step of [1, 2]) server.gates.open(`step ${step}`)
    const answer = await client.call('steps', { n: 2 }, withToken)
    expect(answer).toMatchObject({ form: 'json' })
    expect(answer.messages).toHaveLength(1)
  })

  test("R14 response 'sse' streams even what is ready at once", async () => {
    const { client } = await start({ response: 'sse' })
    const answer = await client.call('echo', { text: 'hi' })
    expect(answer).toMatchObject({ status: 200, form: 'sse' })
    expect(textOf(answer.message)).toBe('hi')
  })

  test('S10 S11 G-19 the headers of a stream: not cached, not held back, nothing hop-by-hop', async () => {
    const { client } = await start({ response: 'sse' })
    const { headers } = await client.call('echo', { text: '' })
    expect(headers.get('content-type')).toBe('text/event-stream')
    expect(headers.get('cache-control')).toMatch(/no-cache.*no-transform/)
    expect(headers.get('x-accel-buffering')).toBe('no')
    for (const name of ['connection', 'keep-alive', 'transfer-encoding']) expect(headers.has(name)).toBe(false)
  })

  test.each(['json', 'sse'] as const)('S36 every unit survives as %s, on one line', async (response) => {
    const text = 'a\u2028b\u2029c\r\nd\u0085e é世 🙂 \0 "\\'
    const { client } = await start({ response })
    const answer = await client.call('echo', { text })
    expect(answer.form).toBe(response)
    expect(answer.text).not.toMatch(/[\u0085\u2028\u2029\r]/)
    expect(textOf(answer.message)).toBe(text)
  })

  test.each(['7', '001', '', 0, 7, -1, 'é世'])('S30 A-03 the id %j comes back as it is', async (id) => {
    const { client } = await start()
    expect((await client.call('echo', { text: '' }, { id })).message.id).toBe(id)
    expect((await client.request('nope/nope', {}, { id })).message.id).toBe(id)
  })

  test.each(['sync', 'reject', 'non-error', 'object', 'null', 'nothing'])(
    'R15 R16 N-13 A-05 a handler that throws (%s): -32603 without the text, and onError hears of it',
    async (kind) => {
      const { client, reported } = await start()
      const answer = await client.call('throws', { kind }, { id: 'x' })
      expect(answer).toMatchObject({ status: 200, message: { id: 'x', error: { code: -32603 } } })
      expect(answer.text).not.toContain(PRIVATE)
      expect(reported).toMatchObject([{ where: { phase: 'call', method: 'tools/call' } }])
    },
  )

  test.each(['undefined', 'bigint', 'circular', 'null', 'text'])(
    'R15 a handler that returns what is no result (%s): -32603',
    async (kind) => {
      const { client, reported } = await start()
      const answer = await client.call('returns', { kind })
      expect(answer).toMatchObject({ status: 200, message: { error: { code: -32603 } } })
      expect(answer.text).not.toContain(PRIVATE)
      expect(reported).toHaveLength(1)
    },
  )

  test('R15 an error after the stream has begun is its last event', async () => {
    const { client, server } = await start()
    server.tool('breaks', async (_args, ctx) => {
      await ctx.progress(1)
      throw new Error(PRIVATE)
    })
    const answer = await client.call('breaks', {}, { id: 'x', ...withToken })
    expect(answer).toMatchObject({ status: 200, form: 'sse', message: { id: 'x', error: { code: -32603 } } })
    expect(answer.messages).toHaveLength(2)
    expect(answer.text).not.toContain(PRIVATE)
  })

  test('S38 F-07 50 callers with equal ids: every message reaches its own exchange', async () => {
    const { transport, server } = scene()
    const secrets = Array.from({ length: 50 }, (_, i) => `secret ${i}`)
    let waiting = 0
    server.tool('secret', async ({ text }, ctx) => {
      await ctx.progress(1, 1, String(text))
      if (++waiting === secrets.length) server.gates.open('all')
      await server.gates.pass('all') // all of them run before the first one is answered
      return { content: [{ type: 'text', text }] }
    })
    const answers = await Promise.all(
      secrets.map(async (text) =>
        (await clientOf(transport, version)).call('secret', { text }, { id: 2, ...withToken }),
      ),
    )
    answers.forEach((answer, i) => {
      expect(progressOf(answer.messages)).toMatchObject([{ message: secrets[i] }])
      expect(textOf(answer.message)).toBe(secrets[i])
    })
  })

  test('S26 Q-26 two requests with one id, of one client: each exchange gets its own answer', async () => {
    const { client, server } = await start()
    const first = client.call('slow', { text: 'a', gate: 'a' }, { id: 1 })
    const second = client.call('slow', { text: 'b', gate: 'b' }, { id: 1 })
    await server.started('slow', 2)
    server.gates.open('b')
    expect(textOf((await second).message)).toBe('b')
    server.gates.open('a')
    expect(textOf((await first).message)).toBe('a')
  })

  test('nothing is left open after an answer in either form', async () => {
    const { client, transport, server } = await start({ streams: { streamAfterMs: 1 } })
    const before = transport.stats().timers
    server.gates.open('slow')
    await client.call('echo', { text: '' })
    await client.call('slow', { text: '' })
    await idle(transport)
    expect(transport.stats().timers).toBe(before)
  })
})

test.each(LEGACY_VERSIONS)('S23 without sessions progress is live too: %s', async (version) => {
  const { transport, server } = scene({ sessions: false })
  const frames = await sessionless(transport, version).stream('steps', { n: 2 }, withToken)
  for (const step of [1, 2]) {
    expect((await frames.message())?.params).toMatchObject({ progressToken: 'p1', progress: step })
    server.gates.open(`step ${step}`)
  }
  expect(textOf((await frames.message())!)).toBe('done')
  expect(await frames.next()).toBeUndefined()
})

test('S38 both eras at once on one transport', async () => {
  const { transport, server } = scene()
  const clients = await Promise.all(ALL_VERSIONS.map((version) => clientOf(transport, version)))
  const answers = Promise.all(clients.map((client, i) => client.call('slow', { text: `secret ${i}` }, { id: 1 })))
  await server.started('slow', clients.length)
  server.gates.open('slow')
  expect((await answers).map(({ message }) => textOf(message))).toEqual(clients.map((_, i) => `secret ${i}`))
})

test('R13 initialize is answered with JSON, whatever the form of other answers', async () => {
  for (const response of ['auto', 'json', 'sse'] as const) {
    expect((await read(post(scene({ response }).transport, initialize('2025-11-25')))).form).toBe('json')
  }
})

test('S08 a quiet stream carries comments; none after its end, and no timer stays', async () => {
  const { transport, server } = scene({ streams: { streamAfterMs: 0, keepAliveMs: 5 } })
  const frames = await modern(transport).stream('slow', { text: 'x' })
  for (let i = 0; i < 3; i++) expect((await frames.next())?.raw).toMatch(/^:/)
  server.gates.open('slow')
  const rest = await frames.rest()
  expect(rest.map(textOf)).toEqual(['x'])
  await idle(transport)
  expect(transport.stats().timers).toBe(0)
})
