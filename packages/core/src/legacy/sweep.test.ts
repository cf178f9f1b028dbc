// The reconnect at each 5 ms around the moment of the result: one result each, in order, and nobody else's.
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Client, LEGACY_VERSIONS, legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, type Nodes, oneOf } from '../../test-support/nodes.ts'
import { TestServer } from '../../test-support/server.ts'
import { read, textOf } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

/** When the result is there. */
const RESULT_MS = 100
/** 25 moments, the result's in the middle. */
const MOMENTS = Array.from({ length: 25 }, (_, i) => RESULT_MS + (i - 12) * 5)
/** Calls at each moment, each in a session of its own, all with the same id. */
const SESSIONS = 5

/** A tool that says one thing at once, one half way, and returns what it was given at the time it was given. */
function server(): TestServer {
  return new TestServer().tool('timed', async ({ ms, text }, ctx) => {
    await ctx.progress(1, 2, String(text))
    await pause(Number(ms) / 2)
    await ctx.progress(2, 2, String(text))
    await pause(Number(ms) / 2)
    return { content: [{ type: 'text', text: String(text) }] }
  })
}

function nodes(lossy: boolean, options: TransportOptions): Pick<Nodes, 'a' | 'b'> {
  const store = memoryStore()
  onTestFinished(() => store.close())
  const [a, b] = [1, 2].map((seed) => oneOf(lossy ? unreliable(store, { seed }) : store, options, server()))
  return { a: a!, b: b! }
}

/** The client leaves after what it has been told first, and comes back at `moment`. */
async function resumedAt(moment: number, mine: string, client: Client, there: Client): Promise<unknown[]> {
  const meta = { progressToken: 1 }
  const first = new Listener(await client.stream('timed', { ms: RESULT_MS, text: mine }, { id: 1, meta }))
  await first.has(1)
  await first.leave()
  await pause(Math.max(0, moment))
  const resumed = await listen(there, first.lastId)
  await resumed.ended
  const seen = [first, resumed].flatMap(({ frames }) => frames.filter(({ message }) => message))
  expect(seen.map(({ id }) => id!.split('.')[1])).toEqual(['1', '2', '3'])
  return seen.map(({ message }) => message!.params?.message ?? textOf(message!))
}

/** `npm run prove` does it at full size. */
const FULL = process.env.FAIRLEAD_FULL === '1'
const WAYS = ['the same node', 'another node'].flatMap((where) => [false, true].map((lossy) => ({ where, lossy })))

describe('S16 D-08 the reconnect is swept over the result', () => {
  async function sweep(where: string, lossy: boolean): Promise<number> {
    const { a, b } = nodes(lossy, { streams: { streamAfterMs: 0 } })
    const rounds = MOMENTS.flatMap((moment) => Array.from({ length: SESSIONS }, (_, i) => ({ moment, i })))
    const done = await Promise.all(
      rounds.map(async ({ moment, i }) => {
        const version = LEGACY_VERSIONS[i % 3]!
        const client = await legacy(a.transport, version)
        const there = where === 'the same node' ? client : at(b.transport, client, version)
        const mine = `${moment} ${i}`
        expect(await resumedAt(moment, mine, client, there)).toEqual([mine, mine, mine])
      }),
    )
    return done.length
  }

  test.each(WAYS)('on $where, replies get lost: $lossy, in 125 rounds', ({ where, lossy }) =>
    inFakeTime(async () => {
      expect(await sweep(where, lossy)).toBe(125)
    }),
  )

  test('in real time too', { timeout: 120_000 }, async () => {
    for (const { where, lossy } of FULL ? WAYS : WAYS.slice(-1)) expect(await sweep(where, lossy)).toBe(125)
  })
})

describe('R14 S23 the result is swept over the moment at which the answer turns from JSON into a stream', () => {
  test.each([false, true])('replies get lost: %s, in 125 rounds: one result each, in either form', (lossy) =>
    inFakeTime(async () => {
      const { a, b } = nodes(lossy, { streams: { streamAfterMs: RESULT_MS } })
      const rounds = MOMENTS.flatMap((moment) => Array.from({ length: SESSIONS }, (_, i) => ({ moment, i })))
      const forms = await Promise.all(
        rounds.map(async ({ moment, i }) => {
          const client = await legacy(a.transport, LEGACY_VERSIONS[i % 3])
          const there = at(i % 2 ? a.transport : b.transport, client, LEGACY_VERSIONS[i % 3])
          const mine = `${moment} ${i}`
          // Without a token nothing is said before the result.
          const answer = await read(
            there.open('tools/call', { name: 'timed', arguments: { ms: moment, text: mine } }, { id: 1 }),
          )
          expect(answer.messages.map(textOf)).toEqual([mine])
          return answer.form
        }),
      )
      expect(new Set(forms)).toEqual(new Set(['json', 'sse']))
    }),
  )
})
