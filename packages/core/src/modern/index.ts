// 2026-07-28: no handshake and no session; every request brings its version and capabilities along.
import { Answer, type Outlet } from '../answer.ts'
import { Call, type Wire } from '../calls.ts'
import { Connection } from '../connection.ts'
import { isLogLevel } from '../context.ts'
import { dispatch, missingCapabilities, missingScopes } from '../dispatch.ts'
import type { EraHandler, EraRow } from '../eras.ts'
import { CODE, McpError } from '../errors.ts'
import { ACCEPTED, type Arrival, type Exchange, type Reply, refuse } from '../exchange.ts'
import { isObject, type JsonRpcNotification, type JsonRpcRequest, type Params, toJson } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { HEADER, isVersion, META, type ProtocolVersion, REVISIONS, TASKS_EXTENSION } from '../protocol.ts'
import type { Refusal } from '../refusals.ts'
import * as REFUSE from '../refusals.ts'
import type { Context, Result, Route } from '../server.ts'
import { frame, SSE_HEADERS } from '../sse.ts'
import { checkMirrored, checkParams } from './headers.ts'
import { createListens } from './listen.ts'
import { createRounds, isRetry } from './rounds.ts'
import { createTasks, type TaskRoute } from './tasks.ts'

export const modern: EraRow = {
  name: 'modern',
  /** A message is modern by its own `_meta`; by its version header if it is not the legacy handshake (Q-05, S44). */
  claims(parsed, exchange) {
    if (parsed.kind === 'request' || parsed.kind === 'notification') {
      const { method, params } = parsed.message
      if (isObject(params?._meta) && META.protocolVersion in params._meta) return true
      if (method === 'initialize') return false
    }
    const header = exchange.header(HEADER.version)
    return isVersion(header) && REVISIONS[header].era === 'modern'
  },
  create: createModern,
}

/** The methods whose results a client may cache, so that they must say for how long (H-03). */
const CACHEABLE = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])
const UNCACHED = { ttlMs: 0, cacheScope: 'private' }

