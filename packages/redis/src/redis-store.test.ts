import { type Store, StoreUnavailable } from '@fairlead/core'
import { storeContract } from '@fairlead/core/testing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { type RedisServer, startRedis } from '../../../runtime-tests/redis/servers.ts'
import { cluster, flavours, newPrefix, single } from '../test-support/flavours.ts'
import { steps } from '../test-support/steps.ts'
import { redisStore } from './redis-store.ts'

const LIFE_MS = 60_000
const key = { tag: 's', name: 'session' }

describe('redisStore', () => {
  it('connects to nothing before it is used', async () => {
    const store = redisStore('redis://127.0.0.1:1', { timeoutMs: 50 })
    expect(Math.abs(store.now() - Date.now())).toBeLessThan(1000)
    await store.close()
  })

  it('refuses a bound of 0 and a prefix with an empty hash tag', () => {
    expect(() => redisStore(inject('redisUrl'), { timeoutMs: 0 })).toThrow(RangeError)
    expect(() => redisStore(inject('redisUrl'), { prefix: 'a{}b' })).toThrow(TypeError)
    expect(() => redisStore(new Redis({ lazyConnect: true, keyPrefix: '{}' }))).toThrow(TypeError)
  })

  it('has the clock of the server', async () => {
    const store = redisStore(inject('redisUrl'), { prefix: newPrefix() })
    const [client] = single.servers()
    await store.kv.ttl(key)
    const ahead = async () => {
      const [seconds, micros] = (await client!.time()).map(Number)
      return store.now() - (seconds! * 1000 + micros! / 1000)
    }
    await vi.waitFor(async () => expect(Math.abs(await ahead())).toBeLessThan(50))
    await store.close()
    client!.disconnect()
  })
})

describe('W23 prefixes', () => {
  const names = async (pattern: string) => {
    const [client] = single.servers()
    const found = await client!.keys(pattern)
    client!.disconnect()
    return found.sort()
  }

  it('keep stores on one Redis apart: records, logs and topics', async () => {
    const [one, two] = [newPrefix(), newPrefix()].map((prefix) => redisStore(inject('redisUrl'), { prefix }))
    const heard: string[] = []
    for (const [i, store] of [one!, two!].entries()) {
      await store.kv.add(key, `${i}`, LIFE_MS)
      await store.bus.subscribe('events', { ttlMs: LIFE_MS }, (entries) => heard.push(`${i} ${entries[0]!.text}`))
    }
    expect([await one!.kv.get(key), await two!.kv.get(key)]).toEqual(['0', '1'])
    await two!.bus.publish('events', 'x', { token: 't' })
    await vi.waitFor(() => expect(heard).toEqual(['1 x']))
    await two!.kv.delete([key])
    expect(await one!.kv.get(key)).toBe('0')
    await Promise.all([one!.close(), two!.close()])
  })

  it('hold the name of the server by default, the layout, and a keyPrefix of the client given', async () => {
    const client = new Redis(inject('redisUrl'), { lazyConnect: true, keyPrefix: newPrefix() })
    const notes = redisStore(client)
    notes.use!({ server: 'notes {1}' })
    notes.use!({ server: 'notes {1}' })
    const other = redisStore(client)
    other.use!({ server: 'other' })
    await notes.kv.add(key, 'v', LIFE_MS)
    await notes.bus.publish('events', 'x', { token: 't' })
    expect(await other.kv.get(key)).toBeUndefined()
    const start = `${client.options.keyPrefix}fairlead:notes%20%7B1%7D:v1:`
    expect(await names(`${client.options.keyPrefix}*`)).toEqual(
      ['bus:{events}', 'bus:{events}:state', '{s}session'].map((name) => start + name),
    )
    await Promise.all([notes.close(), other.close()])
    client.disconnect()
  })

  it('must be given to a store that serves more than one server', async () => {
    const store = redisStore(inject('redisUrl'))
    store.use!({ server: 'one' })
    expect(() => store.use!({ server: 'two' })).toThrow(TypeError)
    const used = redisStore(inject('redisUrl'))
    await used.kv.ttl(key)
    expect(() => used.use!({ server: 'one' })).toThrow(TypeError)
    const shared = redisStore(inject('redisUrl'), { prefix: newPrefix() })
    shared.use!({ server: 'one' })
    expect(() => shared.use!({ server: 'two' })).not.toThrow()
    await Promise.all([store.close(), used.close(), shared.close()])
  })

  it('S61 may hold a hash tag of their own on a cluster', async () => {
    await cluster.up()
    const some = /delete: kv and logs|S18|trimmed at the next/
    const cases = storeContract(async () => {
      const prefix = `{${newPrefix()}}app:`
      return [redisStore(cluster.connection(), { prefix }), redisStore(cluster.connection(), { prefix })]
    }).filter(({ name }) => some.test(name))
    expect(cases).toHaveLength(4)
    for (const { run } of cases) await run()
  })
})

