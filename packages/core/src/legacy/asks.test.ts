// Asks inside of a call: on its own stream, only what was declared, each answered once, none for ever.
import * as v from 'valibot'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { LEGACY_VERSIONS, type LegacyClient, legacy } from '../../test-support/clients.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { type Scene, scene, until } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { type Message, textOf } from '../../test-support/sse.ts'
import { McpError } from '../errors.ts'
import type { TransportOptions } from '../options.ts'
import type { Context } from '../server.ts'

const form = { message: 'Who?', schema: v.object({ name: v.string() }) }
const hi = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 } as const

/** A tool that asks, and returns what it was told or how it failed. */
function asking(ask: (ctx: Context) => Promise<unknown>): TestServer {
  return new TestServer().tool('ask', async (_args, ctx) => {
    const told = await ask(ctx).catch((error) => ({ failed: String(error.message), code: error.code }))
    return { content: [{ type: 'text', text: JSON.stringify(told) }] }
  })
}

async function start(
  ask: (ctx: Context) => Promise<unknown>,
  capabilities: object,
  { version = '2025-11-25', options = {} }: { version?: string; options?: TransportOptions } = {},
): Promise<Scene & { client: LegacyClient }> {
  const made = scene({ streams: { streamAfterMs: 60_000 }, ...options }, asking(ask))
  return { ...made, client: await legacy(made.transport, version, { capabilities }) }
}

const answer = (client: LegacyClient, { id }: Message, result: unknown) => client.send({ jsonrpc: '2.0', id, result })
const outcome = ({ messages }: Listener) => JSON.parse(textOf(messages.at(-1)!)!)

/** The call, its one ask answered with `result`. */
async function ask(client: LegacyClient, result: unknown): Promise<{ asked: Message; told: unknown }> {
  const call = new Listener(await client.stream('ask'))
  const [asked] = await call.has(1)
  const response = await answer(client, asked!, result)
  expect({ status: response.status, body: await response.text() }).toEqual({ status: 202, body: '' })
  await call.ended
  expect(call.messages).toHaveLength(2)
  return { asked: asked!, told: outcome(call) }
}

/** The call, in which nothing was asked. */
async function refused(client: LegacyClient): Promise<{ failed: string }> {
  const { messages, form: how } = await client.call('ask')
  expect(how).toBe('json')
  return JSON.parse(textOf(messages[0]!)!)
}

describe('S20 B-07 E-01 what is asked goes out on the call’s own stream, with no GET open', () => {
  test.each(['2025-06-18', '2025-11-25'])('P-20 %s: a form', async (version) => {
    const { client } = await start((ctx) => ctx.elicit('who', form), { elicitation: {} }, { version })
    const { asked, told } = await ask(client, { action: 'accept', content: { name: 'Ada' } })
    expect(asked).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
    })
    // The mode came with 2025-11-25.
    expect(asked.params!.mode).toBe(version === '2025-11-25' ? 'form' : undefined)
    expect(told).toEqual({ action: 'accept', content: { name: 'Ada' } })
  })

  test('E-05 a URL, with an id of its own each time', async () => {
    const link = { message: 'Sign in', url: 'https://app.example/consent' }
    const { client } = await start((ctx) => ctx.elicit('go', link), { elicitation: { url: {} } })
    const ids = new Set<unknown>()
    for (let i = 0; i < 2; i++) {
      const { asked, told } = await ask(client, { action: 'accept' })
      expect(asked.params).toMatchObject({ mode: 'url', ...link })
      ids.add(asked.params!.elicitationId)
      expect(told).toMatchObject({ action: 'accept' })
    }
    expect(ids.size).toBe(2)
  })

  test.each(LEGACY_VERSIONS)('%s: sampling and roots', async (version) => {
    const sampled = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' }
    const one = await start(
      (ctx) => ctx.sample('s', { ...hi, messages: [...hi.messages] }),
      { sampling: {} },
      { version },
    )
    const { asked, told } = await ask(one.client, sampled)
    expect(asked).toMatchObject({ method: 'sampling/createMessage', params: { maxTokens: 5 } })
    expect(told).toEqual(sampled)

    const two = await start((ctx) => ctx.roots(), { roots: {} }, { version })
    const roots = await ask(two.client, { roots: [{ uri: 'file:///a', name: 'a' }] })
    expect(roots.asked).toStrictEqual({ jsonrpc: '2.0', id: roots.asked.id, method: 'roots/list' })
    expect(roots.told).toEqual([{ uri: 'file:///a', name: 'a' }])
  })

  test('E-02 three at once have three ids, and each gets its own answer in any order', async () => {
    const all = (ctx: Context) => Promise.all(['a', 'b', 'c'].map((key) => ctx.elicit(key, { ...form, message: key })))
    const { client } = await start(all, { elicitation: {} })
    const call = new Listener(await client.stream('ask'))
    const asked = [...(await call.has(3))]
    expect(new Set(asked.map(({ id }) => id)).size).toBe(3)
    for (const one of asked.toReversed()) {
      await answer(client, one, { action: 'accept', content: { name: one.params!.message } })
    }
    await call.ended
    expect(outcome(call).map(({ content }: { content: { name: string } }) => content.name)).toEqual(['a', 'b', 'c'])
  })
})

