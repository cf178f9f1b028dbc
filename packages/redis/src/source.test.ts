// The ways to reach Redis: TLS, Sentinel. One server and a cluster are in contract.test.ts.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreUnavailable, type Why } from '@fairlead/core'
import { storeContract } from '@fairlead/core/testing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePort, type RedisServer, startRedis, startSentinel } from '../../../runtime-tests/redis/servers.ts'
import { CERTIFICATE, KEY } from '../test-support/certificate.ts'
import { newPrefix } from '../test-support/flavours.ts'
import { redisStore } from './redis-store.ts'

const LIFE_MS = 60_000
const key = { tag: 's', name: 'session' }

describe('TLS', () => {
  let server: RedisServer
  let port: number
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-tls-'))
  beforeAll(async () => {
    port = await freePort()
    const [certificate, secret] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
    writeFileSync(certificate, CERTIFICATE)
    writeFileSync(secret, KEY)
    server = await startRedis({
      args: [
        ...['--tls-port', `${port}`, '--tls-cert-file', certificate, '--tls-key-file', secret],
        ...['--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'],
      ],
    })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const cases = storeContract(async () => {
    const prefix = newPrefix()
    const open = () => redisStore(new Redis({ port, lazyConnect: true, tls: { ca: CERTIFICATE } }), { prefix })
    return [open(), open()]
  }).filter(({ name }) => /texts come|two publishers|S18/.test(name))
  for (const { name, run } of cases) it(`the contract, with a client given: ${name}`, run)

  it('rediss:// is TLS, and the certificate is looked at', async () => {
    const store = redisStore(`rediss://127.0.0.1:${port}`, { timeoutMs: 500 })
    const error = await store.kv.get(key).catch((error: Error) => error)
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect((error as Error).message).toContain('self-signed certificate')
    await store.close()
  })
})

describe('Sentinel', () => {
  it('a failover is followed: by steps, and by followers, who are told', { timeout: 60_000 }, async () => {
    const one = await startRedis()
    const two = await startRedis({ args: ['--replicaof', '127.0.0.1', `${one.port}`] })
    const sentinel = await startSentinel(one.port)
    const [old, replica, watcher] = [one, two, sentinel].map(({ url }) => new Redis(url)) as [Redis, Redis, Redis]
    // The sentinel ends connections to the servers that it changes.
    for (const client of [old, replica, watcher]) client.on('error', () => {})
    const given = new Redis({
      sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
      name: 'main',
      lazyConnect: true,
    })
    const store = redisStore(given, { prefix: newPrefix() })
    try {
      await store.kv.add(key, 'v', LIFE_MS)
      const heard: string[] = []
      const whys = new Set<Why>()
      await store.bus.subscribe('inbox:a', { ttlMs: LIFE_MS }, (entries, why) => {
        heard.push(...entries.map(({ text }) => text))
        whys.add(why)
      })
      await store.bus.publish('inbox:a', 'before', { token: 'before' })
      await vi.waitFor(() => expect(heard).toEqual(['before']), { timeout: 5000 })
      // The sentinel has found the replica, and that has all.
      const isReady = async () => {
        expect(await watcher.call('SENTINEL', 'REPLICAS', 'main')).toHaveLength(1)
        expect(await replica.info('replication')).toContain('master_link_status:up')
        expect(await replica.dbsize()).toBe(3)
        expect(await watcher.call('SENTINEL', 'FAILOVER', 'main')).toBe('OK')
      }
      await vi.waitFor(isReady, { timeout: 20_000, interval: 200 })
      // Before that, the old master takes what will be lost.
      const isDone = async () => {
        expect(await replica.info('replication')).toContain('role:master')
        expect(await old.info('replication')).toContain('role:slave')
      }
      await vi.waitFor(isDone, { timeout: 20_000, interval: 100 })
      await vi.waitFor(() => store.kv.swap(key, 'v', 'w', LIFE_MS), { timeout: 15_000 })
      expect(await store.kv.get(key)).toBe('w')
      await vi.waitFor(() => store.bus.publish('inbox:a', 'after', { token: 'after' }), { timeout: 15_000 })
      await vi.waitFor(() => expect(heard).toEqual(['before', 'after']), { timeout: 15_000 })
      // The old master, a replica by now, may serve the read under way until the sentinel ends its connections.
      await vi.waitFor(() => expect([...whys].sort()).toEqual(['back', 'live']), { timeout: 15_000 })
    } finally {
      await store.close()
      for (const client of [old, replica, watcher]) client.disconnect()
      await Promise.all([one, two, sentinel].map((server) => server.stop()))
    }
  })
})
