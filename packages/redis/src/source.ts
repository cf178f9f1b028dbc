// Our own connections: duplicates of what was given, with the options that our promises rest on.
import { type Cluster, Command, Redis, type RedisOptions } from 'ioredis'

export type Client = Redis | Cluster

export interface Source {
  /** Goes into every key, in front of the store's own prefix. */
  readonly keyPrefix: string
  /** One client for all steps, not connected yet; it connects again by itself, and repeats nothing. */
  commands(): Client
  /** Topics on one Redis can share a blocking read; in a cluster each has a connection of its own. */
  readonly sharesReads: boolean
  /** A client for blocking reads of a key, not connected yet; it connects once. `commands` is what `commands()` gave. */
  reads(key: string, commands: Client): Redis
}

/** Between two tries to connect: short at first, since most breaks are; never all nodes at once. */
export function retryDelay(tries: number): number {
  return Math.min(500, 5 * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2)
}

/** Whatever was set in the client given, a step of ours is done at most once, in its time, on a master. */
function connectionOptions(timeoutMs: number): RedisOptions {
  return {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    // A connection that is silent for so long while a reply is due is dead.
    socketTimeout: timeoutMs,
    commandTimeout: undefined,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: retryDelay,
    // It must go on, or the client ends for good.
    sentinelRetryStrategy: retryDelay,
    // A master that has become a replica: find the new one. Never 2, which would repeat the command.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    role: 'master',
    readOnly: false,
    keyPrefix: '',
    stringNumbers: false,
    replyMapping: 'legacy',
    monitor: false,
    enableAutoPipelining: false,
    autoResubscribe: false,
    scripts: undefined,
  }
}

/** A blocking read is bounded by who does it, and so is the time between two tries. */
function readOptions(timeoutMs: number): RedisOptions {
  return {
    ...connectionOptions(timeoutMs),
    socketTimeout: undefined,
    blockingTimeout: undefined,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
  }
}

export function sourceOf(connection: string | Client, timeoutMs: number): Source {
  if (typeof connection === 'string') {
    // Only a template: options of the address would win over ours if both were given at once.
    return singleSource(new Redis(connection, { lazyConnect: true }), timeoutMs)
  }
  return connection.isCluster
    ? clusterSource(connection as Cluster, timeoutMs)
    : singleSource(connection as Redis, timeoutMs)
}

function singleSource(given: Redis, timeoutMs: number): Source {
  return {
    keyPrefix: given.options.keyPrefix ?? '',
    sharesReads: true,
    commands: () => given.duplicate(connectionOptions(timeoutMs)),
    reads: () => given.duplicate(readOptions(timeoutMs)),
  }
}

function clusterSource(given: Cluster, timeoutMs: number): Source {
  return {
    keyPrefix: given.options.keyPrefix ?? '',
    sharesReads: false,
    commands() {
      const { retryStrategy: _, enableOfflineQueue: __, ...redisOptions } = connectionOptions(timeoutMs)
      return given.duplicate([], {
        lazyConnect: true,
        // Steps wait for a node that is just being connected; it is given up after `connectTimeout`.
        enableOfflineQueue: true,
        scaleReads: 'master',
        keyPrefix: '',
        scripts: undefined,
        enableAutoPipelining: false,
        shardedSubscribers: false,
        clusterRetryStrategy: retryDelay,
        slotsRefreshTimeout: timeoutMs,
        // Redirections are not repeats: a node that redirects has done nothing. What follows a lost reply would be.
        maxRedirections: 8,
        retryDelayOnMoved: 0,
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 0,
        retryDelayOnTryAgain: 50,
        redisOptions: { ...given.options.redisOptions, ...redisOptions },
      })
    },
    reads(key, commands) {
      const cluster = commands as Cluster
      const slot = new Command('get', [key]).getSlot()
      const owner = (slot !== null && cluster.slots[slot]?.[0]) || ''
      const masters = cluster.nodes('master')
      const master = masters.find(({ options: { host, port } }) => `${host}:${port}` === owner)
      const any = master ?? masters[0]
      if (any === undefined) throw new Error('no node of the cluster is known')
      const colon = owner.lastIndexOf(':')
      const address =
        master || colon === -1 ? {} : { host: owner.slice(0, colon), port: Number(owner.slice(colon + 1)) }
      return any.duplicate({ ...readOptions(timeoutMs), ...address })
    },
  }
}
