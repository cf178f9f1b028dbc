// Several nodes over one store, and a line to a store that a test can cut, hold up and listen in on.
import { onTestFinished } from 'vitest'
import { memoryStore } from '../src/memory-store.ts'
import type { TransportOptions } from '../src/options.ts'
import { type Entry, type Store, StoreUnavailable, type Why } from '../src/store.ts'
import type { Transport } from '../src/transport.ts'
import { type Client, type HeaderChanges, type LegacyClient, sessionless } from './clients.ts'
import { type Scene, scene } from './scene.ts'
import { TestServer } from './server.ts'

export interface Nodes {
  /** What they share, without a line between. */
  store: Store
  a: NodeOfMany
  b: NodeOfMany
}

export interface NodeOfMany extends Scene {
  line: Line
}

/** Two nodes over one store, each with a line of its own. `around` may put another store between. */
export function twoNodes(
  options: TransportOptions = {},
  around: (store: Store, index: number) => Store = (store) => store,
): Nodes {
  const store = memoryStore()
  onTestFinished(() => store.close())
  const node = (index: number) => oneOf(around(store, index), options)
  return { store, a: node(0), b: node(1) }
}

/** A node over a store that others share. */
export function oneOf(store: Store, options: TransportOptions = {}, server: TestServer = new TestServer()): NodeOfMany {
  const line = new Line(store)
  return { ...scene({ ...options, store: line.store }, server), line }
}

/** The same session at another node. */
export function at(
  transport: Transport,
  { session }: Pick<LegacyClient, 'session'>,
  version: string | undefined = '2025-11-25',
  headers: HeaderChanges = {},
): Client {
  const named = version === '2025-03-26' ? undefined : version
  return sessionless(transport, named, { 'mcp-session-id': session, ...headers })
}

type Run = () => Promise<unknown>

/** What lies between a node and its store. */
export class Line {
  readonly store: Store
  /** Called in place of each call, which it may run or not. */
  around: ((call: string, args: readonly unknown[], run: Run) => Promise<unknown>) | undefined
  #cut = false
  #dead = false
  /** Deliveries that wait for the line to be mended. */
  #waiting: (() => void)[] = []
  /** Calls that a dead node has made. */
  #hanging: ((error: Error) => void)[] = []

  constructor(store: Store) {
    const part = <T extends object>(name: string, of: T): T =>
      new Proxy(of, {
        get: (target, member) => {
          const step = Reflect.get(target, member) as (...args: unknown[]) => Promise<unknown>
          return (...args: unknown[]) => this.#call(`${name}.${String(member)}`, args, () => step.apply(target, args))
        },
      })
    const bus = part('bus', {
      ...store.bus,
      subscribe: async (topic: string, options: { after?: number; ttlMs: number }, on: Follow) => {
        const { place, handled, renew, stop } = await store.bus.subscribe(topic, options, (entries, why) =>
          this.#deliver(entries, why, on),
        )
        return {
          place,
          handled,
          renew: () => this.#call('bus.renew', [topic], renew) as Promise<void>,
          stop: () => this.#call('bus.stop', [topic], stop) as Promise<void>,
        }
      },
    })
    this.store = { ...store, kv: part('kv', store.kv), log: part('log', store.log), bus }
  }

  /** The store is away: calls are refused, and what it has to tell comes when the line is mended. */
  cut(): void {
    this.#cut = true
  }

  mend(): void {
    this.#cut = false
    this.#dead = false
    for (const reject of this.#hanging.splice(0)) reject(new StoreUnavailable('too late'))
    for (const deliver of this.#waiting.splice(0)) deliver()
  }

  /** The node has stopped, as far as others can see: its calls do nothing, and fail when the line is mended. */
  kill(): void {
    this.#dead = true
  }

  #call(call: string, args: readonly unknown[], run: Run): Promise<unknown> {
    if (this.#dead) return new Promise((_, reject) => this.#hanging.push(reject))
    if (this.#cut) return Promise.reject(new StoreUnavailable('cut off'))
    return this.around ? this.around(call, args, run) : run()
  }

  #deliver(entries: Entry[], why: Why, on: Follow): void {
    if (this.#cut || this.#dead) this.#waiting.push(() => on(entries, why === 'live' ? 'back' : why))
    else on(entries, why)
  }
}

type Follow = (entries: Entry[], why: Why) => void
