import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Asked, askedIn, callTool, retryOf } from '../../test-support/exchanges.ts'
import { oneOf } from '../../test-support/nodes.ts'
import { until } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { type Answer, textOf } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'
import type { Context, Json } from '../server.ts'
import type { Store } from '../store.ts'
import { unreliable } from '../testing/unreliable.ts'
import type { Transport } from '../transport.ts'

const ROOTS = { roots: [{ uri: 'file:///a' }] }

function shared(): Store {
  const store = memoryStore()
  onTestFinished(() => store.close())
  return store
}

type Effect = (ctx: Context, args: { [key: string]: unknown }) => Promise<unknown>

/** A node whose tool asks `a`, has its effect, and asks `b`. */
function node(store: Store, effect: Effect, options: TransportOptions = {}) {
  const server = new TestServer().tool('act', async (args, ctx) => {
    await ctx.roots('a')
    const done = await effect(ctx, args)
    await ctx.roots('b')
    return { content: [{ type: 'text', text: JSON.stringify(done ?? null) }] }
  })
  return oneOf(store, { streams: { streamAfterMs: 60_000 }, ...options }, server)
}

const first = async (transport: Transport) => askedIn(await callTool(transport, 'act'))
const second = (transport: Transport, asked: Asked) =>
  callTool(transport, 'act', { more: retryOf(asked, { a: ROOTS }) })
const third = (transport: Transport, asked: Asked) => callTool(transport, 'act', { more: retryOf(asked, { b: ROOTS }) })
const done = (answer: Answer) => JSON.parse(textOf(answer.message)!)

describe('J-08 S55 ctx.once: one effect for a call', () => {
  test('however often its handler runs, on whichever node', async () => {
    const store = shared()
    let effects = 0
    const effect: Effect = (ctx) => ctx.once('effect', () => ++effects)
    const [a, b] = [node(store, effect), node(store, effect)] as const
    const asked = await first(a.transport)
    expect(effects).toBe(0)
    const onB = askedIn(await second(b.transport, asked))
    // Replays of any round, and of the last.
    askedIn(await second(a.transport, asked))
    expect(done(await third(a.transport, onB))).toBe(1)
    expect(done(await third(b.transport, onB))).toBe(1)
    const answers = await Promise.all([a, b, a, b].map(({ transport }) => third(transport, onB)))
    expect(answers.map(done)).toEqual([1, 1, 1, 1])
    expect(effects).toBe(1)
  })

  test.each(['memory', 'a store that repeats and delays'])(
    'a round that comes to two nodes at once: %s',
    async (kind) => {
      const store = shared()
      for (let round = 0; round < 20; round++) {
        let effects = 0
        const effect: Effect = (ctx) =>
          ctx.once('effect', async () => {
            effects++
            await new Promise((resolve) => setImmediate(resolve))
            return { receipt: effects }
          })
        const nodes = [2 * round, 2 * round + 1].map((seed) =>
          node(kind === 'memory' ? store : unreliable(store, { seed, delayMs: 1 }), effect),
        )
        const asked = await first(nodes[0]!.transport)
        const both = await Promise.all(nodes.map(({ transport }) => second(transport, asked)))
        const ends = await Promise.all(nodes.map(({ transport }, i) => third(transport, askedIn(both[1 - i]!))))
        expect(ends.map(done)).toEqual([{ receipt: 1 }, { receipt: 1 }])
        expect(effects).toBe(1)
      }
    },
  )

  test.each<[Json | undefined, Json]>([
    [0, 0],
    ['', ''],
    [false, false],
    [null, null],
    [{ a: [1, 'ü'] }, { a: [1, 'ü'] }],
    [undefined, null],
  ])('what it returned is kept: %j', async (result, kept) => {
    let effects = 0
    const { transport } = node(shared(), (ctx) =>
      ctx.once('effect', () => {
        effects++
        return result as Json
      }),
    )
    const asked = await first(transport)
    expect(done(await third(transport, askedIn(await second(transport, asked))))).toEqual(kept)
    expect(effects).toBe(1)
  })

  test('keys name different effects; another call has its own', async () => {
    const effects: string[] = []
    const { transport } = node(shared(), async (ctx, { who }) => {
      for (const key of ['x', 'y']) await ctx.once(key, () => void effects.push(`${who} ${key}`))
    })
    for (const who of ['a', 'b']) {
      const send = (more: object) => callTool(transport, 'act', { args: { who }, more: more as never })
      const asked = askedIn(await send({}))
      const next = askedIn(await send(retryOf(asked, { a: ROOTS })))
      expect((await send(retryOf(next, { b: ROOTS }))).message.result?.resultType).toBe('complete')
    }
    expect(effects).toEqual(['a x', 'a y', 'b x', 'b y'])
  })

  test('before there is a state a run is a call of its own', async () => {
    let effects = 0
    const server = new TestServer().tool('act', async (_args, ctx) => {
      await ctx.once('effect', () => ++effects)
      return { content: [] }
    })
    const { transport } = oneOf(shared(), {}, server)
    await callTool(transport, 'act')
    await callTool(transport, 'act')
    expect(effects).toBe(2)
  })
})

