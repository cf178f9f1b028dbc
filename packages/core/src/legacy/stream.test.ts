// A call's own stream: one writer, event ids, the anchor, and what does not happen on it.
import { describe, expect, test } from 'vitest'
import { LEGACY_VERSIONS, legacy } from '../../test-support/clients.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { oneOf } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import { type Frame, Frames, textOf } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'

/** A call is a stream at once. */
const STREAMS: TransportOptions = { streams: { streamAfterMs: 0 } }
const token = { meta: { progressToken: 'p' } }

async function all(frames: Frames): Promise<Frame[]> {
  const listener = new Listener(frames)
  await listener.ended
  return listener.frames
}

describe.each(LEGACY_VERSIONS)('%s', (version) => {
  test('D-01 D-02 R18 W24 each event has an id that names its stream, counts up, and tells nothing of the node', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    for (const step of [1, 2]) server.gates.open(`step ${step}`)
    const streams = await Promise.all([1, 2, 3].map((id) => client.stream('steps', { n: 2 }, { id, ...token })))
    const frames = await Promise.all(streams.map(all))
    const ids = frames.map((of) => of.filter(({ message }) => message).map(({ id }) => id!))
    for (const own of ids) {
      const [name] = own[0]!.split('.')
      expect(own).toEqual([1, 2, 3].map((n) => `${name}.${n}`))
      expect(name).toMatch(/^[\w-]{12}$/)
    }
    expect(new Set(ids.flat()).size).toBe(9)
    expect(ids.flat().join()).not.toContain(String(process.pid))
  })

  test('S17 S33 D-06 P-09 an anchor with empty data for 2025-11-25, and for no other', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    // Without the header the session’s own version counts.
    const frames = await client.stream('slow', { text: 'x' }, { headers: { 'mcp-protocol-version': undefined } })
    server.gates.open('slow')
    const [first, ...rest] = await all(frames)
    const isAnchor = first!.message === undefined && first!.id !== undefined
    expect(isAnchor).toBe(version === '2025-11-25')
    if (isAnchor) expect(first!.raw).toBe(`id: ${first!.id}\ndata: `)
    expect(rest.filter(({ message }) => message === undefined)).toEqual([])
  })

  test("D-06 response 'sse': the anchor comes before an answer that is ready at once", async () => {
    const { transport } = scene({ response: 'sse' })
    const client = await legacy(transport, version)
    const frames = await all(await client.stream('echo', { text: 'x' }))
    expect(frames.map(({ message }) => message !== undefined)).toEqual(
      version === '2025-11-25' ? [false, true] : [true],
    )
  })

  test('D-05 a POST with Last-Event-ID is a new POST', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    const frames = await client.stream('slow', { text: 'x' })
    server.gates.open('slow')
    const [first] = (await all(frames)).filter(({ message }) => message)
    const again = await client.call('slow', { text: 'y' }, { headers: { 'last-event-id': first!.id! } })
    expect(again.messages.map(textOf)).toEqual(['y'])
    expect(server.runs.slow).toBe(2)
  })

  test('B-05 B-12 the stream of a call stays until its answer is sent, or its session ends', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    const kept = new Listener(await client.stream('slow', { text: 'x' }))
    await server.started('slow')
    await client.request('tools/list')
    expect(kept.over).toBe(false)
    await client.verb('DELETE')
    await kept.ended
    expect(kept.messages).toEqual([])
  })

  test('B-07 B-10 a GET that is no resumption gets no answer of a call, and nothing about it', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    const get = await listen(client)
    for (const step of [1, 2]) server.gates.open(`step ${step}`)
    const messages = await (await client.stream('steps', { n: 2 }, token)).rest()
    expect(messages).toHaveLength(3)
    await transport.notify.toolsChanged()
    await get.has(1)
    expect(get.messages).toMatchObject([{ method: 'notifications/tools/list_changed' }])
    await get.leave()
  })

  test('R15 an error inside of a stream is its last event', async () => {
    const { transport, server } = scene(STREAMS)
    server.tool('fails', async (_args, ctx) => {
      await ctx.log('error', 'about to')
      throw new Error('private-7f3a')
    })
    const client = await legacy(transport, version)
    const messages = await (await client.stream('fails', {}, { id: 4 })).rest()
    expect(messages).toMatchObject([{ method: 'notifications/message' }, { id: 4, error: { code: -32603 } }])
    expect(JSON.stringify(messages)).not.toContain('private-7f3a')
  })

  test('W9 what two calls and a notifier say at once comes in whole frames, each on its own stream', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    server.tool('talks', async ({ name }, ctx) => {
      for (let i = 1; i <= 50; i++) {
        await ctx.progress(i, 50, `${name} ${'x'.repeat(i)}`)
        if (i % 10 === 0) await transport.notify.toolsChanged()
      }
      return { content: [{ type: 'text', text: String(name) }] }
    })
    const get = await listen(client)
    const streams = await Promise.all(['a', 'b'].map((name) => client.stream('talks', { name }, token)))
    const said = await Promise.all(streams.map((stream) => stream.rest()))
    for (const [i, messages] of said.entries()) {
      const name = 'ab'[i]
      expect(messages.slice(0, -1).map(({ params }) => params!.message)).toEqual(
        Array.from({ length: 50 }, (_, i) => `${name} ${'x'.repeat(i + 1)}`),
      )
      expect(textOf(messages.at(-1)!)).toBe(name)
    }
    await get.has(10)
    await get.leave()
  })
})

