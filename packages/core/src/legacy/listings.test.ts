// R28: a deploy with other listings is told to every session: once, and not at every request while it rolls.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ChangingServer } from '../../test-support/changing.ts'
import { LEGACY_VERSIONS, legacy } from '../../test-support/clients.ts'
import { type Listener, listen } from '../../test-support/listener.ts'
import { at, oneOf } from '../../test-support/nodes.ts'
import { until } from '../../test-support/scene.ts'
import { memoryStore } from '../memory-store.ts'
import type { Store } from '../store.ts'

const kinds = ({ messages }: Listener) => messages.map(({ method }) => method!.split('/')[1])

function shared(): Store {
  const store = memoryStore()
  onTestFinished(() => store.close())
  return store
}

/** A node of the deploy whose tools are `tools`. */
const deploy = (store: Store, tools: string) => oneOf(store, { leaseMs: 1_000_000_000 }, new ChangingServer({ tools }))

/** Requests that change nothing; resolves when all that they set off is done. */
async function use(...clients: { request(method: string): Promise<unknown> }[]): Promise<void> {
  for (const client of clients) await client.request('ping')
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

describe.each(LEGACY_VERSIONS)('R28 %s', (version) => {
  test('a session with a stream at an old node hears of the new deploy once, whatever it asks after that', async () => {
    const store = shared()
    const old = deploy(store, 'one')
    const client = await legacy(old.transport, version)
    const get = await listen(client)
    await use(client)
    const young = deploy(store, 'two')
    const there = at(young.transport, client, version)
    await use(there)
    await get.has(1)
    await use(there, there, there)
    await get.leave()
    expect(kinds(get)).toEqual(['tools'])
    expect(get.messages[0]).toStrictEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  })

  test('one without a stream hears of it when it comes back, once', async () => {
    const store = shared()
    const old = deploy(store, 'one')
    const client = await legacy(old.transport, version)
    const first = await listen(client)
    await old.transport.notify.promptsChanged()
    await first.has(1)
    await first.leave()
    await old.transport.close()
    const young = deploy(store, 'two')
    const there = at(young.transport, client, version)
    await use(there)
    const get = await listen(there, first.lastId)
    await get.has(1)
    await use(there, there)
    await get.leave()
    expect(kinds(get)).toEqual(['tools'])
  })
})

describe('R28', () => {
  test('while a deploy rolls, a session that meets old and new nodes in turn is told at most each 30 s', async () => {
    const store = shared()
    const old = deploy(store, 'one')
    const client = await legacy(old.transport)
    const get = await listen(client)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const young = deploy(store, 'two')
    const there = at(young.transport, client)
    await use(there)
    await get.has(1)
    const roll = async () => {
      for (let i = 0; i < 10; i++) await use(client, there)
      await vi.advanceTimersByTimeAsync(10)
    }
    await roll()
    const told = get.messages.length
    expect(told).toBeLessThanOrEqual(2)
    await roll()
    await vi.advanceTimersByTimeAsync(29_000)
    await roll()
    expect(get.messages.length).toBe(told)
    await vi.advanceTimersByTimeAsync(2_000)
    await roll()
    expect(get.messages.length).toBe(told + 1)
    await get.leave()
  })

  test('W3 a change of this very server is told by itself, and not again by the next request', async () => {
    const { transport, server } = deploy(shared(), 'one') as ReturnType<typeof deploy> & { server: ChangingServer }
    const client = await legacy(transport)
    const get = await listen(client)
    await use(client)
    server.fingerprints = { ...server.fingerprints, tools: 'two' }
    server.changed('tools')
    await get.has(1)
    await use(client, client)
    await get.leave()
    expect(kinds(get)).toEqual(['tools'])
  })

  test('what is listed anew is known: no notice of that kind, but of the others', async () => {
    const store = shared()
    const old = deploy(store, 'one')
    const client = await legacy(old.transport)
    const young = deploy(store, 'one') as ReturnType<typeof deploy> & { server: ChangingServer }
    const get = await listen(at(young.transport, client))
    // Another listing, of which nobody has published anything.
    young.server.fingerprints = { tools: 'two', prompts: 'two', resources: 'one' }
    await at(young.transport, client).request('tools/list')
    await get.has(1)
    await use(at(young.transport, client))
    await get.leave()
    expect(kinds(get)).toEqual(['prompts'])
  })

  test('of two nodes that meet it at once only one tells', async () => {
    const store = shared()
    const old = deploy(store, 'one')
    const client = await legacy(old.transport)
    const get = await listen(client)
    const [b, c] = [deploy(store, 'one'), deploy(store, 'one')].map((node) => {
      const { server } = node as typeof node & { server: ChangingServer }
      return { ...node, server }
    })
    await Promise.all([use(at(b!.transport, client)), use(at(c!.transport, client))])
    for (const { server } of [b!, c!]) server.fingerprints = { ...server.fingerprints, prompts: 'two' }
    await Promise.all([use(at(b!.transport, client)), use(at(c!.transport, client))])
    await get.has(1)
    await old.transport.notify.resourcesChanged()
    await until(() => expect(kinds(get)).toContain('resources'))
    await get.leave()
    expect(kinds(get)).toEqual(['prompts', 'resources'])
  })
})
