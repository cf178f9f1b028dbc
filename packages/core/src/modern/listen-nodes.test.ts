import { describe, expect, onTestFinished, test } from 'vitest'
import { ChangingServer } from '../../test-support/changing.ts'
import { modern } from '../../test-support/clients.ts'
import { subscribe, toldTo } from '../../test-support/exchanges.ts'
import { Listener } from '../../test-support/listener.ts'
import { oneOf } from '../../test-support/nodes.ts'
import { idle, scene, until } from '../../test-support/scene.ts'
import { Frames, read } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import type { TransportOptions } from '../options.ts'
import type { ListKind } from '../server.ts'
import type { Store } from '../store.ts'
import { unreliable } from '../testing/unreliable.ts'

const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
const ONE = 'test://one'
const TWO = 'test://two'

function shared(): Store {
  const store = memoryStore()
  onTestFinished(() => store.close())
  return store
}

const changing = (store: Store, options: TransportOptions = {}, prints: Partial<Record<ListKind, string>> = {}) =>
  oneOf(store, options, new ChangingServer(prints))

/** Everything published before this one has arrived when it has. */
async function settle(publisher: { notify: { resourceUpdated(uri: string): Promise<void> } }, listeners: Listener[]) {
  await publisher.notify.resourceUpdated(TWO)
  await until(() => {
    for (const listener of listeners) expect(toldTo(listener)).toContain(TWO)
  })
}

const told = (listener: Listener) => toldTo(listener).filter((one) => one !== TWO)
const leave = (listeners: Listener[]) => Promise.all(listeners.map((listener) => listener.leave()))

describe('S54 listens on several nodes', () => {
  test.each(['memory', 'a store that repeats and delays'])('each hears once: %s', async (kind) => {
    const store = shared()
    const [a, b] = [1, 2].map((seed) => changing(kind === 'memory' ? store : unreliable(store, { seed })))
    const wants = { ...ALL, resourceSubscriptions: [ONE, TWO] }
    const listeners = await Promise.all([a, a, b].map((node) => subscribe(node!.transport, wants)))
    await b!.transport.notify.toolsChanged()
    await a!.transport.notify.resourceUpdated(ONE)
    b!.server.changed('prompts')
    await until(() => {
      for (const listener of listeners) expect(toldTo(listener)).toContain('prompts')
    })
    await settle(a!.transport, listeners)
    for (const listener of listeners) expect(told(listener).toSorted()).toEqual(['prompts', ONE, 'tools'])
    await leave(listeners)
  })

  test('one whose client is gone stops nobody', async () => {
    const store = shared()
    const [a, b] = [changing(store), changing(store)]
    const wants = { ...ALL, resourceSubscriptions: [TWO] }
    const gone = await Promise.all([a, b].map(({ transport }) => subscribe(transport, wants)))
    const listeners = await Promise.all([a, b].map(({ transport }) => subscribe(transport, wants)))
    await leave(gone)
    await a.transport.notify.toolsChanged()
    await settle(b.transport, listeners)
    for (const listener of listeners) expect(told(listener)).toEqual(['tools'])
    await leave(listeners)
  })

  test('a store that is away ends no stream, and what was published meanwhile comes when it is back', async () => {
    const store = shared()
    const [a, b] = [changing(store), changing(store)]
    const listeners = await Promise.all([a, b].map(({ transport }) => subscribe(transport, ALL)))
    a.line.cut()
    await expect(a.transport.notify.toolsChanged()).rejects.toThrow()
    await expect(a.transport.notify.toolsChanged()).rejects.toThrow()
    await b.transport.notify.promptsChanged()
    await listeners[1]!.has(2)
    // It follows already, so it takes another one.
    listeners.push(await subscribe(a.transport, ALL))
    a.line.mend()
    await until(() => {
      for (const listener of listeners) expect(toldTo(listener).toSorted()).toEqual(['prompts', 'tools'])
    })
    expect(listeners.some(({ over }) => over)).toBe(false)
    await leave(listeners)
  })

  test('a node that can not follow the changes refuses: 503, and takes the next one', async () => {
    const store = shared()
    const { transport, line } = changing(store)
    line.cut()
    const refused = await modern(transport).request('subscriptions/listen', { notifications: ALL }, { id: 3 })
    expect(refused).toMatchObject({ status: 503, message: { id: 3, error: { code: -32603 } } })
    line.mend()
    await (await subscribe(transport, ALL)).leave()
  })
})

