// How long a session lives, who may keep it alive, and that the app hears of its end once.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { initialize, LEGACY_VERSIONS, type LegacyClient, legacy, post } from '../../test-support/clients.ts'
import { inFakeTime } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, twoNodes } from '../../test-support/nodes.ts'
import { type Scene, scene, until } from '../../test-support/scene.ts'
import { read } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

/** After the scene, so that its own end has real time again. */
function fakeTime(): (ms: number) => Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  return async (ms) => void (await vi.advanceTimersByTimeAsync(ms))
}

const status = async (client: LegacyClient) => (await client.request('tools/list')).status

/** Sessions that have ended, as the app was told. */
function told(options: TransportOptions = {}): { ended: [id: string, reason: string][]; options: TransportOptions } {
  const ended: [string, string][] = []
  return { ended, options: { ...options, onSessionEnd: ({ id }, reason) => void ended.push([id, reason]) } }
}

describe('R05 W6 S03 the TTL', () => {
  const TTL = 1000

  test('slides with use; unused, the session is over: 404, and nothing of it is left', async () => {
    const { ended, options } = told({ sessions: { ttlMs: TTL } })
    const { transport } = scene(options)
    const pass = fakeTime()
    const client = await legacy(transport)
    const idle = await legacy(transport)
    for (let i = 0; i < 5; i++) {
      await pass(TTL * 0.8)
      expect(await status(client)).toBe(200)
    }
    expect(ended).toEqual([[idle.session, 'expired']])
    await pass(TTL + 50)
    expect(ended).toEqual([
      [idle.session, 'expired'],
      [client.session, 'expired'],
    ])
    expect(transport.stats()).toMatchObject({ sessions: 0, connections: 0 })
    expect(await status(client)).toBe(404)
    expect(ended).toHaveLength(2)
  })

  test('S03 fifty clients that vanish leave nothing behind', async () => {
    const { ended, options } = told({ sessions: { ttlMs: TTL } })
    const { transport } = scene(options)
    const pass = fakeTime()
    const timers = transport.stats().timers
    const clients = await Promise.all(Array.from({ length: 50 }, () => legacy(transport)))
    expect(transport.stats().sessions).toBe(50)
    await pass(3 * TTL)
    expect(transport.stats()).toMatchObject({ sessions: 0, timers })
    expect(ended).toHaveLength(50)
    expect(new Set(ended.map(([, reason]) => reason))).toEqual(new Set(['expired']))
    expect(await status(clients[7]!)).toBe(404)
  })

  test.each(['a request', 'a notification', 'a response', 'a GET'])('%s is a use', async (what) => {
    const { transport } = scene({ sessions: { ttlMs: TTL } })
    const pass = fakeTime()
    const client = await legacy(transport)
    for (let i = 0; i < 3; i++) {
      await pass(TTL * 0.7)
      if (what === 'a request') await client.request('ping')
      else if (what === 'a notification') await client.notify('notifications/x')
      else if (what === 'a response') await (await client.send({ jsonrpc: '2.0', id: 'x', result: {} })).text()
      else await (await listen(client)).leave()
    }
    expect(await status(client)).toBe(200)
  })

  test.each<[string, (client: LegacyClient, server: Scene['server']) => Promise<() => Promise<unknown>>]>([
    [
      'an open stream',
      async (client) => {
        const get = await listen(client)
        return () => get.leave()
      },
    ],
    [
      'a running call, streamed',
      async (client, server) => {
        const call = new Listener(await client.stream('slow', { text: 'x' }))
        return async () => {
          server.gates.open('slow')
          await call.ended
        }
      },
    ],
    [
      'a running call, to be answered by JSON',
      async (client, server) => {
        const call = client.call('slow', { text: 'x' }, { headers: { accept: 'application/json' } })
        return async () => {
          server.gates.open('slow')
          expect((await call).form).toBe('json')
        }
      },
    ],
    [
      'a running call whose client has gone away',
      async (client, server) => {
        const call = new Listener(await client.stream('slow', { text: 'x' }))
        await call.leave()
        return async () => {
          server.gates.open('slow')
          await until(() => expect(server.finished).toBe(1))
        }
      },
    ],
  ])('S04 %s is a use for as long as it lasts, and the idle time counts from its end', async (_what, begin) => {
    const { ended, options } = told({ sessions: { ttlMs: TTL }, streams: { streamAfterMs: 1 } })
    const { transport, server } = scene(options)
    const client = await legacy(transport)
    const pass = fakeTime()
    const begun = begin(client, server)
    await pass(5)
    const end = await begun
    await pass(5 * TTL)
    expect(ended).toEqual([])
    await end()
    await pass(TTL * 0.6)
    expect(ended).toEqual([])
    await pass(TTL * 0.6)
    expect(ended).toEqual([[client.session, 'expired']])
  })

  test('W4 W5 neither an answer nor a notification brings a session back, or makes one', async () => {
    const { transport, server } = scene({ sessions: { ttlMs: TTL } })
    const client = await legacy(transport)
    const held = (await transport.session(client.session))!
    const pass = fakeTime()
    await pass(2 * TTL)
    expect((await client.notify('notifications/initialized')).status).toBe(404)
    expect((await client.request('logging/setLevel', { level: 'error' })).status).toBe(404)
    expect(await held.send('notifications/message', { level: 'info', data: 1 })).toBe('gone')
    server.gates.open('slow')
    await transport.notify.toolsChanged()
    expect(await status(client)).toBe(404)
    expect(await transport.session(client.session)).toBeUndefined()
    expect(transport.stats().sessions).toBe(0)
  })
})

