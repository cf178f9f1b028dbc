// requestState: what a client can do with it besides carrying it back, which is nothing.
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { modern } from '../../test-support/clients.ts'
import { askedIn, type CallSent, callTool, declaring, retryOf } from '../../test-support/exchanges.ts'
import { oneOf } from '../../test-support/nodes.ts'
import { scene } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import type { Answer } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'
import type { Store } from '../store.ts'
import { unreliable } from '../testing/unreliable.ts'
import { STATE_MAX_CHARS } from './seal.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const ROOTS = { roots: [{ uri: 'file:///a' }] }
const YES = { ok: ROOTS }
const KEYS = ['A', 'B', 'C'].map((letter) => `${letter.repeat(42)}A`)

/** `pay` asks, and then pays; `refund` does the same. */
function paying() {
  const paid: unknown[] = []
  const server = new TestServer()
  for (const name of ['pay', 'refund']) {
    server.tool(name, async (args, ctx) => {
      await ctx.roots('ok')
      paid.push([name, args])
      return { content: [] }
    })
  }
  return { server, paid }
}

const auth: TransportOptions['auth'] = (request) => ({ id: request.headers.get('x-user') ?? 'nobody' })
const as = (user: string) => ({ headers: { 'x-user': user } })
const TEN = { args: { amount: 10, to: { b: 1, a: 2 } } }

function shared(): Store {
  const store = memoryStore()
  onTestFinished(() => store.close())
  return store
}

function node(store: Store, options: TransportOptions = {}) {
  const { server, paid } = paying()
  return { ...oneOf(store, options, server), paid }
}

/** The text of the refusal. */
function refusal({ status, message, text }: Answer): string {
  expect({ status, code: message.error?.code }, text).toEqual({ status: 200, code: -32602 })
  return message.error!.message
}

const bytesOf = (state: string) => Buffer.from(state, 'base64url')

describe('S55 J-06 J-07 Q-23 a state that is not what was given', () => {
  test('is refused, with the same text whatever is wrong, and nothing is done', async () => {
    const { server, paid } = paying()
    const { transport } = scene({ auth }, server)
    const { requestState } = askedIn(await callTool(transport, 'pay', { ...TEN, ...as('a') }))
    const texts = new Set<string>()
    const send = async (state: unknown, sent: CallSent = {}, tool = 'pay') => {
      const more = { requestState: state, inputResponses: YES }
      texts.add(refusal(await callTool(transport, tool, { ...TEN, ...as('a'), ...sent, more })))
    }
    const bytes = bytesOf(requestState)
    for (let i = 0; i < bytes.length; i++) {
      const flipped = Buffer.from(bytes)
      flipped[i]! ^= 1 << (i % 8)
      await send(flipped.toString('base64url'))
    }
    for (const [i, char] of [...requestState].entries()) {
      await send(`${requestState.slice(0, i)}${char === 'A' ? 'B' : 'A'}${requestState.slice(i + 1)}`)
    }
    for (const cut of [1, 5, 16, 28, 40, bytes.length - 1]) await send(bytes.subarray(0, cut).toString('base64url'))
    for (const state of [
      '',
      '!',
      'x'.repeat(STATE_MAX_CHARS + 1),
      `${requestState}=`,
      `${requestState}A`,
      ` ${requestState}`,
    ])
      await send(state)
    for (const state of [5, 0, true, false, {}, [], [requestState]]) await send(state)
    await send(requestState, as('b')) // another user
    await send(requestState, { args: { ...TEN.args, amount: 1000 } }) // other arguments
    await send(requestState, { args: { amount: 10 } })
    await send(requestState, {}, 'refund') // another tool
    expect([...texts]).toHaveLength(1)
    expect([...texts][0]).not.toMatch(/key|decrypt|user|argument|expire/i)
    expect(paid).toEqual([])
    expect(server.runs).toEqual({ pay: 1 })
    // The state itself is good all the while; the order of members and the rest of `_meta` do not matter.
    const more = { inputResponses: YES, requestState }
    const args = { to: { a: 2, b: 1 }, amount: 10 }
    const answer = await callTool(transport, 'pay', { id: 'x', args, more, ...as('a'), meta: { progressToken: 7 } })
    expect(answer.message.result?.resultType).toBe('complete')
    expect(paid).toHaveLength(1)
  })

  test('of another method is refused', async () => {
    const server = new TestServer()
    for (const method of ['prompts/get', 'resources/read']) {
      server.on(method, async (_params, ctx) => ({ roots: await ctx.roots('ok') }))
    }
    const client = modern(scene({}, server).transport)
    const meta = declaring({ roots: {} })
    const params = { name: 'x', uri: 'x' }
    const asked = askedIn(await client.request('prompts/get', params, { meta }))
    refusal(await client.request('resources/read', { ...params, ...retryOf(asked, YES) }, { meta }))
  })

  test('null, or none: the first round again', async () => {
    const { server, paid } = paying()
    const { transport } = scene({}, server)
    for (const more of [{}, { requestState: null }, { requestState: null, inputResponses: YES }]) {
      expect(Object.keys(askedIn(await callTool(transport, 'pay', { more })).inputRequests)).toEqual(['ok'])
    }
    expect(paid).toEqual([])
  })

  test('J-07 is refused after an hour, by the clock of the store', async () => {
    let skew = 0
    const store = shared()
    const { transport, paid } = node({ ...store, now: () => store.now() + skew })
    const { requestState } = askedIn(await callTool(transport, 'pay'))
    const retry = () => callTool(transport, 'pay', { more: retryOf({ requestState }, YES) })
    skew = HOUR_MS - 10_000
    expect((await retry()).message.result?.resultType).toBe('complete')
    skew = HOUR_MS + 10_000
    const text = refusal(await retry())
    expect(text).toBe(refusal(await callTool(transport, 'pay', { more: { requestState: 'AAAA' } })))
    expect(paid).toHaveLength(1)
  })

  test('the state shows nothing of what is in it, and no two are alike', async () => {
    const { server } = paying()
    server.tool('twice', async (_args, ctx) => ({ content: [await ctx.roots('first'), await ctx.roots('second')] }))
    const { transport } = scene({}, server)
    const first = askedIn(await callTool(transport, 'twice'))
    const more = retryOf(first, { first: { roots: [{ uri: 'file:///very-private' }] } })
    const states = await Promise.all([1, 2].map(() => callTool(transport, 'twice', { more })))
    const [one, two] = states.map((answer) => askedIn(answer).requestState)
    expect(one).not.toBe(two)
    expect(bytesOf(one!).toString('latin1')).not.toContain('private')
  })

  test('answers that are too much for a state end the call with an error', async () => {
    const server = new TestServer().tool('twice', async (_args, ctx) => {
      await ctx.roots('first')
      await ctx.roots('second')
      return { content: [] }
    })
    const { transport, reported } = scene({}, server)
    const first = askedIn(await callTool(transport, 'twice'))
    const big = { roots: [{ uri: `file:///${'x'.repeat(STATE_MAX_CHARS)}` }] }
    const answer = await callTool(transport, 'twice', { more: retryOf(first, { first: big }) })
    expect(answer.message.error?.code).toBe(-32603)
    expect(String(reported[0]?.error)).toContain('requestState')
  })
})

