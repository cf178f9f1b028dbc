// What a handler does while it is run again and again.
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { modern } from '../../test-support/clients.ts'
import { ALL_ASKS, accepted, askedIn, callTool, declaring, retryOf } from '../../test-support/exchanges.ts'
import { idle, scene, until } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { textOf } from '../../test-support/sse.ts'
import type { Context } from '../server.ts'

const PATIENT = { streams: { streamAfterMs: 60_000 } }
const NAME = { message: 'Your name?', schema: v.object({ name: v.string() }) }
const ROOTS = { roots: [{ uri: 'file:///a' }] }
const ADA = accepted({ name: 'Ada' })

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })

function asking(run: (ctx: Context, args: { [key: string]: unknown }) => unknown) {
  const server = new TestServer().tool('ask', async (args, ctx) => text(await run(ctx, args)))
  return { ...scene(PATIENT, server), server }
}

describe('what a handler does once its round has ended is dropped', () => {
  test('`finally` runs, and the error is one that says so', async () => {
    const seen: unknown[] = []
    const { transport, reported } = asking(async (ctx) => {
      try {
        return await ctx.elicit('name', NAME)
      } catch (error) {
        seen.push((error as Error).name)
        throw error
      } finally {
        seen.push('finally')
      }
    })
    const asked = askedIn(await callTool(transport, 'ask'))
    await until(() => expect(seen).toEqual(['AbortError', 'finally']))
    expect(reported).toEqual([])
    const answer = await callTool(transport, 'ask', { more: retryOf(asked, { name: ADA }) })
    expect(JSON.parse(textOf(answer.message)!)).toEqual(ADA)
    expect(seen).toEqual(['AbortError', 'finally', 'finally'])
  })

  test('one that catches and returns still asks, as does one that returns without waiting', async () => {
    const { transport, server } = scene(PATIENT)
    server.tool('catches', (_args, ctx) =>
      ctx.elicit('name', NAME).then(
        () => text('answered'),
        () => text('given up'),
      ),
    )
    server.tool('hurries', (_args, ctx) => {
      ctx.elicit('name', NAME).catch(() => {})
      return text('hurried')
    })
    server.tool('hurries without a care', (_args, ctx) => {
      void ctx.elicit('name', NAME)
      return text('hurried')
    })
    server.tool('fails', (_args, ctx) => {
      void ctx.elicit('name', NAME)
      throw new Error('of its own')
    })
    for (const tool of ['catches', 'hurries', 'hurries without a care', 'fails']) {
      expect(Object.keys(askedIn(await callTool(transport, tool)).inputRequests)).toEqual(['name'])
    }
    const asked = askedIn(await callTool(transport, 'catches'))
    const { message } = await callTool(transport, 'catches', { more: retryOf(asked, { name: ADA }) })
    expect(textOf(message)).toBe('"answered"')
  })

  test('asks that are made first and waited for in turn: no rejection is left to crash the process', async () => {
    const { transport } = asking(async (ctx) => {
      const [name, roots] = [ctx.elicit('name', NAME), ctx.roots('roots')]
      return [await name, await roots]
    })
    const asked = askedIn(await callTool(transport, 'ask'))
    expect(Object.keys(asked.inputRequests)).toEqual(['name', 'roots'])
    const more = retryOf(asked, { name: ADA, roots: ROOTS })
    const { message } = await callTool(transport, 'ask', { more })
    expect(JSON.parse(textOf(message)!)).toEqual([ADA, ROOTS.roots])
  })

  test('asks, progress and log that come after it go nowhere, and hold nothing up', async () => {
    const late: unknown[] = []
    const effects: unknown[] = []
    const { transport } = asking(async (ctx) => {
      try {
        await ctx.elicit('name', NAME)
      } catch {
        await ctx.progress(1)
        await ctx.log('error', 'too late')
        for (const ask of [
          () => ctx.roots('roots'),
          () => ctx.elicit('other', NAME),
          () => ctx.once('effect', () => effects.push('too late')),
        ]) {
          late.push(await ask().catch((error: Error) => error.name))
        }
      }
    })
    const { messages, message } = await callTool(transport, 'ask', { meta: { progressToken: 1 } })
    expect(messages).toHaveLength(1)
    expect(Object.keys((message.result as { inputRequests: object }).inputRequests)).toEqual(['name'])
    await until(() => expect(late).toEqual(['AbortError', 'AbortError', 'AbortError']))
    expect(effects).toEqual([])
    await idle(transport)
    expect(transport.stats().timers).toBe(0)
  })

  test('an error that is no answer to that is reported', async () => {
    const { transport, reported } = asking((ctx) =>
      ctx.elicit('name', NAME).catch(() => {
        throw new Error('a fault in the clean-up')
      }),
    )
    askedIn(await callTool(transport, 'ask'))
    await until(() => expect(String(reported[0]?.error)).toContain('a fault in the clean-up'))
  })

  test('G-21 a client that goes while the round ends: the handler is told, and nothing stays', async () => {
    const seen: string[] = []
    const client = new AbortController()
    const { transport } = asking((ctx) => {
      client.abort()
      return ctx.roots('roots').catch((error: Error) => seen.push(error.name))
    })
    await modern(transport)
      .call('ask', {}, { meta: declaring(ALL_ASKS), signal: client.signal })
      .catch(() => {})
    await until(() => expect(seen).toEqual(['AbortError']))
    await idle(transport)
    expect(transport.stats().timers).toBe(0)
  })
})