describe('E-09 how a user may answer', () => {
  test.each<[string, unknown, unknown]>([
    ['declines', { action: 'decline' }, { action: 'decline' }],
    ['cancels', { action: 'cancel' }, { action: 'cancel' }],
    ['gives what the form does not allow', { action: 'accept', content: { name: 5 } }, { failed: expect.any(String) }],
    ['gives nothing', { action: 'accept' }, { failed: expect.any(String) }],
    ['gives nonsense', { action: 'maybe' }, { failed: expect.any(String) }],
  ])('%s', async (_what, result, expected) => {
    const { client } = await start((ctx) => ctx.elicit('who', form), { elicitation: {} })
    expect((await ask(client, result)).told).toEqual(expected)
  })

  test('or the client fails: the handler gets its error', async () => {
    const { client } = await start((ctx) => ctx.roots(), { roots: {} })
    const call = new Listener(await client.stream('ask'))
    const [asked] = await call.has(1)
    await client.send({ jsonrpc: '2.0', id: asked!.id, error: { code: -32601, message: 'not here' } })
    await call.ended
    expect(outcome(call)).toEqual({ failed: 'not here', code: -32601 })
  })
})

describe('E-01 E-03 A-11 what was not declared, or is not known to the revision, is never asked', () => {
  const url = { message: 'x', url: 'https://app.example' }
  const sample = (extra: object) => (ctx: Context) => ctx.sample('s', { ...hi, messages: [...hi.messages], ...extra })

  test.each<[string, object, (ctx: Context) => Promise<unknown>, string?]>([
    ['a form', {}, (ctx) => ctx.elicit('k', form)],
    ['a form, to one that takes URLs alone', { elicitation: { url: {} } }, (ctx) => ctx.elicit('k', form)],
    ['a URL, to one that takes forms', { elicitation: {} }, (ctx) => ctx.elicit('k', url)],
    ['a form in 2025-03-26', { elicitation: {} }, (ctx) => ctx.elicit('k', form), '2025-03-26'],
    ['a URL in 2025-06-18', { elicitation: { url: {} } }, (ctx) => ctx.elicit('k', url), '2025-06-18'],
    ['sampling', {}, sample({})],
    ['roots', { sampling: {} }, (ctx) => ctx.roots()],
    ['E-12 sampling with tools', { sampling: {} }, sample({ tools: [{ name: 't', inputSchema: { type: 'object' } }] })],
    ['E-12 sampling with context', { sampling: { tools: {} } }, sample({ includeContext: 'thisServer' })],
  ])('%s', async (_what, capabilities, run, version) => {
    const { client } = await start(run, capabilities, version ? { version } : {})
    expect((await refused(client)).failed).toMatch(/declared|no such elicitation/)
  })

  test.each<[string, v.ObjectSchema<v.ObjectEntries, undefined>]>([
    ['E-04 a form with an object in it', v.object({ a: v.object({ b: v.string() }) })],
    ['E-04 a form with a list of objects', v.object({ a: v.array(v.object({ b: v.string() })) })],
    ['E-06 a form that asks for a secret', v.object({ password: v.string() })],
  ])('%s', async (_what, schema) => {
    const { client } = await start((ctx) => ctx.elicit('k', { message: 'x', schema }), { elicitation: {} })
    expect((await refused(client)).failed).toMatch(/^elicit: /)
  })

  test('E-05 what is no URL', async () => {
    const { client } = await start((ctx) => ctx.elicit('k', { message: 'x', url: 'not a url' }), {
      elicitation: { url: {} },
    })
    expect((await refused(client)).failed).toMatch(/not a URL/)
  })
})

