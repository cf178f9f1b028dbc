import { describe, expect, test } from 'vitest'
import { ChangingServer } from '../test-support/changing.ts'
import { inFakeTime, pause } from '../test-support/clock.ts'
import { Line } from '../test-support/nodes.ts'
import { type Change, type Listener, wantOf } from './changes.ts'
import { memoryStore } from './memory-store.ts'
import { createNode, type Node } from './node.ts'
import { resolveOptions } from './options.ts'
import type { Store } from './store.ts'

const ONE = { kind: 'resource', uri: 'test://one' } as const

class Ear implements Listener {
  readonly wants: ReadonlySet<string>
  readonly heard: [string, number][] = []
  constructor(...wants: Change[]) {
    this.wants = new Set(wants.map(wantOf))
  }
  changed(changes: readonly Change[], place: number): void {
    for (const change of changes) this.heard.push([wantOf(change), place])
  }
  get kinds(): string[] {
    return this.heard.map(([want]) => want)
  }
}

function nodeOver(store: Store, tools = 'one'): { node: Node; line: Line } {
  const line = new Line(store)
  const settings = resolveOptions({ leaseMs: 300 })
  return { node: createNode(new ChangingServer({ tools }), settings, line.store, false), line }
}

async function leave(...nodes: { node: Node }[]): Promise<void> {
  for (const { node } of nodes) {
    await node.changes.close()
    await node.fleet.leave()
    node.timers.stop()
  }
}

describe('R22 R36 who hears of a change', () => {
  test('on every node those that want it, once, with its place', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      const [a, b] = [nodeOver(store), nodeOver(store)]
      const ears = [new Ear({ kind: 'tools' }), new Ear({ kind: 'tools' }, ONE), new Ear(ONE)]
      for (const [i, ear] of ears.entries()) {
        const { changes } = (i === 0 ? a : b).node
        await changes.place()
        changes.listen(ear)
      }
      await a.node.notify.toolsChanged()
      await b.node.notify.resourceUpdated(ONE.uri)
      await a.node.notify.promptsChanged()
      await pause(1)
      expect(ears.map(({ kinds }) => kinds)).toEqual([
        ['tools'],
        ['tools', 'resource test://one'],
        ['resource test://one'],
      ])
      expect(ears[0]!.heard[0]![1]).toBe(ears[1]!.heard[0]![1])
      b.node.changes.unlisten(ears[1]!)
      await a.node.notify.toolsChanged()
      await pause(1)
      expect(ears[1]!.heard).toHaveLength(2)
      await leave(a, b)
    }))

  test('one that throws stops nobody', () =>
    inFakeTime(async () => {
      const a = nodeOver(memoryStore())
      const bad: Listener = {
        wants: new Set(['tools']),
        changed: () => {
          throw new Error('mine')
        },
      }
      const good = new Ear({ kind: 'tools' })
      await a.node.changes.place()
      a.node.changes.listen(bad)
      a.node.changes.listen(good)
      await a.node.notify.toolsChanged()
      await pause(1)
      expect(good.kinds).toEqual(['tools'])
      await leave(a)
    }))

  test('W8 with a store of its own and nobody who listens, nothing is stored', async () => {
    const node = createNode(new ChangingServer(), resolveOptions({}), memoryStore(), true)
    await node.notify.toolsChanged()
    expect(node.storeCalls).toBe(0)
  })
})

