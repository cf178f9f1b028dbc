// redisStore: what nodes share, on one Redis, Sentinel or a cluster.
import type { Store } from '@fairlead/core'
import type { Cluster, Redis } from 'ioredis'
import { redisBus } from './bus.ts'
import { createClock } from './clock.ts'
import { Commands } from './commands.ts'
import { checkPrefix, type Names, namesUnder, prefixOf } from './keys.ts'
import { redisKv } from './kv.ts'
import { redisLog } from './log.ts'
import { sourceOf } from './source.ts'

const TIMEOUT_MS = 2000

export interface RedisStoreOptions {
  /**
   * In front of every key. Default: `fairlead:` and the server's name, so that two servers on one Redis never take each
   * other's sessions. May hold a hash tag of its own: then all of the store lies in one slot of a cluster.
   */
  prefix?: string
  /** ms after which a step that has no reply rejects with StoreUnavailable. Default 2000. */
  timeoutMs?: number
}

/**
 * A store on Redis 7 or Valkey. Needs no MONITOR, CLIENT or CONFIG; scripts must be allowed.
 *
 * A client given (for TLS, Sentinel or Cluster, say) is duplicated: never subscribed on, never closed, and it need not
 * be connected. Connections are made when they are first needed: one for steps, and for what is followed one more, or in
 * a cluster one for each topic. `close` closes those, and nothing else.
 *
 * @example
 * const transport = createTransport(server, { store: redisStore('redis://localhost:6379') })
 *
 * Throws a TypeError if the prefix has an empty hash tag, and a RangeError if `timeoutMs` is not above 0.
 */
export function redisStore(connection: string | Redis | Cluster, options: RedisStoreOptions = {}): Store {
  const { prefix, timeoutMs = TIMEOUT_MS } = options
  if (!(timeoutMs > 0)) throw new RangeError('redisStore: timeoutMs must be above 0')
  if (prefix !== undefined) checkPrefix(prefix)
  const source = sourceOf(connection, timeoutMs)
  checkPrefix(source.keyPrefix)
  const clock = createClock()
  const commands = new Commands(source.commands, timeoutMs, (client) => {
    const sent = Date.now()
    const measured = ([seconds, micros]: number[]) => clock.measured(seconds! * 1000 + Math.floor(micros! / 1000), sent)
    client.time().then(
      (time) => measured(time.map(Number)),
      () => {},
    )
  })

  let server = ''
  let resolved: Names | undefined
  function names(): Names {
    resolved ??= namesUnder(source.keyPrefix + (prefix ?? prefixOf(server)))
    return resolved
  }

  const { bus, close } = redisBus(commands, source, names, clock)
  return {
    kv: redisKv(commands, names),
    log: redisLog(commands, names),
    bus,
    now: () => clock.now(),
    use(info) {
      if (prefix !== undefined || server === info.server) return
      if (server !== '' || resolved !== undefined) {
        throw new TypeError('redisStore: a store for more than one server needs a prefix, or make one for each')
      }
      server = info.server
    },
    async close() {
      close()
      await commands.close()
    },
  }
}
