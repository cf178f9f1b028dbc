// The Redis servers of the run, as a user would name them to redisStore.
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { inject } from 'vitest'
import { clusterIsUp } from '../../../runtime-tests/redis/servers.ts'

export interface Flavour {
  readonly name: string
  /** Resolves when it serves. */
  up(): Promise<void>
  /** What redisStore is given: a client that is not connected, and need not be. */
  connection(options?: RedisOptions): Redis | Cluster
  /** A client for each server, to look behind the store. Close them. */
  servers(options?: RedisOptions): Redis[]
}

export const single: Flavour = {
  name: 'one Redis',
  up: async () => {},
  connection: (options) => new Redis(inject('redisUrl'), { ...options, lazyConnect: true }),
  servers: (options) => [new Redis(inject('redisUrl'), options ?? {})],
}

export const cluster: Flavour = {
  name: 'a cluster of three masters',
  up: async () => {
    for (const url of inject('redisClusterUrls')) await clusterIsUp(Number(new URL(url).port))
  },
  connection: (redisOptions) => new Cluster([...inject('redisClusterUrls')], { lazyConnect: true, redisOptions }),
  servers: (options) => inject('redisClusterUrls').map((url) => new Redis(url, options ?? {})),
}

export const flavours: readonly Flavour[] = [single, cluster]

/** In front of every prefix of this process. */
export const RUN_PREFIX: string = `test-${process.pid}-${Date.now().toString(36)}-`
let prefixes = 0

/** A prefix that nobody else uses. */
export function newPrefix(): string {
  return `${RUN_PREFIX}${prefixes++}:`
}
