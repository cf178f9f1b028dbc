// Messages on their way into the logs of standalone streams: to each log one append after the other, in order.
import { nanoid } from 'nanoid'
import type { Node } from '../node.ts'
import type { Append, State } from '../store.ts'
import { PAGE, type Readers } from './reader.ts'
import type { SessionRef } from './session.ts'

/** What became of a message. */
export interface Sent {
  state: State
  /** Somebody reads the log now. */
  isRead: boolean
}

export interface Outbox {
  /** `needReader`: only if somebody reads. Resolves when it is stored, and its reader is told. */
  send(ref: SessionRef, text: string, needReader: boolean): Promise<Sent>
}

interface Waiting {
  text: string
  needReader: boolean
  resolve(sent: Sent): void
  reject(error: unknown): void
}

export function createOutbox(node: Node, readers: Readers, ttlMs: number, limit: Append['limit']): Outbox {
  /** By session, while an append is under way. */
  const queues = new Map<string, Waiting[]>()

  async function flush(ref: SessionRef, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, batchLength(queue, limit.bytes))
      const { needReader } = batch[0]!
      try {
        const { state, reader } = await node.store.log.append(
          ref.standalone,
          batch.map(({ text }) => text),
          { guard: ref.key, ttlMs, limit, token: nanoid(), ...(needReader ? { needReader } : {}) },
        )
        const isRead = state === 'ok' && (await readers.wake(ref.standalone, reader))
        for (const { resolve } of batch) resolve({ state, isRead })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(ref.id)
  }

  return {
    send: (ref, text, needReader) =>
      new Promise((resolve, reject) => {
        const one: Waiting = { text, needReader, resolve, reject }
        const queue = queues.get(ref.id)
        if (queue) {
          queue.push(one)
          return
        }
        const first = [one]
        queues.set(ref.id, first)
        void flush(ref, first)
      }),
  }
}

/** What has come meanwhile goes as one batch, of no more than a reader can take before the log forgets it. */
function batchLength(queue: readonly Waiting[], bytes: number): number {
  let length = 1
  let size = queue[0]!.text.length
  if (queue[0]!.needReader) return length
  while (length < Math.min(queue.length, PAGE)) {
    const { text, needReader } = queue[length]!
    size += text.length
    if (needReader || size > bytes / 4) break
    length++
  }
  return length
}
