// One Redis and one cluster of three masters for the whole run; tests keep apart by their prefixes.
import type { TestProject } from 'vitest/node'
import { startCluster, startRedis } from './servers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A Redis 7 or Valkey: REDIS_URL, or one of our own. */
    redisUrl: string
    /** The masters of a cluster, which may still be coming together: see `clusterIsUp`. */
    redisClusterUrls: readonly string[]
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.REDIS_URL
  // Nobody waits for the cluster here: most runs of a few files have no use for it.
  const [single, cluster] = await Promise.all([given ? undefined : startRedis(), startCluster()])
  project.provide('redisUrl', given ?? single!.url)
  project.provide('redisClusterUrls', cluster.urls)
  return async () => {
    await Promise.all([single?.stop(), cluster.stop()])
  }
}