describe('a gap in what the fleet was told', () => {
  test('each listener gets each kind and URI that it asked for, once, and goes on from there', async () => {
    const store = shared()
    const { transport } = changing(store, { leaseMs: 200 })
    const all = await subscribe(transport, { ...ALL, resourceSubscriptions: [ONE] })
    const one = await subscribe(transport, { resourceSubscriptions: [ONE] })
    // As by a store that was restarted; the follower hears of it at its next renewal.
    await store.kv.delete([{ tag: '\0topics', name: 'events' }])
    await all.has(5)
    await one.has(2)
    await transport.notify.toolsChanged()
    await transport.notify.resourceUpdated(ONE)
    await all.has(7)
    await one.has(3)
    expect(toldTo(all).slice(0, 4).toSorted()).toEqual(['prompts', 'resources', ONE, 'tools'])
    expect(toldTo(all).slice(4)).toEqual(['tools', ONE])
    expect(toldTo(one)).toEqual([ONE, ONE])
    await leave([all, one])
  })

  test('what comes with the gap is told once too', async () => {
    const store = shared()
    const [a, b] = [changing(store), changing(store)]
    const listeners = await Promise.all([a, b].map(({ transport }) => subscribe(transport, ALL)))
    await store.kv.delete([{ tag: '\0topics', name: 'events' }])
    await a.transport.notify.toolsChanged()
    await Promise.all(listeners.map((listener) => listener.has(4)))
    await b.transport.notify.toolsChanged()
    await Promise.all(listeners.map((listener) => listener.has(5)))
    for (const listener of listeners) {
      expect(toldTo(listener).toSorted()).toEqual(['prompts', 'resources', 'tools', 'tools'])
    }
    await leave(listeners)
  })
})

describe('R28 a deploy with other listings', () => {
  test('tells the listeners of the nodes that are there, once, of what has changed', async () => {
    const store = shared()
    const old = changing(store)
    const listener = await subscribe(old.transport, { ...ALL, resourceSubscriptions: [TWO] })
    const fresh = [changing(store, {}, { tools: 'two' }), changing(store, {}, { tools: 'two' })]
    const others = await Promise.all(
      fresh.map(({ transport }) => subscribe(transport, { ...ALL, resourceSubscriptions: [TWO] })),
    )
    await settle(old.transport, [listener, ...others])
    expect(told(listener)).toEqual(['tools'])
    await leave([listener, ...others])
  })
})

describe('a client that does not read', () => {
  test('costs one of each kind and URI, and when it reads again hears all the rest', async () => {
    const { transport } = scene({ streams: { maxBytes: 2000 } }, new ChangingServer())
    const wants = { ...ALL, resourceSubscriptions: [ONE, TWO] }
    const response = await modern(transport).open('subscriptions/listen', { notifications: wants })
    const reader = await subscribe(transport, wants)
    const { toolsChanged, promptsChanged, resourceUpdated } = transport.notify
    for (let i = 0; i < 300; i++) {
      await toolsChanged()
      await resourceUpdated(ONE)
      if (i === 150) await promptsChanged()
    }
    await settle(transport, [reader])
    expect(told(reader).length).toBeGreaterThan(3)
    expect(transport.stats().connections).toBe(2)
    const stuck = new Listener(new Frames(response))
    await stuck.has(5)
    expect(toldTo(stuck).toSorted()).toEqual(['prompts', ONE, TWO, 'tools'])
    await toolsChanged()
    await stuck.has(6)
    expect(toldTo(stuck).at(-1)).toBe('tools')
    await leave([reader, stuck])
  })

  test('is ended with the others when the server stops', async () => {
    const { transport } = scene({}, new ChangingServer())
    const response = await modern(transport).open('subscriptions/listen', { notifications: ALL }, { id: 8 })
    for (let i = 0; i < 10; i++) await transport.notify.toolsChanged()
    await transport.close()
    const { messages } = await read(response)
    expect(messages[0]?.method).toBe('notifications/subscriptions/acknowledged')
    expect(messages.at(-1)).toMatchObject({ id: 8, result: { resultType: 'complete' } })
  })
})

test('a listen that comes while the server stops is refused, or ended in good order', async () => {
  const { transport, line } = changing(shared())
  const gate = Promise.withResolvers<void>()
  line.around = async (call, _args, run) => {
    if (call === 'bus.subscribe') await gate.promise
    return run()
  }
  const listen = read(modern(transport).open('subscriptions/listen', { notifications: ALL }, { id: 9 }))
  await until(() => expect(transport.stats().inFlight).toBe(1))
  const closed = transport.close()
  gate.resolve()
  expect(await listen).toMatchObject({ status: 503, message: { id: 9, error: { code: -32603 } } })
  await closed
  await idle(transport)
})
