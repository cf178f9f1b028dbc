// The standalone stream: opened by GET, fed from every node, one reader at a time, each message once.
import { describe, expect, test } from 'vitest'
import { LEGACY_VERSIONS, type LegacyClient, legacy } from '../../test-support/clients.ts'
import { type Listener, listen } from '../../test-support/listener.ts'
import { at, twoNodes } from '../../test-support/nodes.ts'
import { scene, until } from '../../test-support/scene.ts'
import { read } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import type { Transport } from '../transport.ts'

const said = ({ messages }: Listener) => messages.map(({ params }) => params?.data)

async function say(transport: Transport, { session }: LegacyClient, ...data: (string | number)[]) {
  const held = await transport.session(session)
  const told: unknown[] = []
  for (const one of data) told.push(await held!.send('notifications/message', { level: 'info', data: one }))
  return told
}

describe.each(LEGACY_VERSIONS)('%s', (version) => {
  test('R17 B-01 B-09 Q-44 GET is a stream; who takes none is told so', async () => {
    const { transport } = scene()
    const client = await legacy(transport, version)
    for (const accept of ['text/event-stream', '*/*', 'text/*', 'application/json, text/event-stream']) {
      await (await listen(client, undefined, { accept })).leave()
    }
    for (const accept of ['application/json', 'text/html']) {
      expect(await read(client.verb('GET', { accept }))).toMatchObject({ status: 406, form: 'json' })
    }
  })

  test('R20 R22 D-08 what is said while nobody listens comes on the next connection, in order, once', async () => {
    const { transport } = scene()
    const client = await legacy(transport, version)
    expect(await say(transport, client, 1, 2, 3)).toEqual(['kept', 'kept', 'kept'])
    const first = await listen(client)
    await first.has(3)
    expect(await say(transport, client, 4)).toEqual(['delivered'])
    await first.has(4)
    await first.leave()
    await until(async () => expect(await say(transport, client, 5)).toEqual(['kept']))
    const second = await listen(client)
    await second.has(1)
    await second.leave()
    expect(said(first)).toEqual([1, 2, 3, 4])
    expect(said(second).at(-1)).toBe(5)
    expect(await say(transport, client)).toEqual([])
  })

  test('D-01 D-02 D-03 R18 R19 event ids: another for each, and a resumption is exact', async () => {
    const { transport } = scene()
    const client = await legacy(transport, version)
    const first = await listen(client)
    await say(transport, client, 1, 2)
    await transport.notify.toolsChanged()
    await first.has(3)
    await say(transport, client, 3)
    await first.has(4)
    const ids = first.frames.filter(({ message }) => message).map(({ id }) => id!)
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^g\.\d+\.\d+$/)
    await first.leave()
    await say(transport, client, 4)
    for (const [i, id] of ids.entries()) {
      const again = await listen(client, id)
      await again.has(4 - i)
      await say(transport, client, `end ${i}`)
      await until(() => expect(said(again)).toContain(`end ${i}`))
      const numbers = said(again).filter((data) => typeof data === 'number')
      expect(numbers).toEqual([[2, 3, 4], [3, 4], [3, 4], [4]][i])
      expect(again.messages.filter(({ method }) => method?.includes('list_changed'))).toHaveLength(i < 2 ? 1 : 0)
      await again.leave()
    }
  })

  test('D-06 P-09 the anchor, for 2025-11-25 alone', async () => {
    const { transport } = scene()
    const client = await legacy(transport, version)
    await say(transport, client, 1)
    const get = await listen(client)
    await get.has(1)
    await get.leave()
    const [first] = get.frames
    expect(first!.message === undefined).toBe(version === '2025-11-25')
    const again = await listen(client, first!.id)
    await say(transport, client, 2)
    await again.has(version === '2025-11-25' ? 2 : 1)
    await again.leave()
    expect(said(again)).toEqual(version === '2025-11-25' ? [1, 2] : [2])
  })

  test.each(['the same node', 'the other node'])(
    'S18 B-11 B-12 W15 a second GET, at %s: it wins, and nothing is lost or doubled',
    async (where) => {
      const { a, b } = twoNodes()
      const client = await legacy(a.transport, version)
      const there = where === 'the same node' ? a.transport : b.transport
      const first = await listen(client)
      await say(a.transport, client, 1)
      await a.transport.notify.toolsChanged()
      await first.has(2)
      const second = await listen(at(there, client, version))
      await first.ended
      await say(a.transport, client, 2)
      await b.transport.notify.promptsChanged()
      await say(b.transport, client, 3)
      await second.has(3)
      expect(said(first)).toEqual([1, undefined])
      // In two ways: order between them is not promised.
      expect(said(second).filter(Boolean)).toEqual([2, 3])
      expect(second.messages.map(({ method }) => method).filter((method) => method?.includes('list'))).toEqual([
        'notifications/prompts/list_changed',
      ])
      await second.leave()
    },
  )
})

