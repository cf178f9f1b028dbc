// The nodes that run calls whose streams are read here: one that dies can't answer, so somebody must end its streams.
import { CODE } from '../errors.ts'
import { errorText, type RequestId } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { RETRY_MS, type Reader } from './reader.ts'

export interface Owners {
  /** If the owner's lease runs out while the reader waits, its stream is ended with an error: once, whoever is first. */
  watch(owner: string, reader: Reader, bounds: { ttlMs: number; limit: { entries: number; bytes: number } }): void
}

/** What is kept as a stream's owner: the node, and the request that it owes an answer to. */
export function ownerText(nodeId: string, id: RequestId): string {
  return `${nodeId} ${JSON.stringify(id)}`
}

export function createOwners(node: Node): Owners {
  /** One deadline for each node, not for each stream. */
  const waiting = new Map<string, Set<{ reader: Reader; end(): Promise<void> }>>()

  async function look(nodeId: string): Promise<void> {
    const streams = waiting.get(nodeId)!
    for (const stream of streams) if (!stream.reader.open) streams.delete(stream)
    if (streams.size === 0) {
      waiting.delete(nodeId)
      return
    }
    let left: number
    try {
      left = await node.fleet.leaseLeft(nodeId)
      // Those that come meanwhile stay for the next look.
      if (left === 0) await Promise.all([...streams].map((stream) => stream.end().then(() => streams.delete(stream))))
    } catch (error) {
      left = RETRY_MS
      node.report(error, 'lease')
    }
    if (streams.size === 0) waiting.delete(nodeId)
    else node.timers.after(Math.max(left, 1), () => void look(nodeId))
  }

  return {
    watch(owner, reader, { ttlMs, limit }) {
      const nodeId = owner.slice(0, owner.indexOf(' '))
      if (nodeId === node.id) return
      const id = JSON.parse(owner.slice(nodeId.length + 1)) as RequestId
      const { key, ref } = reader.following
      const stream = {
        reader,
        async end() {
          const error = errorText(id, CODE.internal, 'the server that ran this call is gone')
          // "ended" is as good: the other end is the answer.
          await node.store.log.append(key, [error], { guard: ref.key, ttlMs, limit, above: reader.after, end: true })
          reader.wake()
        },
      }
      const streams = waiting.get(nodeId)
      if (streams) streams.add(stream)
      else {
        waiting.set(nodeId, new Set([stream]))
        void look(nodeId)
      }
    },
  }
}
