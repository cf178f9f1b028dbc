// fromSdk: a server for `createTransport` out of one that was written with the official SDK.
import type { ListKind, Notify, Result, Server } from '@fairlead/core'
import { CallExtra } from './extra.ts'
import { requestInstance, sessionInstance } from './instance.ts'
import { closeInstance, Instances } from './instances.ts'
import type { CallContext, Params } from './link.ts'
import { Probe } from './probe.ts'
import { type Factory, isV2 } from './sdk.ts'
import { askForUrls, paramsForV1, resultOfV1 } from './v1-modern.ts'

const MAX_INSTANCES = 1000
/** Instances that have the same news at once, of the same resource, tell it once. */
const TOGETHER_MS = 10

export interface FromSdkOptions {
  /**
   * Instances of sessions that this node keeps. Beyond that the one unused for longest is closed, and made anew when its
   * session comes again; one at work is never closed. Default 1000.
   */
  maxInstances?: number
}

/**
 * One instance per session, and one per modern request; kept in a bounded map, closed when dropped. `factory` makes a
 * `McpServer` or `Server` of the official SDK, v1 or v2, a new one at each call.
 *
 * One more is made before the first request: it stands for the server as such, is asked what the server can do and
 * lists, and is kept. Throws a RangeError if `maxInstances` is not a whole number above 0.
 *
 * @example
 * const transport = createTransport(fromSdk(() => createServer()), { store: redisStore(url) })
 */
export function fromSdk(factory: Factory, { maxInstances = MAX_INSTANCES }: FromSdkOptions = {}): Server {
  if (typeof factory !== 'function') throw new TypeError('fromSdk takes a function that makes a server')
  if (!Number.isSafeInteger(maxInstances) || maxInstances < 1) {
    throw new RangeError('fromSdk: maxInstances must be a whole number above 0')
  }
  const instances = new Instances(maxInstances)
  const listeners = new Set<(kind: ListKind) => void>()
  const updates = new Map<string, Notify>()
  let known: Probe | undefined
  let opening: Promise<void> | undefined

  function probe(): Probe {
    if (!known) throw new Error('fromSdk: what the server can do is not known yet')
    return known
  }

  async function open(): Promise<void> {
    try {
      known = await Probe.open(factory, (kind) => {
        for (const listener of listeners) listener(kind)
      })
    } finally {
      opening = undefined
    }
  }

  function updated(notify: Notify, uri: string): void {
    if (updates.size === 0) setTimeout(tellUpdates, TOGETHER_MS)
    updates.set(uri, notify)
  }

  function tellUpdates(): void {
    const all = [...updates]
    updates.clear()
    // Where the store is away, so is everybody who could be told.
    for (const [uri, notify] of all) notify.resourceUpdated(uri).catch(() => {})
  }

  /** A call of a session, by the instance of that session on this node. */
  async function callInSession(method: string, params: Params, ctx: CallContext): Promise<Result> {
    const { session, signal } = ctx
    for (;;) {
      const { link } = await instances.get(session!.id, () => sessionInstance(factory, ctx, updated))
      signal.throwIfAborted()
      // Closed in the moment between.
      if (link.isClosed) continue
      try {
        return await link.call(method, params, ctx, new CallExtra(ctx))
      } finally {
        instances.trim()
      }
    }
  }

  async function callAlone(method: string, params: Params, ctx: CallContext): Promise<Result> {
    const instance = await requestInstance(factory, ctx, method, updated)
    const { link, server } = instance
    const isForeign = ctx.era === 'modern' && !isV2(server)
    try {
      ctx.signal.throwIfAborted()
      const result = await link.call(method, isForeign ? paramsForV1(params) : params, ctx, new CallExtra(ctx))
      return isForeign ? resultOfV1(method, result) : result
    } catch (error) {
      if (isForeign) await askForUrls(error, ctx)
      throw error
    } finally {
      void closeInstance(instance)
    }
  }

  return {
    get info() {
      return probe().info
    },
    describe: (version) => probe().describe(version),
    route: (method, params, version) => probe().route(method, params, version),
    call(method, params, ctx) {
      const call = ctx as CallContext
      const given = params as Params
      const wanted = ctx.era === 'legacy' ? withoutTask(given) : given
      return ctx.session ? callInSession(method, wanted, call) : callAlone(method, wanted, call)
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async ready() {
      if (known) return
      opening ??= open()
      await opening
    },
    async notified(method, params, sender) {
      const { link } = await instances.get(sender.session!.id, () => sessionInstance(factory, sender, updated))
      // An instance is told when it is made.
      if (method !== 'notifications/initialized') link.notify(method, params as Params | undefined)
      instances.trim()
    },
    ended: (sessionId) => instances.drop(sessionId),
    async close() {
      instances.clear()
      if (listeners.size > 0) return
      const last = known
      known = undefined
      await last?.close()
    },
  }
}

/** The experimental tasks of 2025-11-25 are not served, so a wish for one is ignored. */
function withoutTask(params: Params): Params {
  if (params.task === undefined) return params
  const { task: _, ...rest } = params
  return rest
}