describe('J-04 keys', () => {
  test.each<[string, (ctx: Context) => Promise<unknown>]>([
    ['two asks', (ctx) => Promise.all([ctx.roots('k'), ctx.elicit('k', NAME)])],
    ['two of `once`', async (ctx) => [await ctx.once('k', () => 1), await ctx.once('k', () => 2)]],
  ])('%s of one run with one key are an error', async (_what, run) => {
    const { transport, reported } = asking(run)
    expect((await callTool(transport, 'ask')).message.error?.code).toBe(-32603)
    expect(reported).toHaveLength(1)
    expect(String(reported[0]!.error)).toContain('"k"')
  })

  test('an ask and a `once` may share one', async () => {
    const { transport } = asking(async (ctx) => [await ctx.once('k', () => 1), await ctx.roots('k')])
    const asked = askedIn(await callTool(transport, 'ask'))
    const { message } = await callTool(transport, 'ask', { more: retryOf(asked, { k: ROOTS }) })
    expect(JSON.parse(textOf(message)!)).toEqual([1, ROOTS.roots])
  })

  test.each(['__proto__', 'constructor', 'toString', '', 'ü\n"', '0'])('%j is a key as any other', async (key) => {
    const { transport } = asking((ctx) => ctx.roots(key))
    const asked = askedIn(await callTool(transport, 'ask'))
    expect(Object.keys(asked.inputRequests)).toEqual([key])
    const responses = JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(ROOTS)}}`)
    const { message } = await callTool(transport, 'ask', { more: retryOf(asked, responses) })
    expect(JSON.parse(textOf(message)!)).toEqual(ROOTS.roots)
  })

  test('one that the next run does not use is no fault', async () => {
    let runs = 0
    const { transport } = asking((ctx) => (++runs === 1 ? ctx.roots('first') : ctx.roots('second')))
    const first = askedIn(await callTool(transport, 'ask'))
    const second = askedIn(await callTool(transport, 'ask', { more: retryOf(first, { first: ROOTS }) }))
    expect(Object.keys(second.inputRequests)).toEqual(['second'])
    const { message } = await callTool(transport, 'ask', { more: retryOf(second, { second: ROOTS }) })
    expect(JSON.parse(textOf(message)!)).toEqual(ROOTS.roots)
  })

  test('one that stands for another request is asked anew: an answer is for what was asked', async () => {
    let price = 10
    const { transport } = asking((ctx) =>
      ctx.elicit('pay', { message: `Pay ${price}?`, schema: v.object({ ok: v.boolean() }) }),
    )
    const yes = { pay: accepted({ ok: true }) }
    const first = askedIn(await callTool(transport, 'ask'))
    price = 1000
    const second = askedIn(await callTool(transport, 'ask', { more: retryOf(first, yes) }))
    expect(second.inputRequests.pay?.params?.message).toBe('Pay 1000?')
    const { message } = await callTool(transport, 'ask', { more: retryOf(second, yes) })
    expect(JSON.parse(textOf(message)!)).toEqual(yes.pay)
  })

  test('one that is asked anew beside another that is new', async () => {
    let runs = 0
    const { transport } = asking((ctx) => {
      const message = `Run ${++runs}`
      return runs === 1
        ? ctx.elicit('name', { ...NAME, message })
        : Promise.all([ctx.elicit('name', { ...NAME, message: 'Run 2' }), ctx.roots('roots')])
    })
    const first = askedIn(await callTool(transport, 'ask'))
    let asked = askedIn(await callTool(transport, 'ask', { more: retryOf(first, { name: ADA }) }))
    const answers = { name: ADA, roots: ROOTS }
    let answer = await callTool(transport, 'ask', { more: retryOf(asked, answers) })
    for (let rounds = 0; answer.message.result?.resultType === 'input_required' && rounds < 3; rounds++) {
      asked = askedIn(answer)
      answer = await callTool(transport, 'ask', { more: retryOf(asked, answers) })
    }
    expect(JSON.parse(textOf(answer.message)!)).toEqual([ADA, ROOTS.roots])
  })
})

describe('asks that can not be made', () => {
  const nested = { message: 'x', schema: v.object({ deep: v.object({ a: v.string() }) }) }

  test('alone: the call fails, or goes on if its handler does', async () => {
    const { transport, reported } = asking((ctx) => ctx.elicit('deep', nested))
    expect((await callTool(transport, 'ask')).message.error?.code).toBe(-32603)
    expect(String(reported[0]?.error)).toContain('deep')
    const other = asking((ctx) => ctx.elicit('deep', nested).catch(() => ctx.roots('instead')))
    expect(Object.keys(askedIn(await callTool(other.transport, 'ask')).inputRequests)).toEqual(['instead'])
  })

  test('beside others: those go out', async () => {
    const { transport } = asking((ctx) => Promise.allSettled([ctx.elicit('deep', nested), ctx.roots('roots')]))
    expect(Object.keys(askedIn(await callTool(transport, 'ask')).inputRequests)).toEqual(['roots'])
  })

  test('a URL that is none', async () => {
    const { transport, reported } = asking((ctx) => ctx.elicit('link', { message: 'x', url: 'nowhere' }))
    expect((await callTool(transport, 'ask')).message.error?.code).toBe(-32603)
    expect(String(reported[0]?.error)).toContain('nowhere')
  })
})