describe('an effect that fails', () => {
  test('frees its key: the round that is sent again tries again, and its own error is what the handler gets', async () => {
    let tries = 0
    const { transport, reported } = node(shared(), (ctx) =>
      ctx.once('effect', () => {
        if (++tries < 3) throw new Error(`try ${tries}`)
        return tries
      }),
    )
    const asked = await first(transport)
    for (const attempt of [1, 2]) {
      expect((await second(transport, asked)).message.error?.code).toBe(-32603)
      expect(String(reported.at(-1)?.error)).toBe(`Error: try ${attempt}`)
    }
    const next = askedIn(await second(transport, asked))
    expect(done(await third(transport, next))).toBe(3)
    expect(tries).toBe(3)
  })

  test('a node that waited for it is told, and does not run it behind its back', async () => {
    const store = shared()
    const started = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let effects = 0
    const effect: Effect = (ctx) =>
      ctx.once('effect', async () => {
        effects++
        started.resolve()
        await gate.promise
        throw new Error('no')
      })
    const [a, b] = [node(store, effect), node(store, effect)]
    const asked = await first(a.transport)
    const winner = second(a.transport, asked)
    await started.promise
    const loser = second(b.transport, asked)
    await until(() => expect(b.server.runs.act).toBe(1))
    gate.resolve()
    expect((await winner).message.error?.code).toBe(-32603)
    expect((await loser).message.error?.code).toBe(-32603)
    expect(String(b.reported[0]?.error)).toMatch(/try again/)
    expect(effects).toBe(1)
  })

  test('a release that is repeated late frees no claim that was made since', async () => {
    const store = shared()
    let effects = 0
    let isBroken = true
    const gate = Promise.withResolvers<void>()
    const effect: Effect = (ctx) =>
      ctx.once('effect', async () => {
        if (isBroken) throw new Error('no')
        effects++
        await gate.promise
        return effects
      })
    const [a, b, c] = [node(store, effect), node(store, effect), node(store, effect)]
    const asked = await first(a.transport)
    // Each step of A that ends a claim is repeated later, its reply having been lost.
    const repeats: (() => Promise<unknown>)[] = []
    a.line.around = (call, _args, run) => {
      if (call === 'kv.delete' || call === 'kv.swap') repeats.push(run)
      return run()
    }
    expect((await second(a.transport, asked)).message.error?.code).toBe(-32603)
    isBroken = false
    const onB = second(b.transport, asked)
    await until(() => expect(effects).toBe(1))
    for (const repeat of repeats) await repeat()
    const onC = second(c.transport, asked)
    await until(() => expect(c.server.runs.act).toBe(1))
    gate.resolve()
    for (const answer of [await onB, await onC]) askedIn(answer)
    expect(effects).toBe(1)
  })
})

describe('a node that dies while it has an effect', () => {
  test('the outcome is unknown: others say so, and never run it again', async () => {
    const store = shared()
    const started = Promise.withResolvers<void>()
    let effects = 0
    const effect: Effect = (ctx) =>
      ctx.once('effect', () => {
        effects++
        started.resolve()
        return effects > 1 ? 1 : new Promise<number>(() => {})
      })
    const options = { leaseMs: 150 }
    const [a, b] = [node(store, effect, options), node(store, effect, options)]
    const asked = await first(a.transport)
    const lost = new AbortController()
    const dead = callTool(a.transport, 'act', { more: retryOf(asked, { a: ROOTS }), signal: lost.signal }).catch(
      () => {},
    )
    await started.promise
    a.line.kill()
    expect((await second(b.transport, asked)).message.error?.code).toBe(-32603)
    expect((await second(b.transport, asked)).message.error?.code).toBe(-32603)
    expect(b.reported.map(({ error }) => String(error))).toEqual(Array(2).fill(expect.stringContaining('unknown')))
    expect(effects).toBe(1)
    a.line.mend()
    lost.abort()
    await dead
  })

  test('while it lives others wait for it', async () => {
    const store = shared()
    const gate = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const effect: Effect = (ctx) =>
      ctx.once('effect', async () => {
        started.resolve()
        await gate.promise
        return 'mine'
      })
    const [a, b] = [node(store, effect, { leaseMs: 100 }), node(store, effect, { leaseMs: 100 })]
    const asked = await first(a.transport)
    const winner = second(a.transport, asked)
    await started.promise
    const waiting = second(b.transport, asked)
    await new Promise((resolve) => setTimeout(resolve, 300)) // three leases
    gate.resolve()
    askedIn(await winner)
    expect(done(await third(b.transport, askedIn(await waiting)))).toBe('mine')
  })
})

describe('in time', () => {
  afterEach(() => void vi.useRealTimers())

  test('an effect is remembered as long as its call goes on, however long that is', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    let effects = 0
    const server = new TestServer().tool('act', async (_args, ctx) => {
      await ctx.once('effect', () => ++effects)
      for (let round = 1; round <= 5; round++) await ctx.roots(`round ${round}`)
      return { content: [] }
    })
    const { transport } = oneOf(shared(), {}, server)
    let answer = await callTool(transport, 'act')
    for (let round = 1; round <= 5; round++) {
      vi.setSystemTime(Date.now() + 55 * 60_000)
      answer = await callTool(transport, 'act', { more: retryOf(askedIn(answer), { [`round ${round}`]: ROOTS }) })
    }
    expect(answer.message.result?.resultType).toBe('complete')
    expect(effects).toBe(1)
  })
})
