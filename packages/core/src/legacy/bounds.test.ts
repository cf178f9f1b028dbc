// What is kept of a stream, and what waits for a connection: by count, by bytes, by age.
import { describe, expect, test } from 'vitest'
import { type LegacyClient, legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { type Scene, scene, until } from '../../test-support/scene.ts'
import { Frames, read } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'

const token = { meta: { progressToken: 'p' } }
const number = ({ messages }: Listener) => messages.map(({ params }) => params?.progress ?? params?.data ?? 'answer')

/** A call that says 1 to n, padded, when it is let; its client has read the first one and gone away. */
async function dropped(
  { transport, server }: Scene,
  n: number,
  pad: number,
): Promise<{ client: LegacyClient; id: string }> {
  server.tool('counts', async (_args, ctx) => {
    await ctx.progress(1, n, 'x'.repeat(pad))
    await server.gates.pass('go')
    for (let step = 2; step <= n; step++) await ctx.progress(step, n, 'x'.repeat(pad))
    return { content: [] }
  })
  const client = await legacy(transport)
  const first = new Listener(await client.stream('counts', {}, token))
  await first.has(1)
  await first.leave()
  server.gates.open('go')
  await until(() => expect(transport.stats().inFlight).toBe(0))
  return { client, id: first.lastId! }
}

const settled = () => pause(10)

describe('W14 what is kept of a call’s stream', () => {
  test.each<[string, TransportOptions['streams'], number]>([
    ['maxEvents', { maxEvents: 5 }, 5],
    ['maxBytes', { maxBytes: 5_000 }, 4],
  ])('%s: from what is still kept it can be resumed, from before that not: 400', async (_what, streams, kept) => {
    const made = scene({ streams: { streamAfterMs: 0, ...streams } })
    const { client, id } = await dropped(made, 20, 1000)
    await settled()
    const [name] = id.split('.')
    const answer = await read(client.verb('GET', { 'last-event-id': id }))
    expect(answer).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
    // 20 steps and the answer: 21 events. The answer is always there.
    const oldest = 21 - kept
    const resumed = await listen(client, `${name}.${oldest}`)
    await resumed.ended
    expect(number(resumed)).toEqual([...Array.from({ length: kept - 1 }, (_, i) => oldest + 1 + i), 'answer'])
    expect((await read(client.verb('GET', { 'last-event-id': `${name}.${oldest - 2}` }))).status).toBe(400)
  })

  test('an answer that is larger than maxBytes is kept all the same', async () => {
    const made = scene({ streams: { streamAfterMs: 0, maxBytes: 5_000 } })
    made.server.tool('big', async () => {
      await made.server.gates.pass('big')
      return { content: [{ type: 'text', text: 'x'.repeat(20_000) }] }
    })
    const client = await legacy(made.transport)
    const frames = await client.stream('big')
    const anchor = (await frames.next())!.id
    await frames.cancel()
    made.server.gates.open('big')
    await until(() => expect(made.transport.stats().inFlight).toBe(0))
    await settled()
    const resumed = await listen(client, anchor)
    await resumed.ended
    expect(resumed.messages).toHaveLength(1)
  })

  test('maxAgeMs: so long after its end it can be resumed, then no more', () =>
    inFakeTime(async () => {
      const made = scene({ streams: { streamAfterMs: 0, maxAgeMs: 150 } })
      const { client, id } = await dropped(made, 3, 0)
      await settled()
      const resumed = await listen(client, id)
      await resumed.ended
      expect(number(resumed)).toEqual([2, 3, 'answer'])
      await until(async () => {
        expect((await read(client.verb('GET', { 'last-event-id': id }))).status).toBe(400)
      })
    }))
})

describe('S13 a client that does not read', () => {
  const say = async ({ transport }: Scene, { session }: LegacyClient, from: number, to: number) => {
    const held = (await transport.session(session))!
    for (let data = from; data <= to; data++) {
      await held.send('notifications/message', { level: 'info', data, logger: 'x'.repeat(1000) })
    }
  }

  test('is cut off from the standalone stream; the others get all, and it resumes with nothing lost', async () => {
    const states: string[] = []
    const made = scene({ streams: { maxBytes: 20_000 }, observer: { stream: ({ state }) => void states.push(state) } })
    const [slow, quick] = [await legacy(made.transport), await legacy(made.transport)]
    const unread = await slow.verb('GET')
    const other = await listen(quick)
    await until(() => expect(made.transport.stats().connections).toBe(2))
    let said = 0
    while (made.transport.stats().connections === 2) {
      await say(made, slow, ++said, said)
      await say(made, quick, said, said)
      expect(said).toBeLessThan(100)
    }
    expect(states).toContain('overflow')
    await say(made, slow, said + 1, said + 3)
    // What was in the pipe is read after all.
    const late = new Listener(new Frames(unread))
    await late.ended
    const resumed = await listen(slow, late.lastId)
    await until(() => expect([...number(late), ...number(resumed)]).toHaveLength(said + 3))
    expect([...number(late), ...number(resumed)]).toEqual(Array.from({ length: said + 3 }, (_, i) => i + 1))
    expect(number(other)).toEqual(Array.from({ length: said }, (_, i) => i + 1))
    await Promise.all([resumed.leave(), other.leave()])
  })

  test('is cut off from a call’s stream, and the call runs on: its answer is there for who resumes', async () => {
    const made = scene({ streams: { streamAfterMs: 0, maxBytes: 20_000 } })
    made.server.tool('pours', async (_args, ctx) => {
      for (let step = 1; step <= 30; step++) {
        await ctx.progress(step, 30, 'x'.repeat(1000))
        await new Promise((resolve) => setImmediate(resolve))
      }
      return { content: [] }
    })
    const client = await legacy(made.transport)
    const unread = await client.open('tools/call', { name: 'pours', arguments: {} }, token)
    await until(() => expect(made.transport.stats().inFlight).toBe(0))
    const late = new Listener(new Frames(unread))
    await late.ended
    expect(number(late)).not.toContain('answer')
    await settled()
    const resumed = await listen(client, late.lastId)
    await resumed.ended
    expect([...number(late), ...number(resumed)]).toEqual([...Array.from({ length: 30 }, (_, i) => i + 1), 'answer'])
  })

  test('and one that does read is never cut off for a burst', async () => {
    const made = scene({ streams: { maxBytes: 20_000 } })
    const client = await legacy(made.transport)
    const get = await listen(client)
    await say(made, client, 1, 300)
    await get.has(300)
    await get.leave()
    expect(number(get)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1))
  })
})
