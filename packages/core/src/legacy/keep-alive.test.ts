// Comments keep streams open, and pings find those that nobody reads any more.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { legacy } from '../../test-support/clients.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { twoNodes } from '../../test-support/nodes.ts'
import { scene } from '../../test-support/scene.ts'

describe('R24 B-12 S08 comments and pings', () => {
  /** After the scene, so that its own end has real time again. */
  const fake = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
  }

  test('S08 S12 each 15 s on every kind of stream, with no id, none after its end, and no timer is left', async () => {
    const { transport, server } = scene({ streams: { streamAfterMs: 0 }, sessions: { ttlMs: 86_400_000 } })
    const client = await legacy(transport)
    fake()
    const idle = transport.stats().timers
    const opening = client.stream('steps', { n: 2 }, { meta: { progressToken: 1 } })
    await vi.advanceTimersByTimeAsync(1)
    const dropped = new Listener(await opening)
    await dropped.has(1)
    const direct = client.stream('slow', { text: 'x' })
    await vi.advanceTimersByTimeAsync(1)
    const call = new Listener(await direct)
    const [get, resumed] = [await listen(client), await listen(client, dropped.lastId)]
    await dropped.ended
    await vi.advanceTimersByTimeAsync(14_900)
    expect([get.comments, call.comments, resumed.comments]).toEqual([0, 0, 0])
    await vi.advanceTimersByTimeAsync(60_000)
    expect([get.comments, call.comments, resumed.comments]).toEqual([4, 4, 4])
    expect([get, call, resumed].flatMap(({ frames }) => frames.filter(({ raw }) => raw === ':'))).toHaveLength(12)
    server.gates.open('slow')
    for (const step of [1, 2]) server.gates.open(`step ${step}`)
    await Promise.all([call.ended, resumed.ended])
    expect(call.frames.at(-1)!.message).toMatchObject({ result: {} })
    await get.leave()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(transport.stats()).toMatchObject({ connections: 0, timers: idle })
  })

  test('W12 pingMs: a client that answers keeps its stream; one that does not loses it, but neither session nor call', async () => {
    const { transport, server } = scene({
      streams: { streamAfterMs: 0, pingMs: 1000, pingTimeoutMs: 300, keepAliveMs: 0 },
    })
    const client = await legacy(transport)
    fake()
    const get = await listen(client)
    const opening = client.stream('slow', { text: 'x' })
    await vi.advanceTimersByTimeAsync(1)
    const call = new Listener(await opening)
    for (let round = 1; round <= 3; round++) {
      await vi.advanceTimersByTimeAsync(1001)
      expect(get.messages).toHaveLength(round)
      const [ping] = get.messages.slice(-1)
      expect(ping).toMatchObject({ method: 'ping' })
      await (await client.send({ jsonrpc: '2.0', id: ping!.id, result: {} })).text()
    }
    await vi.advanceTimersByTimeAsync(1001)
    expect(get.over).toBe(false)
    await vi.advanceTimersByTimeAsync(301)
    await get.ended
    expect(call.over).toBe(false)
    server.gates.open('slow')
    await call.ended
    expect(call.messages).toMatchObject([{ result: {} }])
    expect((await client.request('tools/list')).status).toBe(200)
  })

  test('W11 W8 another node’s pings are its own affair, and idle streams cost no store calls but renewals', async () => {
    const { a, b } = twoNodes({
      streams: { pingMs: 1000, pingTimeoutMs: 300, keepAliveMs: 100 },
      leaseMs: 1_000_000_000,
    })
    const client = await legacy(a.transport)
    const quiet = await legacy(a.transport)
    fake()
    const get = await listen(client)
    await vi.advanceTimersByTimeAsync(1001)
    await b.transport.close()
    expect(get.messages).toHaveLength(1)
    await (await client.send({ jsonrpc: '2.0', id: get.messages[0]!.id, result: {} })).text()
    await vi.advanceTimersByTimeAsync(900)
    expect(get.over).toBe(false)
    await get.leave()
    const idle = twoNodes({ streams: { keepAliveMs: 100 }, leaseMs: 1_000_000_000 })
    const other = await listen(await legacy(idle.a.transport))
    await vi.advanceTimersByTimeAsync(1)
    const before = idle.a.transport.stats().storeCalls
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect(other.comments).toBeGreaterThan(5000)
    expect(idle.a.transport.stats().storeCalls).toBe(before)
    await vi.advanceTimersByTimeAsync(210_000)
    expect(idle.a.transport.stats().storeCalls).toBe(before + 1)
    await other.leave()
    expect(quiet.session).toBeTruthy()
  })
})
