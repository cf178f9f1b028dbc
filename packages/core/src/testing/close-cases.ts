// What every store promises of close.
import { nanoid } from 'nanoid'
import type { Store } from '../store.ts'
import { eventually, same } from './check.ts'
import { attach, type Case, follow, LONG_MS, leave, many } from './scene.ts'

export const closeCases: readonly Case[] = [
  {
    name: 'close: each call after it rejects with StoreUnavailable',
    async run({ a, b, keys, topic }) {
      const { k, g } = keys('k', 'g')
      const name = topic()
      await a.kv.add(k, 'v', LONG_MS)
      const follower = await follow(a, name)
      await Promise.all([a.close(), b.close()])
      await a.close()
      const token = nanoid()
      const calls: Record<string, (store: Store) => Promise<unknown>> = {
        'kv.get': ({ kv }) => kv.get(k, LONG_MS),
        'kv.add': ({ kv }) => kv.add(k, 'v', LONG_MS),
        'kv.swap': ({ kv }) => kv.swap(k, 'v', 'w', LONG_MS),
        'kv.delete': ({ kv }) => kv.delete([k]),
        'kv.ttl': ({ kv }) => kv.ttl(k),
        'log.append': ({ log }) => log.append(g, ['x'], many()),
        'log.read (attach)': ({ log }) => log.read(g, 'r', attach()),
        'log.read (leave)': ({ log }) => log.read(g, 'r', leave(1)),
        'bus.publish': ({ bus }) => bus.publish(name, 'x', { token }),
        'bus.subscribe': ({ bus }) => bus.subscribe(name, { ttlMs: LONG_MS }, () => {}),
        'bus.read': ({ bus }) => bus.read(name, 0, 10),
        renew: () => follower.renew(),
      }
      for (const [call, run] of Object.entries(calls)) {
        for (const store of [a, b]) same(await outcome(run(store)), 'StoreUnavailable', call)
      }
      await follower.stop()
    },
  },
  {
    name: 'close: no follower hears anything after it',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(a, name)
      await b.bus.publish(name, 'before', { token: nanoid() })
      await eventually('it hears what came before', () => follower.heard.length === 1)
      await a.close()
      if (a !== b) await outcome(b.bus.publish(name, 'after', { token: nanoid() }))
      await b.close()
      same(
        follower.heard.map(({ text }) => text),
        ['before'],
        'what was heard',
      )
    },
  },
]

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'done'
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}
