// close(): running calls finish, streams end so that their clients go elsewhere, the lease is given up last.
import { describe, expect, onTestFinished, test } from 'vitest'
import { LEGACY_VERSIONS, legacy } from '../../test-support/clients.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, twoNodes } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'

const STREAMS: TransportOptions = { streams: { streamAfterMs: 0 } }
const token = { meta: { progressToken: 'p' } }

describe.each(LEGACY_VERSIONS)('R32 D-07 %s', (version) => {
  test('standalone streams end at once, with retry where the revision knows it, and go on elsewhere: nothing lost or doubled', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport, version)
    const get = await listen(client)
    await a.transport.notify.toolsChanged()
    await get.has(1)
    await a.transport.close()
    await get.ended
    const retry = get.frames.at(-1)?.retry
    expect(retry).toBe(version === '2025-11-25' ? 1000 : undefined)
    expect((await client.request('tools/list')).status).toBe(503)
    await b.transport.notify.promptsChanged()
    const there = at(b.transport, client, version)
    for (const from of [get.lastId, undefined]) {
      const again = await listen(there, from)
      if (from !== undefined) {
        await again.has(1)
        expect(again.messages).toMatchObject([{ method: 'notifications/prompts/list_changed' }])
      } else {
        // Without an id it goes on from where the last connection came to.
        await b.transport.notify.resourcesChanged()
        await again.has(1)
        expect(again.messages).toMatchObject([{ method: 'notifications/resources/list_changed' }])
      }
      await again.leave()
    }
  })

  test('a place that was noted counts, for a client that comes without an id', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport, version)
    const get = await listen(client)
    for (let i = 0; i < 3; i++) await a.transport.notify.toolsChanged()
    await get.has(3)
    await a.transport.close()
    await get.ended
    const again = await listen(at(b.transport, client, version))
    await b.transport.notify.promptsChanged()
    await again.has(1)
    await again.leave()
    expect(again.messages).toMatchObject([{ method: 'notifications/prompts/list_changed' }])
  })

  test('a running call finishes for who waits, and for who has come back to this node', async () => {
    const { transport, server } = scene(STREAMS)
    const client = await legacy(transport, version)
    const direct = new Listener(await client.stream('slow', { text: 'direct' }))
    const first = new Listener(await client.stream('steps', { n: 1 }, token))
    await first.has(1)
    await first.leave()
    const resumed = await listen(client, first.lastId)
    const closing = transport.close()
    server.gates.open('slow')
    server.gates.open('step 1')
    await Promise.all([closing, direct.ended, resumed.ended])
    expect(direct.messages.map(textOf)).toEqual(['direct'])
    expect(resumed.messages.map(textOf)).toEqual(['done'])
  })

  test('one that does not finish has its error stored: its client gets it at another node', async () => {
    const { a, b } = twoNodes(STREAMS)
    const client = await legacy(a.transport, version)
    const call = new Listener(await client.stream('steps', { n: 1 }, { id: 4, ...token }))
    await call.has(1)
    await call.leave()
    await a.transport.close({ timeoutMs: 10 })
    const resumed = await listen(at(b.transport, client, version), call.lastId)
    await resumed.ended
    expect(resumed.messages).toMatchObject([{ id: 4, error: { code: -32603 } }])
  })

  test('the stream of another node’s call, read here, goes on elsewhere', async () => {
    const { a, b } = twoNodes(STREAMS)
    const client = await legacy(a.transport, version)
    const call = new Listener(await client.stream('steps', { n: 1 }, token))
    await call.has(1)
    await call.leave()
    const resumed = await listen(at(b.transport, client, version), call.lastId)
    await b.transport.close()
    await resumed.ended
    a.server.gates.open('step 1')
    const again = await listen(client, call.lastId)
    await again.ended
    expect([resumed, again].map(({ messages }) => messages.map(textOf))).toEqual([[], ['done']])
  })
})

describe('R32 R33', () => {
  test('lease and inbox are given up last, when all that was said is stored', async () => {
    const { a } = twoNodes(STREAMS)
    const client = await legacy(a.transport)
    const call = new Listener(await client.stream('slow', { text: 'x' }))
    const get = await listen(client)
    const steps: string[] = []
    a.line.around = async (call, args, run) => {
      const [key] = args as [{ name: string }[] | { name: string }]
      const name = Array.isArray(key) ? key.map(({ name }) => name).join() : (key as { name?: string }).name
      steps.push([call, name?.replace(/:.*/, '')].filter(Boolean).join(' '))
      return run()
    }
    const closing = a.transport.close()
    a.server.gates.open('slow')
    await Promise.all([closing, call.ended, get.ended])
    expect(steps.at(-1)).toBe('kv.delete lease')
    expect(steps.indexOf('log.append stream')).toBeGreaterThan(-1)
    expect(steps.indexOf('log.append stream')).toBeLessThan(steps.indexOf('bus.stop'))
    expect(steps.indexOf('log.read g')).toBeLessThan(steps.indexOf('bus.stop'))
  })

  test('with a store that is away it ends all the same', async () => {
    const { a } = twoNodes(STREAMS)
    const client = await legacy(a.transport)
    const call = new Listener(await client.stream('slow', { text: 'x' }))
    await a.server.started('slow')
    await until(() => expect(call.frames).toHaveLength(1))
    a.line.cut()
    const began = Date.now()
    await a.transport.close({ timeoutMs: 10 })
    expect(Date.now() - began).toBeLessThan(4000)
    await call.ended
    expect(call.messages).toMatchObject([{ error: { code: -32603 } }])
  })

  test('R33 a store of its own: every session is over, its streams too, and the app hears of each once', async () => {
    const ended: string[] = []
    const { transport } = scene({ onSessionEnd: ({ id }, reason) => void ended.push(`${id} ${reason}`) })
    const clients = [await legacy(transport), await legacy(transport)]
    const get = await listen(clients[0]!)
    await transport.close()
    await get.ended
    expect(ended.toSorted()).toEqual(clients.map(({ session }) => `${session} closed`).toSorted())
    expect(transport.stats()).toMatchObject({ sessions: 0, connections: 0, timers: 0 })
  })

  test('a store that is shared: sessions go on at the other nodes', async () => {
    const ended: string[] = []
    const { a, b } = twoNodes({ onSessionEnd: ({ id }) => void ended.push(id) })
    const client = await legacy(a.transport)
    await a.transport.close()
    expect((await at(b.transport, client).request('tools/list')).status).toBe(200)
    expect(ended).toEqual([])
    expect((await read(client.verb('GET'))).status).toBe(503)
    onTestFinished(() => expect(ended).toEqual([]))
  })
})
