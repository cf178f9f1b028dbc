// createTransport: the steps of an exchange, read from top to bottom; close, stats.
import { acceptedForms, createEdge, isJson } from './edge.ts'
import { createEras } from './era.ts'
import { CODE, McpError } from './errors.ts'
import { type Exchange, type Reply, refuse, toResponse, WebExchange } from './exchange.ts'
import { identify, wellKnown } from './identity.ts'
import { deeperThan, nestedDeeperThan, parseMessage, type RequestId } from './jsonrpc.ts'
import { memoryStore } from './memory-store.ts'
import { createNode } from './node.ts'
import { resolveOptions, type TransportOptions } from './options.ts'
import * as REFUSE from './refusals.ts'
import type { Notify, Principal, Server, Session } from './server.ts'
import { StoreUnavailable } from './store.ts'

/** This node only. */
export interface Stats {
  /** Legacy sessions that this node keeps track of. */
  sessions: number
  /** Response bodies that are open as event streams. */
  connections: number
  /** Requests that are not answered to the end. */
  inFlight: number
  /** Deadlines that are set. */
  timers: number
  /** Calls of the store so far. */
  storeCalls: number
}

/** What `createTransport` makes: one `handle` for every era of MCP over Streamable HTTP. */
export interface Transport<P = unknown> {
  /**
   * Answers one HTTP request. Never throws, never rejects. `platform` is what the runtime hands over: env on Workers,
   * `c` in Hono, `{ req, res }` on Node.
   */
  handle(request: Request, platform?: P, runtime?: { waitUntil?(work: Promise<unknown>): void }): Promise<Response>
  /** The same function, so that `export default transport` is a whole program on Workers, Bun and Deno. */
  fetch: Transport<P>['handle']
  /** Change notifications, to every node's clients that want them. */
  readonly notify: Notify
  /** A legacy session, on whichever node its streams are; undefined when there is none. */
  session(id: string): Promise<Session | undefined>
  /** This node only. */
  stats(): Stats
  /** Drains: refuses new work, lets running calls end (for 10,000 ms by default), ends streams; then lets go of what it made itself. */
  close(options?: { timeoutMs?: number }): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const DRAIN_MS = 10_000

/** A transport's plain face, for adapters that have no use for Request and Response. */
const plainFaces = new WeakMap<object, (exchange: Exchange) => Promise<Reply>>()

/** @internal */
export function plainFace(transport: Transport<never>): (exchange: Exchange) => Promise<Reply> {
  const face = plainFaces.get(transport)
  if (!face) throw new TypeError('this transport was not made by createTransport of this copy of @fairlead/core')
  return face
}

/**
 * Puts a server on the web.
 *
 * @example
 * const server = new McpServer({ name: 'hello', version: '1.0.0' })
 * export default createTransport(server)
 */
export function createTransport<C = unknown, P = unknown>(
  server: Server<C>,
  options: TransportOptions<C, P> = {},
): Transport<P> {
  const { store: given, ...settings } = resolveOptions(options)
  const store = given ?? memoryStore()
  const useStore = () => store.use?.({ server: server.info.name })
  let isReady = server.ready === undefined
  if (isReady) useStore()
  const node = createNode(server as Server, settings, store, given === undefined)
  const edge = createEdge(settings)
  const eras = createEras(node)
  const allow = [...eras.verbs, 'OPTIONS'].join(', ')
  const unlisten = server.onChange((kind) => {
    const { toolsChanged, promptsChanged, resourcesChanged } = node.notify
    const told = { tools: toolsChanged, prompts: promptsChanged, resources: resourcesChanged }[kind]()
    told.catch((error) => node.report(error, 'notify'))
  })

  /** What a server that is not known at once is waited for with. */
  async function ready(): Promise<void> {
    if (isReady) return
    await server.ready!()
    if (isReady) return
    useStore()
    isReady = true
  }

  /** `seen.id` is the request's id as soon as it is known, for an answer to what goes wrong after that. */
  async function steps(exchange: Exchange, seen: { id?: RequestId }): Promise<Reply> {
    // 1 edge
    const refusal = edge.check(exchange)
    if (refusal) return refuse(refusal)
    if (exchange.method === 'OPTIONS') return edge.preflight(exchange, allow)
    if (node.draining) return refuse(REFUSE.draining)

    // 2 identity
    const metadata = wellKnown(exchange, settings.auth)
    if (metadata) return { response: metadata }
    let principal: Principal | undefined
    if (settings.auth) {
      const who = await identify(exchange, settings.auth)
      if (who instanceof Response) return { response: who }
      principal = who
    }

    if (!isReady) await ready()

    // 3 form
    const forms = acceptedForms(exchange.header('accept'))
    if (exchange.method !== 'POST') {
      const handler = eras.taking(exchange.method)
      return handler ? handler.verb({ exchange, principal, forms }) : refuse(REFUSE.verb(allow))
    }
    if (!isJson(exchange.header('content-type'))) return refuse(REFUSE.contentType)
    if (!forms.json && !forms.sse) return refuse(REFUSE.accept)
    const read = exchange.body(settings.limits.bodyBytes)
    const body = read instanceof Promise ? await read : read

    // 4 message
    let json: unknown
    if ('text' in body) {
      if (deeperThan(body.text, settings.limits.jsonDepth)) return refuse(REFUSE.tooDeep(settings.limits.jsonDepth))
      try {
        json = JSON.parse(body.text)
      } catch {
        return refuse(REFUSE.notJson)
      }
    } else if ('parsed' in body) {
      json = body.parsed
      if (nestedDeeperThan(json, settings.limits.jsonDepth)) return refuse(REFUSE.tooDeep(settings.limits.jsonDepth))
    } else if (body.fault === 'too-large') return refuse(REFUSE.tooLarge(settings.limits.bodyBytes))
    else
      return refuse(
        body.fault === 'not-utf8' ? REFUSE.notUtf8 : body.fault === 'consumed' ? REFUSE.consumed : REFUSE.notJson,
      )
    const parsed = parseMessage(json)
    if (parsed.kind === 'invalid') return refuse(REFUSE.message(parsed.code, parsed.text), parsed.id)
    if (parsed.kind === 'request') {
      seen.id = parsed.message.id
      if (node.calls.count >= settings.limits.inFlight) return refuse(REFUSE.busy, seen.id)
    }
    if (node.draining) return refuse(REFUSE.draining, seen.id)

    // 5 era, 6 checks and dispatch, 7 answer
    const { handler, served } = eras.of(parsed, exchange)
    return served ? handler.post(parsed, { exchange, principal, forms }) : handler.decline(parsed, exchange)
  }

  async function answer(exchange: Exchange): Promise<Reply> {
    node.pending++
    let reply: Reply
    const seen: { id?: RequestId } = {}
    try {
      reply = await steps(exchange, seen)
    } catch (error) {
      node.report(error, 'exchange')
      reply = refuse(error instanceof StoreUnavailable ? REFUSE.storeAway : REFUSE.crashed, seen.id)
    }
    node.pending--
    const cors = settings.cors ? edge.cors(exchange) : undefined
    if (cors) reply = withHeaders(reply, cors)
    return exchange.method === 'HEAD' && 'status' in reply ? { status: reply.status, headers: reply.headers } : reply
  }

  const handle: Transport<P>['handle'] = async (request, platform) => {
    const exchange = new WebExchange(request, platform)
    return toResponse(await answer(exchange), exchange)
  }

  let closing: Promise<void> | undefined
  const close: Transport<P>['close'] = ({ timeoutMs = DRAIN_MS } = {}) => {
    closing ??= drain(timeoutMs)
    return closing
  }

  async function drain(timeoutMs: number): Promise<void> {
    node.draining = true
    unlisten()
    eras.drain()
    const late = node.timers.after(timeoutMs, () =>
      node.calls.each((call) => call.fail(new McpError(CODE.internal, 'the server is stopping'))),
    )
    await node.calls.drained()
    node.timers.clear(late)
    await eras.close()
    for (const connection of [...node.connections]) connection.end()
    node.stopped = true
    // Last: as long as the lease is there, others leave this node's streams alone.
    await node.changes.close()
    await node.fleet.leave()
    node.timers.stop()
    try {
      await server.close?.()
    } catch (error) {
      node.report(error, 'close')
    }
    if (node.ownsStore) await store.close()
  }

  const transport: Transport<P> = {
    handle,
    fetch: handle,
    notify: isReady ? node.notify : after(ready, node.notify),
    session: isReady ? (id) => eras.session(id) : (id) => ready().then(() => eras.session(id)),
    stats: () => ({
      sessions: eras.sessions,
      connections: node.connections.size,
      inFlight: node.pending + node.connections.size,
      timers: node.timers.count,
      storeCalls: node.storeCalls,
    }),
    close,
    [Symbol.asyncDispose]: () => close(),
  }
  plainFaces.set(transport, answer)
  return transport
}

function after(
  ready: () => Promise<void>,
  { toolsChanged, promptsChanged, resourcesChanged, resourceUpdated }: Notify,
): Notify {
  return {
    toolsChanged: () => ready().then(toolsChanged),
    promptsChanged: () => ready().then(promptsChanged),
    resourcesChanged: () => ready().then(resourcesChanged),
    resourceUpdated: (uri) => ready().then(() => resourceUpdated(uri)),
  }
}

function withHeaders(reply: Reply, extra: Readonly<Record<string, string>>): Reply {
  if (!('response' in reply)) return { ...reply, headers: { ...reply.headers, ...extra } }
  const { body, status, statusText } = reply.response
  const headers = new Headers(reply.response.headers)
  for (const [name, value] of Object.entries(extra)) headers.append(name, value)
  return { response: new Response(body, { status, statusText, headers }) }
}
