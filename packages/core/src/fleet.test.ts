import { describe, expect, onTestFinished, test } from 'vitest'
import { inFakeTime, pause } from '../test-support/clock.ts'
import { Line } from '../test-support/nodes.ts'
import { TestServer } from '../test-support/server.ts'
import type { Letter } from './fleet.ts'
import { memoryStore } from './memory-store.ts'
import { createNode, type Node } from './node.ts'
import { resolveOptions } from './options.ts'
import type { Key, Store } from './store.ts'

const LEASE = 300

interface OneNode {
  node: Node
  line: Line
  letters: Letter[]
  missed: () => number
}

function nodeOver(store: Store): OneNode {
  const line = new Line(store)
  const node = createNode(new TestServer(), resolveOptions({ leaseMs: LEASE }), line.store, false)
  const letters: Letter[] = []
  let missed = 0
  node.fleet.receive('hello', (letter) => letters.push(letter))
  node.fleet.onMissed(() => missed++)
  return { node, line, letters, missed: () => missed }
}

function two(): { store: Store; a: OneNode; b: OneNode } {
  const store = memoryStore()
  const [a, b] = [nodeOver(store), nodeOver(store)]
  return { store, a, b }
}

const lease = ({ node }: OneNode): Key => ({ tag: `node:${node.id}`, name: 'lease' })

describe('R23 the lease', () => {
  test('nothing is taken before it is needed; then it is renewed for as long as the node is there', () =>
    inFakeTime(async () => {
      const { store, a } = two()
      await pause(LEASE)
      expect([await store.kv.ttl(lease(a)), a.node.storeCalls]).toEqual([0, 0])
      await Promise.all([a.node.fleet.join(), a.node.fleet.join()])
      for (let i = 0; i < 10; i++) {
        await pause(LEASE / 2)
        expect(await store.kv.ttl(lease(a))).toBeGreaterThan(LEASE / 2)
      }
      await a.node.fleet.leave()
      expect(await store.kv.ttl(lease(a))).toBe(0)
      await pause(5 * LEASE)
      expect(await store.kv.ttl(lease(a))).toBe(0)
    }))

  test('a join that failed can be made again', () =>
    inFakeTime(async () => {
      const { a } = two()
      a.line.cut()
      await expect(a.node.fleet.join()).rejects.toThrow()
      a.line.mend()
      await a.node.fleet.join()
      await a.node.fleet.leave()
    }))

  test('a renewal that is under way when the node leaves brings nothing back', () =>
    inFakeTime(async () => {
      const { store, a } = two()
      await a.node.fleet.join()
      const go = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      a.line.around = async (call, _args, run) => {
        if (call !== 'kv.get') return run()
        begun.resolve()
        await go.promise
        return undefined // as if it had lapsed
      }
      await begun.promise
      const leaving = a.node.fleet.leave()
      go.resolve()
      await leaving
      expect(await store.kv.ttl(lease(a))).toBe(0)
    }))

  test('leaseLeft: what is left of it; 0 for one that is dead, and only if this node had the store for a lease', () =>
    inFakeTime(async () => {
      const { a, b } = two()
      await a.node.fleet.join()
      await b.node.fleet.join()
      expect(await b.node.fleet.leaseLeft(a.node.id)).toBeGreaterThan(0)
      a.line.kill()
      await pause(LEASE * 1.1)
      expect(await b.node.fleet.leaseLeft(a.node.id)).toBe(0)
      expect(await b.node.fleet.leaseLeft('AAAAAAAAAAAA')).toBe(0)
      expect(await b.node.fleet.leaseLeft(b.node.id)).toBe(LEASE)
      a.line.mend()
      await Promise.all([a.node.fleet.leave(), b.node.fleet.leave()])
    }))

  test.each(['the node has just joined', 'the store was away', 'the store has lost all leases'])(
    'leaseLeft is a whole lease at first where %s',
    (why) =>
      inFakeTime(async () => {
        const { store, a, b } = two()
        if (why !== 'the node has just joined') {
          await b.node.fleet.join()
          await pause(2 * LEASE)
        }
        if (why === 'the store was away') {
          b.line.cut()
          await pause(LEASE)
          b.line.mend()
        }
        if (why === 'the store has lost all leases') await store.kv.delete([lease(b)])
        await b.node.fleet.join()
        const left = await b.node.fleet.leaseLeft(a.node.id)
        expect(left).toBeGreaterThan(LEASE / 2)
        await pause(left)
        // The next renewal has found the store in order.
        await pause(LEASE)
        expect(await b.node.fleet.leaseLeft(a.node.id)).toBe(0)
        await b.node.fleet.leave()
      }),
  )
})