describe('E-13 tool results in sampling', () => {
  const use = (...ids: string[]) => ({
    role: 'assistant',
    content: ids.map((id) => ({ type: 'tool_use', id, name: 't', input: {} })),
  })
  const results = (...ids: string[]) => ({
    role: 'user',
    content: ids.map((toolUseId) => ({ type: 'tool_result', toolUseId, content: [] })),
  })
  const text = { type: 'text', text: 'and' }

  test.each<[string, unknown[], boolean]>([
    ['all answered, in any order', [use('1', '2'), results('2', '1')], true],
    ['one missing', [use('1', '2'), results('1')], false],
    ['none', [use('1')], false],
    ['one too many', [use('1'), results('1', '2')], false],
    ['by another message in between', [use('1'), { role: 'user', content: text }, results('1')], false],
    ['with text beside it', [use('1'), { role: 'user', content: [...results('1').content, text] }], false],
    ['by the assistant', [use('1'), { ...results('1'), role: 'assistant' }], false],
  ])('%s: sent %s', async (_what, messages, isSent) => {
    const params = { maxTokens: 5, messages: [...hi.messages, ...messages] as never[] }
    const { client } = await start((ctx) => ctx.sample('s', params), { sampling: { tools: {} } })
    if (isSent) {
      const { asked } = await ask(client, { role: 'assistant', content: text, model: 'm' })
      expect(asked.params!.messages).toHaveLength(3)
    } else expect((await refused(client)).failed).toMatch(/^sample: /)
  })
})

describe('E-20 nothing waits for ever', () => {
  test('an ask without an answer is cancelled after its time, and the handler goes on', async () => {
    const { client, transport } = await start((ctx) => ctx.roots(), { roots: {} })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const call = new Listener(await client.stream('ask'))
    const [asked] = await call.has(1)
    await vi.advanceTimersByTimeAsync(299_000)
    expect(call.over).toBe(false)
    await vi.advanceTimersByTimeAsync(2_000)
    await call.ended
    expect(call.messages[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked!.id } })
    expect(outcome(call).failed).toMatch(/did not answer/)
    // Too late: taken, and of no effect.
    expect((await answer(client, asked!, { roots: [] })).status).toBe(202)
    expect(transport.stats().connections).toBe(0)
  })

  test('R26 E-17 a call that is cancelled while it asks: its handler hears, and nothing more goes out', async () => {
    const { client, server } = await start((ctx) => ctx.roots(), { roots: {} })
    const failed: unknown[] = []
    server.tool('ask', (_args, ctx) =>
      ctx.roots().then(
        () => ({ content: [] }),
        (error) => {
          failed.push(error)
          return { content: [] }
        },
      ),
    )
    const call = new Listener(await client.stream('ask', {}, { id: 8 }))
    await call.has(1)
    await client.notify('notifications/cancelled', { requestId: 8, reason: 'enough' })
    await call.ended
    await until(() => expect(failed).toMatchObject([{ message: 'enough' }]))
    expect(call.messages).toHaveLength(1)
  })

  test('R27 the end of the session ends the ask', async () => {
    const { client, server } = await start((ctx) => ctx.roots(), { roots: {} })
    const failed: unknown[] = []
    server.tool('ask', (_args, ctx) =>
      ctx.roots().then(
        () => ({ content: [] }),
        (error) => {
          failed.push(error)
          return { content: [] }
        },
      ),
    )
    const call = new Listener(await client.stream('ask'))
    await call.has(1)
    await client.verb('DELETE')
    await call.ended
    await until(() => expect(failed).toHaveLength(1))
  })
})

describe('S21 answers that should be JSON', () => {
  test('an ask turns this one into a stream, where the client takes one; progress does not', async () => {
    const { client, server } = await start((ctx) => ctx.roots(), { roots: {} }, { options: { response: 'json' } })
    await ask(client, { roots: [] })
    server.gates.open('step 1')
    const plain = await client.call('steps', { n: 1 }, { meta: { progressToken: 1 } })
    expect(plain).toMatchObject({ form: 'json', messages: [{ result: {} }] })
  })

  test('a client that takes JSON alone is asked on its GET, else it fails within a second', async () => {
    const { client } = await start((ctx) => ctx.roots(), { roots: {} })
    const headers = { accept: 'application/json' }
    const began = Date.now()
    const alone = await client.call('ask', {}, { headers })
    expect(JSON.parse(textOf(alone.message)!).failed).toMatch(/no stream open/)
    expect(Date.now() - began).toBeLessThan(1000)
    const get = await listen(client)
    const call = client.call('ask', {}, { headers })
    const [asked] = await get.has(1)
    await answer(client, asked!, { roots: [{ uri: 'file:///x' }] })
    expect(JSON.parse(textOf((await call).message)!)).toEqual([{ uri: 'file:///x' }])
    await get.leave()
  })

  test('Q-39 E-10 an error of the tool’s own making, such as -32042, goes out as it is', async () => {
    const elicitations = [{ mode: 'url', elicitationId: 'e', url: 'https://app.example', message: 'go' }]
    const { client, server } = await start((ctx) => ctx.roots(), {})
    server.tool('consent', () => {
      throw new McpError(-32042, 'consent first', { elicitations })
    })
    expect((await client.call('consent')).message.error).toMatchObject({ code: -32042, data: { elicitations } })
  })
})