describe('since', () => {
  test('what came after a place and up to another, of what is wanted, each once, by its last place', () =>
    inFakeTime(async () => {
      const a = nodeOver(memoryStore())
      const { changes, notify } = a.node
      const start = await changes.place()
      for (let i = 0; i < 3; i++) await notify.toolsChanged()
      await notify.resourceUpdated(ONE.uri)
      await notify.resourceUpdated('test://other')
      await notify.toolsChanged()
      const upTo = start + 6
      await notify.promptsChanged()
      const wants = new Set(['tools', 'prompts', wantOf(ONE)])
      expect(await changes.since(start, upTo, wants)).toEqual([
        { change: ONE, place: start + 4 },
        { change: { kind: 'tools' }, place: start + 6 },
      ])
      expect(await changes.since(start + 6, start + 6, wants)).toEqual([])
      await leave(a)
    }))

  test('a gap: each that is wanted, once', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      const a = nodeOver(store)
      const start = await a.node.changes.place()
      for (let i = 0; i < 10_600; i++) await a.node.notify.resourceUpdated('test://other')
      const wants = new Set(['tools', wantOf(ONE)])
      const missed = await a.node.changes.since(start, start + 10_600, wants)
      expect(missed.map(({ change }) => wantOf(change))).toEqual([...wants])
      await leave(a)
    }))
})

describe('a store that is away', () => {
  test('changes are published when it is back: each once, and no more of them than are kept', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      const [a, b] = [nodeOver(store), nodeOver(store)]
      await a.node.changes.place()
      const ear = new Ear({ kind: 'tools' }, ONE)
      await b.node.changes.place()
      b.node.changes.listen(ear)
      a.line.cut()
      for (let i = 0; i < 5; i++) {
        await expect(a.node.notify.toolsChanged()).rejects.toThrow()
        await expect(a.node.notify.resourceUpdated(ONE.uri)).rejects.toThrow()
      }
      for (let i = 0; i < 2000; i++) await a.node.notify.resourceUpdated(`test://many/${i}`).catch(() => {})
      await pause(3000)
      expect(ear.heard).toEqual([])
      const before = (await store.bus.read('events', 0, 100_000)).entries.length
      a.line.mend()
      await pause(1500)
      expect(ear.kinds.toSorted()).toEqual([wantOf(ONE), 'tools'])
      expect((await store.bus.read('events', 0, 100_000)).entries.length - before).toBe(1000)
      await leave(a, b)
    }))

  test('a start that failed is made again, with one subscription: nobody is told twice', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      const { node, line } = nodeOver(store)
      for (const broken of ['kv.get', 'bus.subscribe']) {
        let times = 0
        line.around = (call, args, run) => {
          const isLease = (args[0] as { name?: string }).name === 'lease' || String(args[0]).startsWith('inbox')
          return call === broken && !isLease && times++ === 0 ? Promise.reject(new Error('not now')) : run()
        }
        await expect(node.changes.place()).rejects.toThrow('not now')
      }
      line.around = undefined
      await node.changes.place()
      const ear = new Ear({ kind: 'tools' })
      node.changes.listen(ear)
      await node.notify.toolsChanged()
      await pause(1)
      expect(ear.kinds).toEqual(['tools'])
      await leave({ node })
    }))
})

describe('R28 another deploy', () => {
  test('is told to the fleet once, by the first of its nodes, also if they start together', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      const old = nodeOver(store, 'one')
      await old.node.changes.place()
      const ear = new Ear({ kind: 'tools' }, { kind: 'prompts' })
      old.node.changes.listen(ear)
      const young = [nodeOver(store, 'two'), nodeOver(store, 'two'), nodeOver(store, 'two')]
      await Promise.all(young.map(({ node }) => node.changes.place()))
      await pause(1)
      expect(ear.kinds).toEqual(['tools'])
      for (const { node } of young) expect([...node.changes.superseded]).toEqual(['tools one'])
      await leave(old, ...young)
    }))

  test('the same listings again are no news', () =>
    inFakeTime(async () => {
      const store = memoryStore()
      const [a, b] = [nodeOver(store), nodeOver(store)]
      await a.node.changes.place()
      const ear = new Ear({ kind: 'tools' }, { kind: 'prompts' }, { kind: 'resources' })
      a.node.changes.listen(ear)
      await b.node.changes.place()
      await pause(1)
      expect(ear.heard).toEqual([])
      await leave(a, b)
    }))
})
