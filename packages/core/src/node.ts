// This process in the fleet: its store, clocks, running calls and connections.
import { nanoid } from 'nanoid'
import { Calls } from './calls.ts'
import { type Changes, createChanges } from './changes.ts'
import type { Connection } from './connection.ts'
import { createFleet, type Fleet } from './fleet.ts'
import type { Observer, Settings } from './options.ts'
import type { Notify, Server } from './server.ts'
import type { Store } from './store.ts'
import { createTimers, type Timers } from './timers.ts'

export interface Node {
  readonly id: string
  readonly server: Server
  readonly settings: Settings
  /** Counted and observed. */
  readonly store: Store
  readonly timers: Timers
  readonly calls: Calls
  readonly connections: Set<Connection>
  readonly fleet: Fleet
  readonly changes: Changes
  readonly notify: Notify
  /** The store was made here and goes with this node. */
  readonly ownsStore: boolean
  storeCalls: number
  /** Exchanges that are not answered yet. */
  pending: number
  /** True from `close` on: nothing new is taken. */
  draining: boolean
  /** True when `close` has come to its end. */
  stopped: boolean
  /** What went wrong on the server; never throws. */
  report(error: unknown, phase: string, method?: string, sessionId?: string): void
  observe<K extends keyof Observer>(hook: K, event: Parameters<NonNullable<Observer[K]>>[0]): void
}

export function createNode(server: Server, settings: Settings, store: Store, ownsStore: boolean): Node {
  let id: string | undefined
  const node = {
    /** Drawn when it is first needed: Workers have no randomness where modules are loaded. */
    get id() {
      id ??= nanoid(12)
      return id
    },
    server,
    settings,
    store: counted(
      store,
      () => node.storeCalls++,
      settings.observer.store && ((call, ms, failed) => node.observe('store', { call, ms, failed })),
    ),
    timers: createTimers((error) => node.report(error, 'timer')),
    calls: new Calls(),
    connections: new Set(),
    ownsStore,
    storeCalls: 0,
    pending: 0,
    draining: false,
    stopped: false,
    report(error, phase, method, sessionId) {
      try {
        settings.onError(error, {
          phase,
          ...(method === undefined ? {} : { method }),
          ...(sessionId === undefined ? {} : { sessionId }),
        })
      } catch {
        // Nobody is left to tell.
      }
    },
    observe(hook, event) {
      try {
        ;(settings.observer[hook] as ((event: unknown) => void) | undefined)?.(event)
      } catch (error) {
        node.report(error, 'observer')
      }
    },
  } as Omit<Node, 'fleet' | 'changes' | 'notify'> as Node
  const fleet = createFleet(node)
  const changes = createChanges(Object.assign(node, { fleet }))
  return Object.assign(node, { changes, notify: changes.notify })
}

type Seen = (call: string, ms: number, failed: boolean) => void

/** The same store, with each call counted, and timed where somebody looks. */
function counted(store: Store, count: () => void, seen: Seen | undefined): Store {
  const watch = <T>(call: string, work: Promise<T>): Promise<T> => {
    count()
    if (!seen) return work
    const start = performance.now()
    work.then(
      () => seen(call, performance.now() - start, false),
      () => seen(call, performance.now() - start, true),
    )
    return work
  }
  const { kv, log, bus } = store
  return {
    kv: {
      get: (key, renewMs, also) => watch('kv.get', kv.get(key, renewMs, also)),
      add: (key, value, ttlMs, guard) => watch('kv.add', kv.add(key, value, ttlMs, guard)),
      swap: (key, from, to, ttlMs) => watch('kv.swap', kv.swap(key, from, to, ttlMs)),
      delete: (keys) => watch('kv.delete', kv.delete(keys)),
      ttl: (key) => watch('kv.ttl', kv.ttl(key)),
    },
    log: {
      append: (key, entries, options) => watch('log.append', log.append(key, entries, options)),
      read: (key, reader, options) => watch('log.read', log.read(key, reader, options)),
    },
    bus: {
      publish: (topic, text, options) => watch('bus.publish', bus.publish(topic, text, options)),
      subscribe: (topic, options, on) => watch('bus.subscribe', bus.subscribe(topic, options, on)),
      read: (topic, after, max) => watch('bus.read', bus.read(topic, after, max)),
    },
    now: () => store.now(),
    close: () => store.close(),
  }
}