describe.each(flavours)('W26 errors on $name', ({ up, connection, servers }) => {
  beforeAll(up)

  it('reject and are never read as empty', async () => {
    const prefix = newPrefix()
    const store = redisStore(connection(), { prefix })
    await store.kv.add({ tag: 't', name: 'text' }, 'v', LIFE_MS)
    await steps['log.append']!(store, 't')
    const text = { tag: 't', name: 'text' }
    const log = { tag: 't', name: 'g' }
    for (const wrong of [
      () => store.kv.get(log),
      () => store.kv.get(log, LIFE_MS),
      () => store.kv.get(log, LIFE_MS, [text]),
      () => store.kv.swap(log, 'a', 'b', LIFE_MS),
      () => store.log.append(text, ['x'], { ttlMs: LIFE_MS, limit: { entries: 1, bytes: 1 } }),
      () => store.log.read(text, 'r', { take: 'attach', max: 1 }),
    ]) {
      await expect(wrong()).rejects.toThrow(StoreUnavailable)
    }
    await store.close()
  })

  it('reject where the server refuses, with its words and without those of the step', async () => {
    const clients = servers()
    const user = newPrefix().replaceAll(':', '')
    for (const client of clients) await client.acl('SETUSER', user, 'on', '>pass', '~nothing', '+@all')
    const client = connection({ username: user, password: 'pass' })
    const store = redisStore(client, { prefix: newPrefix() })
    for (const step of Object.values(steps)) {
      const error = await step(store, 'body-of-a-message').then(
        () => undefined,
        (error: Error) => error,
      )
      expect(error).toBeInstanceOf(StoreUnavailable)
      expect(error!.message).toContain('NOPERM')
      expect(Object.keys(error!)).toEqual(['name'])
    }
    await store.close()
    for (const client of clients) {
      await client.acl('DELUSER', user)
      client.disconnect()
    }
  })
})

describe('S59 the client given', () => {
  it.each(flavours)('stays as it was on $name; after close ours are gone', async ({ up, connection, servers }) => {
    await up()
    // Whatever else runs against this Redis: ours have the name that the client given has.
    const connectionName = newPrefix()
    const client = connection({ connectionName })
    await client.connect()
    const behind = servers()
    const connections = async () => {
      const lists = (await Promise.all(behind.map((server) => server.client('LIST')))) as string[]
      return lists.flatMap((list) => list.split('\n')).filter((line) => line.includes(connectionName)).length
    }
    const own = newPrefix()
    await client.set(own, 'mine', 'PX', LIFE_MS)
    const before = await connections()
    const store = redisStore(client, { prefix: newPrefix() })
    const heard: string[] = []
    for (const topic of ['inbox:a', 'events']) {
      await store.bus.subscribe(topic, { ttlMs: LIFE_MS }, (entries) => heard.push(...entries.map(({ text }) => text)))
    }
    await store.kv.add(key, 'v', LIFE_MS)
    for (let i = 0; i < 5; i++) {
      await store.bus.publish(i % 2 ? 'events' : 'inbox:a', `${i}`, { token: `${i}` })
      expect(await client.get(own)).toBe('mine')
    }
    await vi.waitFor(() => expect(heard).toHaveLength(5))
    expect(await connections()).toBeGreaterThan(before)
    await store.close()
    await vi.waitFor(async () => expect(await connections()).toBeLessThanOrEqual(before))
    expect(client.status).toBe('ready')
    expect(await client.get(own)).toBe('mine')
    expect(client.listenerCount('error')).toBe(0)
    for (const one of [...behind, client]) one.disconnect()
  })

  it('costs two connections on one Redis, one while nothing is followed', async () => {
    const server = await startRedis()
    const look = new Redis(server.url)
    const count = async () => ((await look.client('LIST', 'TYPE', 'NORMAL')) as string).trim().split('\n').length - 1
    const store = redisStore(server.url)
    await store.kv.ttl(key)
    expect(await count()).toBe(1)
    for (const topic of ['inbox:a', 'events']) await store.bus.subscribe(topic, { ttlMs: LIFE_MS }, () => {})
    await vi.waitFor(async () => expect(await count()).toBe(2))
    await store.close()
    look.disconnect()
    await server.stop()
  })
})

describe('W10 a managed Redis, without CLIENT, CONFIG, MONITOR, KEYS, SCAN and the like', () => {
  const forbidden = [
    'CLIENT',
    'CONFIG',
    'MONITOR',
    'KEYS',
    'SCAN',
    'DEBUG',
    'FLUSHALL',
    'FLUSHDB',
    'SHUTDOWN',
    'RANDOMKEY',
  ]
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis({ args: forbidden.flatMap((command) => ['--rename-command', command, '']) })
  })
  afterAll(() => server.stop())

  const open = (): [Store, Store] => {
    const prefix = newPrefix()
    return [redisStore(server.url, { prefix }), redisStore(server.url, { prefix })]
  }
  it('really lacks them', async () => {
    const client = new Redis(server.url)
    for (const command of forbidden) await expect(client.call(command, 'x')).rejects.toThrow('unknown command')
    client.disconnect()
  })
  for (const { name, run } of storeContract(async () => open())) it.concurrent(name, run)
})