test('Q-37 D-04 a place beyond the last means the last; one that is no longer kept replays nothing, and goes on live', async () => {
  const { transport } = scene({ streams: { maxEvents: 3 } })
  const client = await legacy(transport)
  await say(transport, client, 1)
  const first = await listen(client)
  await first.has(1)
  const [, n, e] = first.lastId!.split('.').map(Number)
  await first.leave()
  await say(transport, client, 2, 3, 4)
  for (const [from, expected] of [
    [n!, [2, 3, 4, 'live 0']],
    [n! - 1, ['live 1']],
    [n! + 1000, ['live 2']],
    [n! + 2, ['live 1', 'live 2', 'live 3'].slice(0)],
  ] as const) {
    const again = await listen(client, `g.${from}.${e}`)
    const round = [n!, n! - 1, n! + 1000, n! + 2].indexOf(from)
    await say(transport, client, `live ${round}`)
    await until(() => expect(said(again)).toContain(`live ${round}`))
    await again.leave()
    if (round < 3) expect(said(again)).toEqual(expected)
    // Of those that came since, only the last three are kept: this place is too old by now.
    else expect(said(again)).toEqual(['live 3'])
  }
})

test('B-12 R35 W15 a GET that ends takes nothing with it: the session goes on, and so does the next GET', async () => {
  const { transport } = scene()
  const client = await legacy(transport)
  const first = await listen(client)
  const second = await listen(client)
  await first.ended
  await first.leave()
  expect(transport.stats()).toMatchObject({ sessions: 1, connections: 1 })
  await say(transport, client, 'still here')
  await second.has(1)
  await second.leave()
  expect((await client.request('tools/list')).status).toBe(200)
})

test('S07 W16 R27 R29 DELETE at the other node ends the streams and calls of this one, and all records go', async () => {
  const ended: unknown[] = []
  const { a, b, store } = twoNodes({
    streams: { streamAfterMs: 0 },
    onSessionEnd: (_, reason) => void ended.push(reason),
  })
  const client = await legacy(a.transport)
  await (await a.transport.session(client.session))!.set('k', 1)
  const [get, call] = [await listen(client), await client.open('tools/call', { name: 'slow', arguments: {} })]
  await a.server.started('slow')
  const gone = { guard: undefined, ttlMs: 1000, limit: { entries: 1, bytes: 1 } }
  expect((await at(b.transport, client).verb('DELETE')).status).toBe(204)
  await get.ended
  expect(await read(call)).toMatchObject({ status: 200, messages: [] })
  await until(() => expect(a.server.aborted).toHaveLength(1))
  expect((await client.verb('DELETE')).status).toBe(404)
  for (const name of ['session', 'g', 'members', 'values', 'owner']) {
    expect(await store.kv.ttl({ tag: client.session, name })).toBe(0)
  }
  expect([a.transport.stats().sessions, ended, gone.ttlMs]).toEqual([0, ['deleted'], 1000])
})

describe('who hears of it', () => {
  test('W1 W2 R22 a message for one session reaches that one alone, whoever else listens or does not', async () => {
    const { transport } = scene()
    const clients = await Promise.all([1, 2, 3].map(() => legacy(transport)))
    const [none, mine, other] = clients as [LegacyClient, LegacyClient, LegacyClient]
    const [own, foreign] = [await listen(mine), await listen(other)]
    expect(await say(transport, mine, 'mine')).toEqual(['delivered'])
    expect(await say(transport, none, 'kept for none')).toEqual(['kept'])
    await own.has(1)
    await transport.notify.toolsChanged()
    await Promise.all([own.has(2), foreign.has(1)])
    await Promise.all([own.leave(), foreign.leave()])
    expect(said(foreign)).toEqual([undefined])
    expect(said(own)).toEqual(['mine', undefined])
  })

  test('W20 a client’s own notification is not sent back to it', async () => {
    const { transport } = scene()
    const client = await legacy(transport)
    const get = await listen(client)
    for (const method of ['notifications/roots/list_changed', 'notifications/message', 'notifications/progress']) {
      expect((await client.notify(method, { level: 'info', data: 'echo?' })).status).toBe(202)
    }
    await say(transport, client, 'end')
    await get.has(1)
    await get.leave()
    expect(said(get)).toEqual(['end'])
  })

  test('W4 W5 a message for a session that is over makes nothing, and says so', async () => {
    const { transport, store } = (({ a, store }) => ({ ...a, store }))(twoNodes())
    const client = await legacy(transport)
    const held = (await transport.session(client.session))!
    await client.verb('DELETE')
    expect(await held.send('notifications/message', { level: 'info', data: 1 })).toBe('gone')
    await expect(held.set('k', 1)).rejects.toThrow()
    await expect(held.request('ping')).rejects.toThrow()
    await held.end()
    expect(await transport.session(client.session)).toBeUndefined()
    for (const name of ['session', 'g', 'values', 'members']) {
      expect(await store.kv.ttl({ tag: client.session, name })).toBe(0)
    }
  })

  test('what is said at the same time keeps its order', async () => {
    const { a, b } = twoNodes()
    const client = await legacy(a.transport)
    const get = await listen(client)
    const held = (await b.transport.session(client.session))!
    // The line takes its time, and not always the same.
    b.line.around = async (call, _args, run) => {
      if (call === 'log.append') await new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
      return run()
    }
    const numbers = Array.from({ length: 20 }, (_, i) => i)
    await Promise.all(numbers.map((data) => held.send('notifications/message', { level: 'info', data })))
    await get.has(20)
    await get.leave()
    expect(said(get)).toEqual(numbers)
  })

  test('a stream whose node is gone is no delivery', async () => {
    const options: TransportOptions = { leaseMs: 100 }
    const { a, b } = twoNodes(options)
    const client = await legacy(a.transport)
    const get = await listen(at(b.transport, client))
    b.line.kill()
    await until(async () => expect(await say(a.transport, client, 'x')).toEqual(['kept']))
    b.line.mend()
    await get.leave()
  })
})