describe('one writer', () => {
  test('what is said goes out before it is stored, the record before the first byte', async () => {
    const { transport, server, line } = oneOf(memoryStore(), STREAMS)
    const client = await legacy(transport)
    const made = Promise.withResolvers<void>()
    const stored = Promise.withResolvers<void>()
    const appends: unknown[] = []
    line.around = async (call, args, run) => {
      const [key, entries] = args as [{ name: string }, string[]]
      if (call !== 'log.append' || !key.name.startsWith('stream:')) return run()
      appends.push(entries.length)
      await (appends.length === 1 ? made : stored).promise
      return run()
    }
    const listener = new Listener(await client.stream('steps', { n: 1 }, token))
    await until(() => expect(appends).toEqual([0]))
    expect(listener.frames).toEqual([])
    made.resolve()
    // The first append of entries hangs, and the client has them all the same.
    await listener.has(1)
    server.gates.open('step 1')
    await listener.ended
    expect(listener.messages.map(textOf).at(-1)).toBe('done')
    expect(appends).toEqual([0, 1])
    stored.resolve()
    await until(() => expect(appends).toEqual([0, 1, 1]))
  })

  test('S58 W7 a store that is away when the record is made: the stream goes on, without ids', async () => {
    const { transport, server, line, reported } = oneOf(memoryStore(), STREAMS)
    const client = await legacy(transport)
    const frames = await client.open('tools/call', { name: 'steps', arguments: { n: 1 } }, token)
    line.cut()
    const listener = new Listener(new Frames(frames))
    await listener.has(1)
    server.gates.open('step 1')
    await listener.ended
    line.mend()
    expect(listener.messages).toHaveLength(2)
    expect(reported.length).toBeGreaterThan(0)
  })

  test('W7 what could not be stored is stored when the store is back: nothing is lost to who resumes', async () => {
    const { transport, server, line } = oneOf(memoryStore(), STREAMS)
    const client = await legacy(transport)
    const frames = await client.stream('steps', { n: 2 }, token)
    const anchor = await frames.next()
    expect((await frames.next())?.message).toMatchObject({ params: { progress: 1 } })
    line.cut()
    await frames.cancel()
    server.gates.open('step 1')
    server.gates.open('step 2')
    await until(() => expect(transport.stats().inFlight).toBe(0))
    line.mend()
    const resumed = await listen(client, anchor!.id)
    await resumed.ended
    expect(resumed.messages.map(({ params, result }) => params?.progress ?? typeof result)).toEqual([1, 2, 'object'])
    expect(resumed.frames.map(({ id }) => id?.split('.')[1])).toEqual(['1', '2', '3'])
  })
})