describe('letters', () => {
  test('arrive once each, in order; one that nobody reads harms nobody', () =>
    inFakeTime(async () => {
      const { a, b } = two()
      await Promise.all([a.node.fleet.join(), b.node.fleet.join()])
      for (let i = 0; i < 50; i++) {
        expect(await a.node.fleet.tell(b.node.id, { kind: i % 10 ? 'hello' : 'unknown', i })).toBe(true)
      }
      await pause(1)
      expect(b.letters.map(({ i }) => i)).toEqual(Array.from({ length: 50 }, (_, i) => i).filter((i) => i % 10))
      expect([a.letters, b.missed()]).toEqual([[], 0])
      await Promise.all([a.node.fleet.leave(), b.node.fleet.leave()])
    }))

  test('to a node that is not there, or no more: false, and nothing is written', () =>
    inFakeTime(async () => {
      const { store, a, b } = two()
      await Promise.all([a.node.fleet.join(), b.node.fleet.join()])
      expect(await a.node.fleet.tell('AAAAAAAAAAAA', { kind: 'hello' })).toBe(false)
      expect((await store.bus.read('inbox:AAAAAAAAAAAA', 0, 1)).entries).toEqual([])
      b.line.kill()
      await pause(2.2 * LEASE)
      expect(await a.node.fleet.tell(b.node.id, { kind: 'hello' })).toBe(false)
      b.line.mend()
      await Promise.all([a.node.fleet.leave(), b.node.fleet.leave()])
    }))

  test('those that came while the store was away are read when it is back, and what may be missing is looked for', () =>
    inFakeTime(async () => {
      const { a, b } = two()
      await Promise.all([a.node.fleet.join(), b.node.fleet.join()])
      b.line.cut()
      await a.node.fleet.tell(b.node.id, { kind: 'hello', i: 1 })
      await pause(10)
      expect([b.letters, b.missed()]).toEqual([[], 0])
      b.line.mend()
      await pause(1)
      expect([b.letters.length, b.missed()]).toEqual([1, 1])
      await Promise.all([a.node.fleet.leave(), b.node.fleet.leave()])
    }))

  test('a node that was away for longer than its lease takes it again, keeps its id, and looks at all that it follows', () =>
    inFakeTime(async () => {
      const { store, a, b } = two()
      await Promise.all([a.node.fleet.join(), b.node.fleet.join()])
      b.line.cut()
      await pause(3 * LEASE)
      expect(await store.kv.ttl(lease(b))).toBe(0)
      b.line.mend()
      await pause(LEASE)
      expect(await store.kv.ttl(lease(b))).toBeGreaterThan(0)
      expect(b.missed()).toBeGreaterThan(0)
      expect(await a.node.fleet.tell(b.node.id, { kind: 'hello' })).toBe(true)
      await pause(1)
      expect(b.letters).toHaveLength(1)
      await Promise.all([a.node.fleet.leave(), b.node.fleet.leave()])
    }))

  test('a reader that throws stops nobody; broken letters are passed over', () =>
    inFakeTime(async () => {
      const { store, a } = two()
      await a.node.fleet.join()
      a.node.fleet.receive('bad', () => {
        throw new Error('mine')
      })
      const inbox = `inbox:${a.node.id}`
      for (const [i, text] of ['{"kind":"bad"}', 'not json', 'null', '{"kind":"hello"}'].entries()) {
        await store.bus.publish(inbox, text, { token: String(i) })
      }
      await pause(1)
      expect(a.letters).toHaveLength(1)
      await a.node.fleet.leave()
    }))

  test('what is handled is trimmed at the renewal', () =>
    inFakeTime(async () => {
      const { store, a, b } = two()
      onTestFinished(() => store.close())
      await Promise.all([a.node.fleet.join(), b.node.fleet.join()])
      for (let i = 0; i < 500; i++) await a.node.fleet.tell(b.node.id, { kind: 'hello', i })
      await pause(LEASE)
      expect((await store.bus.read(`inbox:${b.node.id}`, 0, 1000)).entries.length).toBeLessThanOrEqual(64)
      await Promise.all([a.node.fleet.leave(), b.node.fleet.leave()])
    }))
})
