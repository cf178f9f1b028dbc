// This node among the others: its lease, its inbox, and letters to theirs. Joined when it is first needed.
import { nanoid } from 'nanoid'
import type { Node } from './node.ts'
import type { Entry, Key, Subscription, Why } from './store.ts'

/** What one node tells another. `kind` says who reads it; the rest is the reader's. */
export interface Letter {
  kind: string
  [field: string]: unknown
}

export interface Fleet {
  /** Takes the lease and follows the inbox. At once when that is done already. */
  join(): Promise<void>
  /** False: that node has no inbox, so it is gone. */
  tell(nodeId: string, letter: Letter): Promise<boolean>
  /** Who reads letters of a kind. */
  receive(kind: string, read: (letter: Letter) => void): void
  /** Runs after this node may have missed letters: what it follows must be looked at again. */
  onMissed(run: () => void): void
  /** Runs at each renewal, a third of a lease apart. */
  onUpkeep(run: () => Promise<void>): void
  /** ms for which a node is still thought alive; 0: it is dead, as far as this node can say. */
  leaseLeft(nodeId: string): Promise<number>
  /** Drops the lease and the inbox. */
  leave(): Promise<void>
}

const NODE_ID = /^[\w-]{12}$/

export function isNodeId(text: string): boolean {
  return NODE_ID.test(text)
}

function leaseKey(nodeId: string): Key {
  return { tag: `node:${nodeId}`, name: 'lease' }
}

function inboxOf(nodeId: string): string {
  return `inbox:${nodeId}`
}

export function createFleet(node: Node): Fleet {
  const { store, settings } = node
  const { leaseMs } = settings
  const readers = new Map<string, ((letter: Letter) => void)[]>()
  const missed: (() => void)[] = []
  const upkeep: (() => Promise<void>)[] = []
  let joining: Promise<void> | undefined
  let inbox: Subscription | undefined
  let renewal: ReturnType<typeof setTimeout> | undefined
  let renewing: Promise<void> | undefined
  /** Since then the store was there without a break. */
  let storeSince = 0

  async function take(): Promise<void> {
    await store.kv.add(leaseKey(node.id), node.id, leaseMs)
    inbox = await store.bus.subscribe(inboxOf(node.id), { ttlMs: 2 * leaseMs }, read)
    storeSince = Date.now()
    schedule()
  }

  function read(letters: Entry[], why: Why): void {
    for (const { n, text } of letters) {
      try {
        const letter = JSON.parse(text) as Letter
        for (const read of readers.get(letter.kind) ?? []) read(letter)
      } catch (error) {
        node.report(error, 'inbox')
      }
      inbox?.handled(n)
    }
    if (why !== 'live') for (const run of missed) run()
  }

  function schedule(): void {
    renewal = setTimeout(() => {
      renewing = renew()
    }, leaseMs / 3)
    ;(renewal as unknown as { unref?(): void }).unref?.()
  }

  async function renew(): Promise<void> {
    try {
      const held = await store.kv.get(leaseKey(node.id), leaseMs)
      if (held === undefined) {
        // It has lapsed: others may have thought this node dead, or the store has lost it.
        storeSince = Date.now()
        await store.kv.add(leaseKey(node.id), node.id, leaseMs)
        for (const run of missed) run()
      }
      await inbox?.renew()
      for (const run of upkeep) await run()
    } catch (error) {
      storeSince = Date.now() + leaseMs / 3
      node.report(error, 'lease')
    }
    if (renewal !== undefined) schedule()
  }

  return {
    join() {
      joining ??= take().catch((error) => {
        joining = undefined
        throw error
      })
      return joining
    },
    async tell(nodeId, letter) {
      return (await store.bus.publish(inboxOf(nodeId), JSON.stringify(letter), { token: nanoid(), followed: true })) > 0
    },
    receive: (kind, run) => void readers.set(kind, [...(readers.get(kind) ?? []), run]),
    onMissed: (run) => void missed.push(run),
    onUpkeep: (run) => void upkeep.push(run),
    async leaseLeft(nodeId) {
      if (nodeId === node.id) return leaseMs
      const left = await store.kv.ttl(leaseKey(nodeId))
      if (left > 0) return left
      // After a restart of the store all leases are missing: nobody is dead before they had the time to come back.
      if ((await store.kv.ttl(leaseKey(node.id))) === 0) storeSince = Date.now()
      return Math.max(0, storeSince + leaseMs - Date.now())
    },
    async leave() {
      if (!joining) return
      await joining.catch(() => {})
      clearTimeout(renewal)
      renewal = undefined
      // One that is under way would bring back what is dropped here.
      await renewing
      try {
        await inbox?.stop()
        await store.kv.delete([leaseKey(node.id)])
      } catch (error) {
        node.report(error, 'lease') // it runs out by itself
      }
    },
  }
}
