// One call of each method, on records of a tag of their own.
import type { Store } from '@fairlead/core'

const LIFE_MS = 60_000
const LIMIT = { entries: 1000, bytes: 1_000_000 }

export const steps: Readonly<Record<string, (store: Store, tag: string) => Promise<unknown>>> = {
  'kv.get': ({ kv }, tag) => kv.get({ tag, name: 'k' }),
  'kv.get, renewing': ({ kv }, tag) => kv.get({ tag, name: 'k' }, LIFE_MS),
  'kv.get, renewing several': ({ kv }, tag) => kv.get({ tag, name: 'k' }, LIFE_MS, [{ tag, name: 'g' }]),
  'kv.add': ({ kv }, tag) => kv.add({ tag, name: 'k' }, 'v', LIFE_MS),
  'kv.add, guarded': ({ kv }, tag) => kv.add({ tag, name: 'l' }, 'v', LIFE_MS, { tag, name: 'k' }),
  'kv.swap': ({ kv }, tag) => kv.swap({ tag, name: 'k' }, 'v', 'w', LIFE_MS),
  'kv.delete': ({ kv }, tag) => kv.delete([{ tag, name: 'x' }]),
  'kv.delete, several': ({ kv }, tag) => kv.delete(['x', 'y'].map((name) => ({ tag, name }))),
  'kv.ttl': ({ kv }, tag) => kv.ttl({ tag, name: 'k' }),
  'log.append': ({ log }, tag) =>
    log.append({ tag, name: 'g' }, ['x'], { ttlMs: LIFE_MS, limit: LIMIT, token: `${tag}-${Math.random()}` }),
  'log.read, attach': ({ log }, tag) => log.read({ tag, name: 'g' }, 'r', { take: 'attach', max: 10 }),
  'log.read, next': ({ log }, tag) => log.read({ tag, name: 'g' }, 'r', { take: 'next', max: 10 }),
  'bus.publish': ({ bus }, tag) => bus.publish(tag, 'x', { token: `${tag}-${Math.random()}` }),
  'bus.subscribe': ({ bus }, tag) => bus.subscribe(tag, { ttlMs: LIFE_MS }, () => {}),
  'bus.read': ({ bus }, tag) => bus.read(tag, 0, 10),
}
