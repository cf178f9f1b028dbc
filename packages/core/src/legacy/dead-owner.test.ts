// A node that dies during a call: whoever resumes its stream gets an error, once; a node that only paused finds out.
import { describe, expect, test } from 'vitest'
import { type Client, type LegacyClient, legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { Listener, listen } from '../../test-support/listener.ts'
import { at, type NodeOfMany, oneOf, twoNodes } from '../../test-support/nodes.ts'
import { until } from '../../test-support/scene.ts'
import { textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'
import { unreliable } from '../testing/unreliable.ts'

const LEASE = 200
const OPTIONS: TransportOptions = { leaseMs: LEASE, streams: { streamAfterMs: 0 } }
const GONE = { id: 'mine', error: { code: -32603, message: 'the server that ran this call is gone' } }
const token = { id: 'mine', meta: { progressToken: 'p' } }

/** A call that has said one thing, and whose client has gone away. */
async function dropped({ line, server }: NodeOfMany, client: Client): Promise<string> {
  const call = new Listener(await client.stream('steps', { n: 2 }, token))
  await call.has(1)
  await call.leave()
  // It is stored: only what is may outlive its node.
  await until(async () => {
    const [tag, name] = [(client as LegacyClient).session, `stream:${call.lastId!.split('.')[0]}`]
    expect(
      await line.store.log.append({ tag, name }, [], { ttlMs: 60_000, limit: { entries: 9, bytes: 9e9 } }),
    ).toMatchObject({ last: 1 })
  })
  expect(server.runs.steps).toBe(1)
  return call.lastId!
}

describe.each([false, true])('W23 replies get lost: %s', (lossy) => {
  const nodes = () => twoNodes(OPTIONS, lossy ? (store) => unreliable(store) : undefined)

  test('the stream is ended with an error, when the lease has run out and not before', () =>
    inFakeTime(async () => {
      const { a, b } = nodes()
      const client = await legacy(a.transport)
      const id = await dropped(a, client)
      a.line.kill()
      const killed = Date.now()
      const resumed = await listen(at(b.transport, client), id)
      await resumed.ended
      expect(resumed.messages).toEqual([{ jsonrpc: '2.0', ...GONE }])
      // It was renewed a third of a lease before at the latest.
      expect(Date.now() - killed).toBeGreaterThan(LEASE / 2)
      // And that is what everybody gets from then on.
      const again = await listen(at(b.transport, client), id)
      await again.ended
      expect(again.frames).toEqual(resumed.frames)
      a.line.mend()
    }))

  test('a node that was only thought dead drops its own answer: exactly one end', () =>
    inFakeTime(async () => {
      const { a, b } = nodes()
      const client = await legacy(a.transport)
      const id = await dropped(a, client)
      a.line.kill()
      const resumed = await listen(at(b.transport, client), id)
      await resumed.ended
      a.line.mend()
      for (const step of [1, 2]) a.server.gates.open(`step ${step}`)
      await until(() => expect(a.transport.stats().inFlight).toBe(0))
      await pause(30)
      for (const { transport } of [a, b]) {
        const again = await listen(at(transport, client), id)
        await again.ended
        expect(again.messages).toEqual([{ jsonrpc: '2.0', ...GONE }])
      }
    }))

  test('an owner that lives is never taken for dead', () =>
    inFakeTime(async () => {
      const { a, b } = nodes()
      const client = await legacy(a.transport)
      const resumed = await listen(at(b.transport, client), await dropped(a, client))
      await pause(3 * LEASE)
      expect(resumed.over).toBe(false)
      for (const step of [1, 2]) a.server.gates.open(`step ${step}`)
      await resumed.ended
      expect(resumed.messages.map(({ result }) => result !== undefined)).toEqual([false, true])
    }))
})

test('two that wait for the same node end it once, and many streams are ended together', () =>
  inFakeTime(async () => {
    const { a, b, store } = twoNodes(OPTIONS)
    const c = oneOf(store, OPTIONS)
    const clients = await Promise.all([1, 2, 3].map(() => legacy(a.transport)))
    const ids = await Promise.all(
      clients.map((client) => dropped({ ...a, server: { runs: { steps: 1 } } as never }, client)),
    )
    a.line.kill()
    const resumed = await Promise.all(
      clients.flatMap((client, i) => [b, c].map(({ transport }) => listen(at(transport, client), ids[i]))),
    )
    await Promise.all(resumed.map(({ ended }) => ended))
    // The newest connection of each stream got it; the other one was replaced.
    const ends = resumed.map(({ messages }) => messages.length)
    expect(ends.reduce((sum, one) => sum + one)).toBe(3)
    a.line.mend()
  }))

test('one that comes while another stream is being ended is not forgotten', () =>
  inFakeTime(async () => {
    const { a, b } = twoNodes(OPTIONS)
    const clients = [await legacy(a.transport), await legacy(a.transport)]
    const ids = [
      await dropped(a, clients[0]!),
      await dropped({ ...a, server: { runs: { steps: 1 } } as never }, clients[1]!),
    ]
    a.line.kill()
    const [ending, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    b.line.around = async (call, args, run) => {
      if (call !== 'log.append' || (args[2] as { above?: number }).above === undefined) return run()
      ending.resolve()
      await go.promise
      return run()
    }
    const first = await listen(at(b.transport, clients[0]!), ids[0])
    await ending.promise
    const second = await listen(at(b.transport, clients[1]!), ids[1])
    go.resolve()
    await Promise.all([first.ended, second.ended])
    expect([first, second].map(({ messages }) => messages)).toMatchObject([[GONE], [GONE]])
    a.line.mend()
  }))

test('after a restart of the store, which loses all leases, nobody is called dead who is there', () =>
  inFakeTime(async () => {
    const { a, b, store } = twoNodes({ ...OPTIONS, leaseMs: 600 })
    const client = await legacy(a.transport)
    const id = await dropped(a, client)
    // B has had the store for longer than a lease.
    await at(b.transport, client).request('tools/list')
    await (await listen(at(b.transport, client))).leave()
    await pause(700)
    const leases = await Promise.all(
      [a, b].map(async ({ line }) => {
        let lease: { tag: string; name: string } | undefined
        line.around = async (call, args, run) => {
          const [key] = args as [{ tag: string; name: string }]
          if (call === 'kv.get' && key.name === 'lease') lease = key
          return run()
        }
        await until(() => expect(lease).toBeDefined())
        return lease!
      }),
    )
    for (const key of leases) await store.kv.delete([key])
    const resumed = await listen(at(b.transport, client), id)
    await pause(700)
    expect(resumed.over).toBe(false)
    for (const step of [1, 2]) a.server.gates.open(`step ${step}`)
    await resumed.ended
    expect(textOf(resumed.messages.at(-1)!)).toBe('done')
  }))