describe('S03 the cap of a node', () => {
  test('the session that is unused for longest makes room, a busy one never', async () => {
    const { ended, options } = told({ sessions: { max: 3 }, streams: { streamAfterMs: 0 } })
    const { transport, server } = scene(options)
    const [busy, listening, idle] = [await legacy(transport), await legacy(transport), await legacy(transport)]
    const call = new Listener(await busy.stream('slow', { text: 'x' }))
    const get = await listen(listening)
    await legacy(transport)
    expect(ended).toEqual([[idle.session, 'evicted']])
    expect(await status(idle)).toBe(404)
    expect([await status(busy), await status(listening)]).toEqual([200, 200])
    server.gates.open('slow')
    await call.ended
    expect(call.messages).toHaveLength(1)
    await get.leave()
    expect(transport.stats().sessions).toBe(3)
  })

  test('with all of them busy, initialize gets 503', async () => {
    const { transport } = scene({ sessions: { max: 1 } })
    const get = await listen(await legacy(transport))
    const answer = await read(post(transport, initialize('2025-11-25')))
    expect(answer).toMatchObject({ status: 503, message: { id: 'init' } })
    await get.leave()
    await until(async () => expect((await read(post(transport, initialize('2025-11-25')))).status).toBe(200))
  })

  test('many at once do not get past it', async () => {
    const { transport } = scene({ sessions: { max: 3 } })
    await Promise.all(Array.from({ length: 20 }, () => read(post(transport, initialize('2025-11-25')))))
    expect(transport.stats().sessions).toBeLessThanOrEqual(3)
  })

  test.each(['a stream', 'a call'])('a session that is busy with %s on another node is not ended', async (what) => {
    const { ended, options } = told({ sessions: { max: 1 }, streams: { streamAfterMs: 0 } })
    const { a, b } = twoNodes(options)
    const client = await legacy(a.transport)
    const there = at(b.transport, client)
    const busy = what === 'a stream' ? await listen(there) : new Listener(await there.stream('slow', { text: 'x' }))
    if (what === 'a call') await b.server.started('slow')
    await until(async () => {
      expect((await read(post(a.transport, initialize('2025-11-25')))).status).toBe(503)
    })
    expect(ended).toEqual([])
    await busy.leave()
    b.server.gates.open('slow')
  })
})

describe('R06 onSessionStart and onSessionEnd', () => {
  test.each(LEGACY_VERSIONS)('%s: once each, with the reason', async (version) => {
    const started: string[] = []
    const { ended, options } = told({ onSessionStart: ({ id }) => void started.push(id) })
    const { transport } = scene(options)
    const [deleted, closed, left] = [
      await legacy(transport, version),
      await legacy(transport, version),
      await legacy(transport, version),
    ]
    await deleted.verb('DELETE')
    await (await transport.session(closed.session))!.end()
    await transport.close()
    expect(started).toEqual([deleted.session, closed.session, left.session])
    expect(ended).toEqual([
      [deleted.session, 'deleted'],
      [closed.session, 'closed'],
      [left.session, 'closed'],
    ])
  })

  test.each([false, true])('S07 once on two nodes, whoever is asked; replies get lost: %s', (lossy) =>
    inFakeTime(async () => {
      const { ended, options } = told({ streams: { streamAfterMs: 0 } })
      const { a, b } = twoNodes(options, lossy ? (store) => unreliable(store, { probability: 0.5 }) : undefined)
      for (let round = 0; round < 10; round++) {
        const client = await legacy(a.transport)
        // The home node writes for the session all the while, and finds out by itself.
        a.server.gates.open('step 1')
        const call = new Listener(await client.stream('slow', { text: 'x', gate: `gate ${round}` }))
        const get = await listen(at(b.transport, client))
        const ways = await Promise.all([
          at(b.transport, client).verb('DELETE'),
          (await a.transport.session(client.session))?.send('notifications/message', { level: 'info', data: 1 }),
          at(round % 2 ? a.transport : b.transport, client).verb('DELETE'),
        ])
        expect([(ways[0] as Response).status, (ways[2] as Response).status].toSorted()).toEqual([204, 404])
        await Promise.all([call.ended, get.ended])
        expect(await status(client)).toBe(404)
        await until(() => expect(ended).toEqual([[client.session, 'deleted']]))
        ended.length = 0
      }
    }),
  )

  test('a session that the store has lost is expired, once, and what it had ends', () =>
    inFakeTime(async () => {
      const { ended, options } = told({ sessions: { ttlMs: 300 } })
      const { a, b, store } = twoNodes(options)
      const client = await legacy(a.transport)
      const get = await listen(at(b.transport, client))
      await store.kv.delete([{ tag: client.session, name: 'session' }])
      await get.ended
      await until(() => expect(a.transport.stats().sessions).toBe(0))
      await until(() => expect(ended).toEqual([[client.session, 'expired']]))
    }))

  test('R02 onSessionStart that fails leaves no session behind', async () => {
    const { ended, options } = told({ onSessionStart: () => Promise.reject(new Error('no')) })
    const { transport } = scene(options)
    await read(post(transport, initialize('2025-11-25')))
    expect(transport.stats().sessions).toBe(0)
    expect(ended).toMatchObject([[expect.any(String), 'closed']])
  })
})