describe('keys', () => {
  test('a ring that rotates: what the new ring still has opens, the first one seals', async () => {
    const [one, two, three] = KEYS as [string, string, string]
    const store = shared()
    const before = node(store, { stateKeys: [one] })
    const during = node(store, { stateKeys: [two, one] })
    const after = node(store, { stateKeys: [three, two] })
    const old = askedIn(await callTool(before.transport, 'pay'))
    const mid = askedIn(await callTool(during.transport, 'pay'))
    const paid = async (at: typeof before, asked: typeof old) =>
      (await callTool(at.transport, 'pay', { more: retryOf(asked, YES) })).message.result?.resultType
    expect(await paid(during, old)).toBe('complete')
    expect(await paid(during, mid)).toBe('complete')
    expect(await paid(after, mid)).toBe('complete')
    refusal(await callTool(after.transport, 'pay', { more: retryOf(old, YES) }))
    refusal(await callTool(before.transport, 'pay', { more: retryOf(mid, YES) }))
  })

  test.each(['memory', 'a store that repeats and delays'])(
    'none given: one ring, made once by nodes that race: %s',
    async (kind) => {
      const store = shared()
      const nodes = [1, 2, 3].map((seed) => node(kind === 'memory' ? store : unreliable(store, { seed })))
      const asked = await Promise.all(nodes.map(async ({ transport }) => askedIn(await callTool(transport, 'pay'))))
      for (const { transport } of nodes) {
        for (const each of asked) {
          const { message } = await callTool(transport, 'pay', { more: retryOf(each, YES) })
          expect(message.result?.resultType).toBe('complete')
        }
      }
    },
  )

  test('a ring that the store has lost: made anew, with one node behind the other, and then shared again', async () => {
    const store = shared()
    const [a, b] = [node(store), node(store)]
    const lost = askedIn(await callTool(a.transport, 'pay'))
    await store.kv.delete([{ tag: 'keys', name: 'ring' }])
    const fresh = askedIn(await callTool(b.transport, 'pay'))
    refusal(await callTool(b.transport, 'pay', { more: retryOf(lost, YES) }))
    expect((await callTool(a.transport, 'pay', { more: retryOf(fresh, YES) })).message.result).toBeDefined()
    const again = askedIn(await callTool(a.transport, 'pay'))
    expect((await callTool(b.transport, 'pay', { more: retryOf(again, YES) })).message.result).toBeDefined()
  })

  test('a store that is away when the ring is needed: an error, and the next call has it', async () => {
    const { transport, line } = node(shared())
    line.cut()
    expect((await callTool(transport, 'pay')).message.error?.code).toBe(-32603)
    line.mend()
    askedIn(await callTool(transport, 'pay'))
  })

  describe('in time', () => {
    afterEach(() => void vi.useRealTimers())

    test('a ring that is used lives on: a node that has run for months and one that is new share it', async () => {
      vi.useFakeTimers({ toFake: ['Date'] })
      const store = shared()
      const a = node(store)
      askedIn(await callTool(a.transport, 'pay'))
      for (let days = 0; days < 80; days += 20) {
        vi.setSystemTime(Date.now() + 20 * DAY_MS)
        askedIn(await callTool(a.transport, 'pay'))
      }
      const b = node(store)
      for (const [from, to] of [
        [a, b],
        [b, a],
      ] as const) {
        const asked = askedIn(await callTool(from.transport, 'pay'))
        expect((await callTool(to.transport, 'pay', { more: retryOf(asked, YES) })).message.result).toBeDefined()
      }
      // And yet a round costs no step of the store.
      const { storeCalls } = a.transport.stats()
      askedIn(await callTool(a.transport, 'pay'))
      expect(a.transport.stats().storeCalls).toBe(storeCalls)
    })
  })
})
