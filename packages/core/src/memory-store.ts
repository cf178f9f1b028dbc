// memoryStore: the store of one process, and the measure of what the others do.
import { memoryBus } from './memory/bus.ts'
import { memoryLog } from './memory/log.ts'
import { Records, type TextRecord } from './memory/records.ts'
import type { Kv, Store } from './store.ts'

const MAX_BYTES = 256 * 1024 * 1024

/**
 * A store in this process: for one node, or for several transports of one process that share it.
 *
 * `maxBytes` (default 268,435,456: 256 MiB) bounds what it holds, as estimated from the lengths of texts. When it is
 * reached, room is made in this order: all but the last entry of logs, oldest logs first (a client that comes back
 * later than that cannot resume); logs that have ended; all but the last entry of topics. A session or any other kv
 * record is never dropped before its life is over: when nothing else is left to drop, steps that would add something
 * reject with {@link StoreUnavailable}, and those that only read, renew or delete go on.
 *
 * Throws a RangeError if `maxBytes` is not above 0.
 */
export function memoryStore({ maxBytes = MAX_BYTES }: { maxBytes?: number } = {}): Store {
  if (!(maxBytes > 0)) throw new RangeError('memoryStore: maxBytes must be above 0')
  const records = new Records(maxBytes)
  const { bus, clear } = memoryBus(records)
  return {
    kv: memoryKv(records),
    log: memoryLog(records),
    bus,
    now: () => records.now(),
    async close() {
      records.close()
      clear()
    },
  }
}

function memoryKv(records: Records): Kv {
  return {
    // On the path of every legacy request: a look-up, and no async function.
    get(key, renewMs, also) {
      let at: number
      try {
        at = records.step()
      } catch (error) {
        return Promise.reject(error)
      }
      const record = records.find(key, at)
      if (record?.value === undefined) return Promise.resolve(undefined)
      if (renewMs !== undefined) {
        record.expires = at + renewMs
        if (also !== undefined) {
          for (const other of also) {
            const found = records.find(other, at)
            if (found !== undefined) found.expires = at + renewMs
          }
        }
      }
      return Promise.resolve(record.value)
    },
    async add(key, value, ttlMs, guard) {
      const at = records.step()
      if (guard !== undefined && records.find(guard, at) === undefined) return undefined
      const found = records.find(key, at)
      if (found !== undefined) return found.value
      const record: TextRecord = { name: key.name, value, expires: at + ttlMs }
      records.put(key.tag, record)
      return value
    },
    async swap(key, from, to, ttlMs) {
      const at = records.step()
      const record = records.find(key, at)
      if (record?.kind !== undefined || (record?.value !== from && record?.value !== to)) return false
      records.rewrite(record, to)
      record.expires = at + ttlMs
      return true
    },
    async delete(keys) {
      const at = records.step()
      let first: boolean | undefined
      for (const key of keys) {
        const record = records.find(key, at)
        first ??= record !== undefined
        if (record !== undefined) records.remove(key.tag, record)
      }
      return first ?? false
    },
    async ttl(key) {
      const at = records.step()
      const record = records.find(key, at)
      return record === undefined ? 0 : record.expires - at
    },
  }
}
