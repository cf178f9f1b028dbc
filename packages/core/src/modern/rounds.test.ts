import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { modern, type Params } from '../../test-support/clients.ts'
import { ALL_ASKS, accepted, askedIn, callTool, declaring, retryOf } from '../../test-support/exchanges.ts'
import { mcp } from '../../test-support/mcp.ts'
import { twoNodes } from '../../test-support/nodes.ts'
import { idle, scene, until } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { textOf } from '../../test-support/sse.ts'
import type { Context, SamplingMessage } from '../server.ts'

/** The first form loads what makes JSON Schemas, which may take longer than an answer waits for its form. */
const PATIENT = { streams: { streamAfterMs: 60_000 } }
const NAME = { message: 'Your name?', schema: v.object({ name: v.string() }) }
const AGE = { message: 'Your age?', schema: v.object({ age: v.number() }) }
const LINK = { message: 'Sign in', url: 'https://sign.example/in' }
const PROMPT = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } } as SamplingMessage],
  maxTokens: 10,
}
const SAMPLED = { role: 'assistant', content: { type: 'text', text: 'Hello' }, model: 'm' }
const ROOTS = { roots: [{ uri: 'file:///a', name: 'a' }] }

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })
const said = (answer: { message: Parameters<typeof textOf>[0] }) => JSON.parse(textOf(answer.message) ?? 'null')

/** A server with one tool that does this. */
function asking(run: (ctx: Context) => unknown) {
  const server = new TestServer().tool('ask', async (_args, ctx) => text(await run(ctx)))
  return { ...scene(PATIENT, server), server }
}

