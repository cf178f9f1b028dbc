// kv: strings with a life.
import type { Key, Kv } from '@fairlead/core'
import type { Commands } from './commands.ts'
import type { Names } from './keys.ts'
import { evaluate, life, script } from './scripts.ts'

const RENEW = script(`
local value = redis.call('GETEX', KEYS[1], 'PX', ARGV[1])
if value then
  for i = 2, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
end
return value`)

const ADD_GUARDED = script(`
if redis.call('EXISTS', KEYS[2]) == 0 then return false end
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2]) or ARGV[1]`)

const SWAP = script(`
local value = redis.call('GET', KEYS[1])
if value ~= ARGV[1] and value ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

const DELETE = script(`
local first = redis.call('EXISTS', KEYS[1])
redis.call('UNLINK', unpack(KEYS))
return first`)

export function redisKv(commands: Commands, names: () => Names): Kv {
  const text = (reply: unknown) => (reply as string | null) ?? undefined
  const record = (key: Key) => names().record(key)

  return {
    get(key, renewMs, also) {
      const name = record(key)
      if (renewMs === undefined) return commands.run(async (client) => text(await client.get(name)))
      const ms = life(renewMs)
      if (also === undefined || also.length === 0) {
        return commands.run(async (client) => text(await client.getex(name, 'PX', ms)))
      }
      const keys = [name, ...also.map(record)]
      return commands.run(async (client) => text(await evaluate(client, RENEW, keys, [ms])))
    },
    add(key, value, ttlMs, guard) {
      const name = record(key)
      const ms = life(ttlMs)
      if (guard === undefined) {
        return commands.run(
          async (client) => text(await client.call('SET', name, value, 'NX', 'GET', 'PX', ms)) ?? value,
        )
      }
      const keys = [name, record(guard)]
      return commands.run(async (client) => text(await evaluate(client, ADD_GUARDED, keys, [value, ms])))
    },
    swap(key, from, to, ttlMs) {
      const keys = [record(key)]
      const args = [from, to, life(ttlMs)]
      return commands.run(async (client) => (await evaluate(client, SWAP, keys, args)) === 1)
    },
    delete(keys) {
      if (keys.length === 0) return Promise.resolve(false)
      const all = keys.map(record)
      return commands.run(async (client) => {
        const [only, ...others] = all
        const gone = others.length === 0 ? await client.unlink(only!) : await evaluate(client, DELETE, all, [])
        return gone === 1
      })
    },
    ttl(key) {
      const name = record(key)
      return commands.run(async (client) => {
        const left = await client.pttl(name)
        // Negative: absent. 0: its last ms, in which it is still there.
        return left < 0 ? 0 : Math.max(1, left)
      })
    },
  }
}
