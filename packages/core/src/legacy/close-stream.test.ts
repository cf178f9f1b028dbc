import { expect, test } from 'vitest'
import { legacy } from '../../test-support/clients.ts'
import { scene } from '../../test-support/scene.ts'
import { TestServer } from '../../test-support/server.ts'
import { Frames, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'

/** A tool that hangs up, then waits until it may return. */
function server(options?: { retryMs: number }, reports = 0): TestServer {
  const made = new TestServer()
  return made.tool('poll', async (_, ctx) => {
    for (let step = 1; step <= reports; step++) await ctx.log('info', `step ${step}`)
    await ctx.closeStream(options)
    await made.gates.pass('poll')
    return { content: [{ type: 'text', text: 'welcome back' }] }
  })
}

const resume = (client: Awaited<ReturnType<typeof legacy>>, id: string) =>
  client.verb('GET', { 'last-event-id': id }).then((response) => new Frames(response))

test.each<[string, { retryMs: number } | undefined, number, number]>([
  ['before anything was said', { retryMs: 20 }, 0, 20],
  ['after a message', { retryMs: 0 }, 1, 0],
  ['with no time given', undefined, 0, 1000],
])(
  'D-06 D-07 D-08 R19 ctx.closeStream, %s: id, retry, end; GET brings the answer, once',
  async (_what, options, reports, retry) => {
    const { transport, server: own } = scene({}, server(options, reports))
    const client = await legacy(transport)
    const stream = await client.stream('poll', {}, { id: 'p' })
    const frames = []
    for (let frame = await stream.next(); frame; frame = await stream.next()) frames.push(frame)
    expect(frames[0]).toMatchObject({ id: expect.any(String) })
    expect(frames[0]!.message).toBeUndefined()
    expect(frames.map(({ message }) => message?.method).filter(Boolean)).toHaveLength(reports)
    expect(frames.at(-1)).toEqual({ raw: `retry: ${retry}`, retry })

    const again = await resume(client, frames.at(-2)!.id!)
    own.gates.open('poll')
    const [answer, ...more] = await again.rest()
    expect(answer).toMatchObject({ id: 'p' })
    expect(textOf(answer!)).toBe('welcome back')
    expect(more).toEqual([])
  },
)

test('D-08 an answer that came while nobody was there is given to the one who returns', async () => {
  const { transport, server: own } = scene({}, server())
  const client = await legacy(transport)
  const stream = await client.stream('poll')
  const { id } = (await stream.next())!
  expect(await stream.rest()).toEqual([])
  own.gates.open('poll')
  expect((await (await resume(client, id!)).rest()).map(textOf)).toEqual(['welcome back'])
})

test('D-07 ctx.closeStream hangs up again on a client that has come back', async () => {
  const twice = new TestServer()
  twice.tool('poll', async (_, ctx) => {
    for (const time of ['first', 'second']) {
      await ctx.closeStream({ retryMs: 10 })
      await twice.gates.pass(time)
    }
    return { content: [{ type: 'text', text: 'welcome back' }] }
  })
  const { transport } = scene({}, twice)
  const client = await legacy(transport)
  const { id } = (await (await client.stream('poll')).next())!
  const second = await resume(client, id!)
  twice.gates.open('first')
  expect(await second.next()).toEqual({ raw: 'retry: 10', retry: 10 })
  expect(await second.next()).toBeUndefined()
  const third = await resume(client, id!)
  twice.gates.open('second')
  expect((await third.rest()).map(textOf)).toEqual(['welcome back'])
})

test.each<[string, string, TransportOptions]>([
  ['2025-06-18 knows no early end', '2025-06-18', {}],
  ['answers are to be JSON', '2025-11-25', { response: 'json' }],
])('D-07 P-08 ctx.closeStream has no effect: %s', async (_why, version, options) => {
  const { transport, server: own } = scene(options, server())
  const client = await legacy(transport, version)
  own.gates.open('poll')
  const answer = await client.call('poll')
  expect(answer.form).toBe('json')
  expect(textOf(answer.message)).toBe('welcome back')
})
