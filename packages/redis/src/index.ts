// @fairlead/redis: the store of a fleet, on Redis 7, Valkey, Sentinel or Cluster.
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