describe('J-01 J-03 J-04 F-13 an ask', () => {
  test.each<[string, (ctx: Context) => Promise<unknown>, object, unknown, unknown]>([
    [
      'a form',
      (ctx) => ctx.elicit('key', NAME),
      {
        method: 'elicitation/create',
        params: {
          mode: 'form',
          message: 'Your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        },
      },
      accepted({ name: 'Ada' }),
      { action: 'accept', content: { name: 'Ada' } },
    ],
    [
      'a form that is declined',
      (ctx) => ctx.elicit('key', NAME),
      { method: 'elicitation/create' },
      { action: 'decline' },
      { action: 'decline' },
    ],
    [
      'a URL',
      (ctx) => ctx.elicit('key', LINK),
      { method: 'elicitation/create', params: { mode: 'url', ...LINK } },
      { action: 'accept' },
      { action: 'accept' },
    ],
    [
      'a URL that is dismissed',
      (ctx) => ctx.elicit('key', LINK),
      { params: { mode: 'url' } },
      { action: 'cancel' },
      { action: 'cancel' },
    ],
    [
      'a sample',
      (ctx) => ctx.sample('key', PROMPT),
      { method: 'sampling/createMessage', params: PROMPT },
      SAMPLED,
      SAMPLED,
    ],
    ['roots', (ctx) => ctx.roots('key'), { method: 'roots/list' }, ROOTS, ROOTS.roots],
  ])('%s: ends the call, and the retry has the answer', async (_what, run, request, answer, result) => {
    const { transport, server } = asking(run)
    const first = await callTool(transport, 'ask', { id: 1 })
    expect(first).toMatchObject({ status: 200, form: 'json', messages: [{ id: 1 }] })
    const asked = askedIn(first)
    expect(Object.keys(asked.inputRequests)).toEqual(['key'])
    expect(asked.inputRequests.key).toMatchObject(request)
    expect(asked.inputRequests.key).not.toHaveProperty('id')
    expect(asked.inputRequests.key).not.toHaveProperty('jsonrpc')
    const second = await callTool(transport, 'ask', { id: 'two', more: retryOf(asked, { key: answer }) })
    expect(second.message).toMatchObject({ id: 'two', result: { resultType: 'complete' } })
    expect(said(second)).toEqual(result)
    expect(server.runs.ask).toBe(2)
  })

  test('roots have a key of their own when none is given', async () => {
    const { transport } = asking((ctx) => ctx.roots())
    const asked = askedIn(await callTool(transport, 'ask'))
    expect(said(await callTool(transport, 'ask', { more: retryOf(asked, { roots: ROOTS }) }))).toEqual(ROOTS.roots)
  })

  test('three at once are one round of three; one after the other are three rounds', async () => {
    const { transport, server } = scene()
    const all = (ctx: Context) => [ctx.elicit('name', NAME), ctx.sample('sample', PROMPT), ctx.roots('roots')] as const
    server.tool('together', async (_args, ctx) => text(await Promise.all(all(ctx))))
    server.tool('in turn', async (_args, ctx) => {
      const name = await ctx.elicit('name', NAME)
      const sample = await ctx.sample('sample', PROMPT)
      return text([name, sample, await ctx.roots('roots')])
    })
    const answers: Params = { name: accepted({ name: 'Ada' }), sample: SAMPLED, roots: ROOTS }
    const result = [answers.name, SAMPLED, ROOTS.roots]

    const asked = askedIn(await callTool(transport, 'together'))
    expect(Object.keys(asked.inputRequests)).toEqual(['name', 'sample', 'roots'])
    expect(said(await callTool(transport, 'together', { more: retryOf(asked, answers) }))).toEqual(result)

    let answer = await callTool(transport, 'in turn')
    for (const key of ['name', 'sample', 'roots']) {
      expect(Object.keys(askedIn(answer).inputRequests)).toEqual([key])
      answer = await callTool(transport, 'in turn', { more: retryOf(askedIn(answer), { [key]: answers[key] }) })
    }
    expect(said(answer)).toEqual(result)
    expect(server.runs).toEqual({ together: 2, 'in turn': 4 })
  })

  test('all asks of one macrotask go together, however deep they are', async () => {
    const { transport } = asking(async (ctx) => {
      const deep = async () => {
        for (let turn = 0; turn < 20; turn++) await Promise.resolve()
        return ctx.elicit('deep', AGE)
      }
      return Promise.all([ctx.elicit('name', NAME), deep()])
    })
    expect(Object.keys(askedIn(await callTool(transport, 'ask')).inputRequests)).toEqual(['name', 'deep'])
  })

  test('G-18 after a message of the call it comes in the stream, and ends it', async () => {
    const { transport } = asking(async (ctx) => {
      await ctx.progress(1)
      return ctx.elicit('name', NAME)
    })
    const { form, messages } = await callTool(transport, 'ask', { meta: { progressToken: 1 } })
    expect(form).toBe('sse')
    expect(messages).toMatchObject([
      { method: 'notifications/progress' },
      { result: { resultType: 'input_required', inputRequests: { name: {} } } },
    ])
  })
})

describe('J-02 where a request may be answered with asks', () => {
  test.each<[string, Params]>([
    ['tools/call', { name: 'ask' }],
    ['prompts/get', { name: 'ask' }],
    ['resources/read', { uri: 'test://ask' }],
  ])('%s', async (method, params) => {
    const server = mcp()
    server.tool('ask', {}, async (_args, ctx) => (await ctx.elicit('name', NAME)).action)
    server.prompt('ask', {}, async (_args, ctx) => (await ctx.elicit('name', NAME)).action)
    server.resource('test://ask', {}, async (_variables, ctx) => (await ctx.elicit('name', NAME)).action)
    const client = modern(scene({}, server).transport)
    const meta = declaring(ALL_ASKS)
    const asked = askedIn(await client.request(method, params, { meta }))
    const more = retryOf(asked, { name: { action: 'decline' } })
    const { message, text } = await client.request(method, { ...params, ...more }, { meta })
    expect(message.result?.resultType).toBe('complete')
    expect(text).toContain('decline')
  })

  test('nowhere else: an internal error, and the app hears why', async () => {
    const { transport, server, reported } = scene()
    server.on('own/method', async (_params, ctx) => ({ name: await ctx.elicit('name', NAME) }))
    const answer = await modern(transport).request('own/method', {}, { meta: declaring(ALL_ASKS) })
    expect(answer.message.error?.code).toBe(-32603)
    expect(String(reported[0]?.error)).toContain('own/method')
    // J-02 Q-22: what looks like a retry changes nothing there.
    const more = { requestState: 'x', inputResponses: 5 }
    expect((await modern(transport).request('tools/list', more)).message.result).toBeDefined()
  })
})

describe('S56 J-05 what a client has not declared is not asked', () => {
  test.each<[string, (ctx: Context) => Promise<unknown>, object, object | undefined]>([
    ['a form of nobody', (ctx) => ctx.elicit('k', NAME), {}, { elicitation: {} }],
    ['a form of one who samples', (ctx) => ctx.elicit('k', NAME), { sampling: {} }, { elicitation: {} }],
    ['a form of one with elicitation', (ctx) => ctx.elicit('k', NAME), { elicitation: {} }, undefined],
    ['a form of one with forms', (ctx) => ctx.elicit('k', NAME), { elicitation: { form: {} } }, undefined],
    [
      'a form of one with URLs alone',
      (ctx) => ctx.elicit('k', NAME),
      { elicitation: { url: {} } },
      { elicitation: {} },
    ],
    [
      'a URL of one with elicitation',
      (ctx) => ctx.elicit('k', LINK),
      { elicitation: {} },
      { elicitation: { url: {} } },
    ],
    ['a URL of one with URLs', (ctx) => ctx.elicit('k', LINK), { elicitation: { url: {} } }, undefined],
    ['a sample', (ctx) => ctx.sample('k', PROMPT), { elicitation: {} }, { sampling: {} }],
    ['roots', (ctx) => ctx.roots('k'), { elicitation: {}, sampling: {} }, { roots: {} }],
    ['capabilities that are no objects', (ctx) => ctx.roots('k'), { roots: true }, { roots: {} }],
  ])('%s', async (_what, run, capabilities, requiredCapabilities) => {
    const { transport } = asking(run)
    const answer = await callTool(transport, 'ask', { capabilities })
    if (!requiredCapabilities) expect(Object.keys(askedIn(answer).inputRequests)).toEqual(['k'])
    else {
      expect(answer).toMatchObject({
        status: 400,
        message: { error: { code: -32021, data: { requiredCapabilities } } },
      })
    }
  })

  test('J-05 F-05 a retry declares anew: an ask that is answered stands, one that is new needs it', async () => {
    const { transport } = asking(async (ctx) => [await ctx.roots('a'), await ctx.roots('b')])
    const asked = askedIn(await callTool(transport, 'ask'))
    const more = retryOf(asked, { a: ROOTS })
    expect((await callTool(transport, 'ask', { more, capabilities: {} })).message.error?.code).toBe(-32021)
  })
})

describe('S56 J-10 J-11 J-12 J-13 answers', () => {
  const both = (ctx: Context) => Promise.all([ctx.elicit('name', NAME), ctx.roots('roots')])

  test('J-12 a missing one is asked again, alone, and the others are remembered; a surplus one is nothing', async () => {
    const { transport } = asking(both)
    const first = askedIn(await callTool(transport, 'ask'))
    const answers = { name: accepted({ name: 'Ada' }), other: 5, __proto__: { roots: ROOTS } }
    const second = askedIn(await callTool(transport, 'ask', { more: retryOf(first, answers) }))
    expect(second.inputRequests).toEqual({ roots: first.inputRequests.roots })
    expect(second.requestState).not.toBe(first.requestState)
    const third = await callTool(transport, 'ask', { more: retryOf(second, { roots: ROOTS }) })
    expect(said(third)).toEqual([accepted({ name: 'Ada' }), ROOTS.roots])
  })

  test('J-13 a state alone is taken, and asks again for all', async () => {
    const { transport } = asking(both)
    const first = askedIn(await callTool(transport, 'ask'))
    for (const responses of [undefined, {}]) {
      const again = askedIn(await callTool(transport, 'ask', { more: retryOf(first, responses) }))
      expect(again.inputRequests).toEqual(first.inputRequests)
    }
  })

  test('answers without a state answer nothing', async () => {
    const { transport } = asking(both)
    for (const more of [
      { inputResponses: { roots: ROOTS } },
      { requestState: null, inputResponses: { roots: ROOTS } },
    ]) {
      expect(Object.keys(askedIn(await callTool(transport, 'ask', { more })).inputRequests)).toEqual(['name', 'roots'])
    }
  })

  test('an answer that was given can not be given otherwise later', async () => {
    const { transport } = asking(both)
    const first = askedIn(await callTool(transport, 'ask'))
    const second = askedIn(await callTool(transport, 'ask', { more: retryOf(first, { name: { action: 'cancel' } }) }))
    const more = retryOf(second, { name: accepted({ name: 'Eve' }), roots: ROOTS })
    expect(said(await callTool(transport, 'ask', { more }))).toEqual([{ action: 'cancel' }, ROOTS.roots])
  })

  test.each<[string, unknown]>([
    ['answers as an array', []],
    ['answers as a text', 'x'],
    ['answers as null', null],
    ['a form answered with a text', { name: 'Ada' }],
    ['a form answered with null', { name: null }],
    ['a form answered with an array', { name: [] }],
    ['a form without action', { name: { content: { name: 'Ada' } } }],
    ['a form with an unknown action', { name: { action: 'maybe' } }],
    ['a form whose content is no object', { name: { action: 'accept', content: [1] } }],
    ['a form whose content does not fit', { name: accepted({ name: 42 }), roots: ROOTS }],
    ['a form accepted without content', { name: { action: 'accept' }, roots: ROOTS }],
    ['roots without roots', { roots: {} }],
    ['roots without a uri', { roots: { roots: [{}] } }],
    ['roots that are no list', { roots: { roots: 'x' } }],
  ])('J-11 %s: -32602', async (_what, responses) => {
    const { transport, reported } = asking(both)
    const asked = askedIn(await callTool(transport, 'ask'))
    const answer = await callTool(transport, 'ask', { id: 4, more: { ...retryOf(asked), inputResponses: responses } })
    expect(answer).toMatchObject({ status: 200, message: { id: 4, error: { code: -32602 } } })
    expect(reported).toEqual([]) // the client's fault, not the server's
  })

  test.each([{}, { role: 5, content: {} }, { role: 'assistant' }, { role: 'assistant', content: null }])(
    'J-11 a sample answered with %j: -32602',
    async (sample) => {
      const { transport } = asking((ctx) => ctx.sample('sample', PROMPT))
      const asked = askedIn(await callTool(transport, 'ask'))
      const answer = await callTool(transport, 'ask', { more: retryOf(asked, { sample }) })
      expect(answer.message.error?.code).toBe(-32602)
    },
  )

  test('J-10 F-06 F-07 each round on another node', async () => {
    const { a, b } = twoNodes()
    for (const { server } of [a, b]) {
      server.tool('ask', async (_args, ctx) => text([await ctx.elicit('name', NAME), await ctx.roots('roots')]))
    }
    const first = askedIn(await callTool(a.transport, 'ask', { id: 1 }))
    const name = accepted({ name: 'Ada' })
    const second = askedIn(await callTool(b.transport, 'ask', { id: 1, more: retryOf(first, { name }) }))
    const third = await callTool(a.transport, 'ask', { id: 9, more: retryOf(second, { roots: ROOTS }) })
    expect(said(third)).toEqual([name, ROOTS.roots])
  })

  test('J-09 a client that never comes back leaves nothing behind', async () => {
    const { transport, server } = asking(both)
    for (let call = 0; call < 20; call++) askedIn(await callTool(transport, 'ask'))
    await idle(transport)
    const { storeCalls } = transport.stats()
    expect(transport.stats()).toMatchObject({ timers: 0, inFlight: 0, connections: 0 })
    expect(storeCalls).toBeLessThan(5) // the ring, once
    expect(server.runs.ask).toBe(20)
    await until(() => expect(transport.stats().timers).toBe(0))
  })
})
