// The nodes that a session's calls run on, so that a cancel or a DELETE goes to those and to no others.
import type { Call } from '../calls.ts'
import type { RequestId } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { SessionRef } from './session.ts'

/** Cancels that a node which joins late still has to obey. */
const MARKS_KEPT = 16
const MARK_MS = 10_000
/** Sessions that this node knows to be a member of; beyond that it looks again. */
const JOINED_KEPT = 10_000

interface Mark {
  id: RequestId
  reason: string
  /** Store time: only calls that began before it are meant (W13). */
  at: number
}

interface Record {
  nodes: string[]
  marks: Mark[]
}

export interface Members {
  /** This node runs a long call of the session. Obeys the cancels that came before it was known. */
  join(call: Call, ref: SessionRef): Promise<void>
  cancel(ref: SessionRef, id: RequestId, reason: string): Promise<void>
  nodes(ref: SessionRef): Promise<readonly string[]>
}

export function createMembers(node: Node, ttlMs: number): Members {
  const { store, calls, fleet } = node
  const joined = new Set<string>()

  fleet.onMissed(() => joined.clear())
  fleet.receive('cancel', ({ session, id, reason, at }) => stop(session as string, { id, reason, at } as Mark))

  function stop(sessionId: string, { id, reason, at }: Mark): void {
    calls.cancel(sessionId, id, new DOMException(reason, 'AbortError'), at)
  }

  /** Changes the record; makes it if there is none. undefined: the session is over. */
  async function update(ref: SessionRef, change: (record: Record) => Record): Promise<Record | undefined> {
    for (;;) {
      const first = change({ nodes: [], marks: [] })
      const made = JSON.stringify(first)
      const text = (await store.kv.get(ref.members)) ?? (await store.kv.add(ref.members, made, ttlMs, ref.key))
      if (text === undefined) return undefined
      if (text === made) return first
      const changed = change(JSON.parse(text) as Record)
      if (await store.kv.swap(ref.members, text, JSON.stringify(changed), ttlMs)) return changed
    }
  }

  async function nodesOf(ref: SessionRef): Promise<string[]> {
    const text = await store.kv.get(ref.members)
    return text === undefined ? [] : (JSON.parse(text) as Record).nodes
  }

  return {
    async join(call, ref) {
      // Members stay, and hear of cancels at once.
      if (joined.has(ref.id)) return
      await fleet.join()
      const record = await update(ref, ({ nodes, marks }) => ({
        nodes: nodes.includes(node.id) ? nodes : [...nodes, node.id],
        marks,
      }))
      const since = store.now() - MARK_MS
      for (const mark of record?.marks ?? []) {
        if (mark.at > since && mark.id === call.message.id) stop(ref.id, mark)
      }
      if (joined.size >= JOINED_KEPT) joined.clear()
      if (record) joined.add(ref.id)
    },
    async cancel(ref, id, reason) {
      const mark: Mark = { id, reason, at: store.now() }
      stop(ref.id, mark)
      const record = await update(ref, ({ nodes, marks }) => ({ nodes, marks: [...marks, mark].slice(-MARKS_KEPT) }))
      for (const member of record?.nodes ?? []) {
        if (member !== node.id) await fleet.tell(member, { kind: 'cancel', session: ref.id, ...mark })
      }
    },
    nodes: nodesOf,
  }
}