function createModern(node: Node, versions: readonly ProtocolVersion[]): EraHandler {
  const { server, settings } = node
  const tasks = createTasks(node, () => wire)
  const rounds = createRounds(node, async (call) => {
    const task = taskRoutes.get(call)
    if (task && !call.task) await tasks.start(call, task)
  })
  const listens = createListens(node, tasks)
  /** Of calls that may become tasks. */
  const taskRoutes = new WeakMap<Call, TaskRoute>()
  /** Made at the first result: a server may not know its own name before its first request. */
  let envelope = ''
  const serverMeta = () => ({ [META.serverInfo]: server.info })

  const wire: Wire = {
    era: 'modern',
    result({ message: { method } }, result) {
      const isCacheable = CACHEABLE.has(method) && (result.resultType ?? 'complete') === 'complete' // H-05
      const isBare = result.resultType === undefined && result._meta === undefined
      if (isBare && (result.ttlMs !== undefined || !isCacheable)) {
        const text = toJson(result)
        envelope ||= `"resultType":"complete","_meta":${toJson(serverMeta())}}`
        return text === '{}' ? `{${envelope}` : `${text.slice(0, -1)},${envelope}`
      }
      return toJson({
        ...(isCacheable ? UNCACHED : {}),
        ...result,
        resultType: result.resultType ?? 'complete',
        _meta: { ...serverMeta(), ...(result._meta as object | undefined) },
      })
    },
    error: legalError,
    errorStatus: (code) => (code === CODE.missingCapability ? 400 : 200),
    asks: rounds.asks,
  }

  /** Everything that must hold before a request is dispatched, in the order of Q-04. */
  function check(
    exchange: Exchange,
    { method, params }: JsonRpcRequest,
    route: Route | undefined,
  ): Refusal | undefined {
    return (
      checkVersion(exchange, params) ??
      checkMirrored(exchange, method, params, true) ??
      (route?.paramHeaders && checkParams(exchange, params, route.paramHeaders)) ??
      checkMeta(params?._meta as Params) ??
      (route ? undefined : REFUSE.method(method, method === 'initialize' ? settings.versions : undefined))
    )
  }

  function checkVersion(exchange: Exchange, params: Params | undefined): Refusal | undefined {
    const meta = params?._meta
    const version = isObject(meta) ? meta[META.protocolVersion] : undefined
    if (typeof version !== 'string') return REFUSE.missingMeta(META.protocolVersion)
    const header = exchange.header(HEADER.version)
    if (header === undefined) return REFUSE.noVersionHeader(settings.versions)
    if (header !== version)
      return REFUSE.header('the header MCP-Protocol-Version must equal the version in params._meta')
    return versions.includes(version as ProtocolVersion) ? undefined : REFUSE.version(version, settings.versions)
  }

  function checkMeta(meta: Params): Refusal | undefined {
    if (!isObject(meta[META.clientCapabilities])) return REFUSE.missingMeta(META.clientCapabilities)
    const level = meta[META.logLevel]
    if (level === undefined || isLogLevel(level)) return undefined
    return { status: 400, code: CODE.invalidParams, message: `${META.logLevel} must be a log level` }
  }

  function request(message: JsonRpcRequest, arrival: Arrival): Reply | Promise<Reply> {
    const { exchange, principal, forms } = arrival
    const { id, method, params } = message
    const version = exchange.header(HEADER.version) as ProtocolVersion
    const own = OWN_METHODS[method]
    const route = own ? own.route : server.route(method, params ?? {}, isVersion(version) ? version : versions[0]!)
    const refusal = check(exchange, message, route)
    if (refusal) return refuse(refusal, id)

    const call: Call = new Call(node, wire, version, message, exchange, new Answer(node, forms, () => outlet(call)))
    const meta = params!._meta as Params
    call.client = clientOf(meta)
    call.principal = principal
    call.logLevel = server.describe(version).capabilities.logging
      ? (meta[META.logLevel] as Call['logLevel'])
      : undefined
    const unscoped = missingScopes(call, route!)
    if (unscoped) return unscoped
    const incapable = missingCapabilities(call, route!)
    if (incapable) return refuse(incapable, id)
    const hasTasks = declaresTasks(call.client.capabilities)
    if (!hasTasks && (route!.task?.support === 'required' || wantsTasks(message))) {
      return refuse(REFUSE.capability({ extensions: { [TASKS_EXTENSION]: {} } }), id)
    }
    if (method === 'subscriptions/listen') return listens.open(message, arrival, version)

    node.calls.add(call, undefined)
    // In this era a disconnect is the cancel, on JSON answers too (G-21, Q-30).
    exchange.onDisconnect(() => call.cancel(disconnected()))
    if (own?.run) return runOwn(call, own.run)
    if (route!.task && hasTasks) taskRoutes.set(call, route!.task)
    const startsAsTask = route!.task?.start === 'at-once' && hasTasks
    const isOurRetry = !route!.ownRounds && isRetry(message)
    return startsAsTask || isOurRetry ? prepare(call, startsAsTask ? route!.task : undefined) : dispatch(call)
  }

  async function runOwn(call: Call, run: (call: Call) => Result | Promise<Result>): Promise<Reply> {
    try {
      call.returned(await run(call))
    } catch (error) {
      call.failed(error)
    }
    return call.answer.reply()
  }

  /** What has to be done before the handler runs: the answers of a retry taken up, the task made. */
  async function prepare(call: Call, task: TaskRoute | undefined): Promise<Reply> {
    try {
      if (isRetry(call.message)) await rounds.resume(call)
      if (task) await tasks.start(call, task)
    } catch (error) {
      call.failed(error)
      return call.answer.reply()
    }
    return dispatch(call)
  }

  /** The methods of the transport itself. */
  const OWN_METHODS: Readonly<Record<string, { route: Route; run?: (call: Call) => Result | Promise<Result> }>> = {
    __proto__: null as never,
    'server/discover': { route: {}, run: ({ version }) => discover(version) },
    'subscriptions/listen': { route: {} },
    ...Object.fromEntries(Object.entries(tasks.methods).map(([name, run]) => [name, { route: {}, run }])),
  }

  function outlet(call: Call): Outlet {
    const connection = new Connection(node, () =>
      call.cancel(new DOMException('the client has disconnected', 'AbortError')),
    )
    return {
      reply: { status: 200, headers: SSE_HEADERS, body: connection },
      message: (json) => connection.write(frame(json)),
      end(json) {
        if (json !== undefined) connection.write(frame(json))
        connection.end()
      },
    }
  }

  function discover(version: ProtocolVersion): Result {
    const { capabilities, instructions } = server.describe(version)
    return {
      supportedVersions: settings.versions,
      capabilities,
      ...(instructions === undefined ? {} : { instructions }),
    }
  }

  function notification({ method, params }: JsonRpcNotification, exchange: Exchange): Reply {
    const refusal =
      (isObject(params?._meta) && exchange.header(HEADER.version) !== undefined
        ? checkVersion(exchange, params)
        : undefined) ?? checkMirrored(exchange, method, params, false)
    return refusal ? refuse(refusal) : ACCEPTED
  }

  return {
    verbs: [],
    sessions: 0,
    post(parsed, arrival) {
      switch (parsed.kind) {
        case 'request':
          return request(parsed.message, arrival)
        case 'notification':
          return notification(parsed.message, arrival.exchange)
        case 'response':
          return refuse(REFUSE.response)
        case 'batch':
          return refuse(REFUSE.batch)
        case 'invalid':
          return refuse(REFUSE.message(parsed.code, parsed.text), parsed.id)
      }
    },
    verb: () => refuse(REFUSE.verb('POST')),
    decline(parsed, exchange) {
      const header = exchange.header(HEADER.version)
      const id = parsed.kind === 'request' ? parsed.message.id : undefined
      return header === undefined
        ? refuse(REFUSE.noVersionHeader(settings.versions), id)
        : refuse(REFUSE.version(header, settings.versions), id)
    },
    session: async () => undefined,
    drain: () => listens.drain(),
    close: () => tasks.close(),
  }
}

/** The codes from -32000 to -32099 are the spec's: of those only its own go out (F-11, F-12, Q-42). */
function legalError(error: McpError): McpError | undefined {
  const { code, message, data } = error
  if (code === REVISIONS['2025-11-25'].resourceNotFound) return new McpError(CODE.invalidParams, message, data)
  const isReserved = code <= -32000 && code >= -32099
  return !isReserved || code === CODE.missingCapability ? error : undefined
}

function disconnected(): DOMException {
  return new DOMException('the client has disconnected', 'AbortError')
}

function declaresTasks({ extensions }: Readonly<Record<string, unknown>>): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION])
}

/** Is it a request that only a client with tasks may make (K-15)? */
function wantsTasks({ method, params }: JsonRpcRequest): boolean {
  if (method === 'subscriptions/listen')
    return isObject(params?.notifications) && params.notifications.taskIds !== undefined
  return method.startsWith('tasks/')
}

/** `clientInfo` is for display alone and never refused. */
function clientOf(meta: Params): Context['client'] {
  const info = meta[META.clientInfo]
  const capabilities = meta[META.clientCapabilities] as Params
  return isObject(info) && typeof info.name === 'string' && typeof info.version === 'string'
    ? { info: info as { name: string; version: string }, capabilities }
    : { capabilities }
}
