// 2025-03-26 to 2025-11-25: handshake, sessions, batches, dispatch.
import { Answer, type Outlet } from '../answer.ts'
import { Call, type Wire } from '../calls.ts'
import { Connection } from '../connection.ts'
import { type Asks, CallContext, isLogLevel } from '../context.ts'
import { dispatch, missingCapabilities, missingScopes } from '../dispatch.ts'
import type { EraHandler, EraRow } from '../eras.ts'
import { CODE, McpError } from '../errors.ts'
import { ACCEPTED, type Arrival, JSON_HEADERS, type Reply, refuse } from '../exchange.ts'
import {
  errorText,
  isObject,
  isRequestId,
  type JsonRpcNotification,
  type JsonRpcRequest,
  parseMessage,
  resultText,
  toJson,
} from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { HEADER, infoFor, META, type ProtocolVersion, REVISIONS } from '../protocol.ts'
import type { Refusal } from '../refusals.ts'
import * as REFUSE from '../refusals.ts'
import type { Context, Result } from '../server.ts'
import { frame, SSE_HEADERS } from '../sse.ts'
import type { SessionRecord, SessionRef } from './session.ts'
import type { Cursor } from './standalone.ts'
import { createState, type State } from './state.ts'

export const legacy: EraRow = {
  name: 'legacy',
  claims: () => true,
  create: createLegacy,
}

const OLDEST: ProtocolVersion = '2025-03-26'
const CURSOR = /^(g|[\w-]{12})\.(\d{1,16})(?:\.(\d{1,16}))?$/

/** What a request without a session goes by, or the one that it named. */
interface Admission {
  readonly version: ProtocolVersion
  readonly client: Context['client']
  readonly ref?: SessionRef
  readonly record?: SessionRecord
}

const STATELESS: Context['client'] = { capabilities: {} }

function createLegacy(node: Node, versions: readonly ProtocolVersion[]): EraHandler {
  const { server, settings } = node
  const state: State | undefined = settings.sessions ? createState(node, settings.sessions) : undefined
  const required = settings.sessions !== false && settings.sessions.required
  const newest = versions[0]!

  const wire: Wire = {
    era: 'legacy',
    result: (_call, result) => toJson(withoutModern(result)),
    error: (error) => error,
    errorStatus: () => 200,
    asks: state?.asks.asks ?? STATELESS_ASKS,
  }

  /** The session that a request names, or the version that it goes by without one; or why it is refused. */
  async function admit({ exchange, principal }: Arrival): Promise<Admission | Refusal> {
    const sessionId = exchange.header(HEADER.session)
    const header = exchange.header(HEADER.version)
    const isServed = header === undefined || versions.includes(header as ProtocolVersion)
    if (!state || (sessionId === undefined && !required)) {
      if (!isServed) return REFUSE.version(header, settings.versions)
      return { version: (header as ProtocolVersion | undefined) ?? OLDEST, client: STATELESS }
    }
    if (sessionId === undefined) return REFUSE.sessionMissing
    if (sessionId.includes(',')) return REFUSE.sessionRepeated
    const ref = state.sessions.ref(sessionId, principal)
    const record = ref && (await state.sessions.find(ref))
    if (!record) return REFUSE.sessionUnknown
    // Any served version will do, the session's is used; 2025-03-26 knows no such header (P-03).
    if (!isServed && record.version !== OLDEST) return REFUSE.sessionVersion(versions)
    return { version: record.version, client: record.client, ref, record }
  }

  async function initialize({ id, params }: JsonRpcRequest, { exchange, principal }: Arrival): Promise<Reply> {
    if (typeof params?.protocolVersion !== 'string') {
      return answerJson(errorText(id, CODE.invalidParams, 'params.protocolVersion must be a string'))
    }
    const asked = params.protocolVersion as ProtocolVersion
    const version = versions.includes(asked) ? asked : newest
    const { capabilities, instructions, fingerprints } = server.describe(version)
    const text = resultText(
      id,
      toJson({
        protocolVersion: version,
        capabilities: state ? capabilities : withoutPush(capabilities),
        serverInfo: infoFor(server.info, version),
        ...(instructions === undefined ? {} : { instructions }),
      }),
    )
    if (!state) return answerJson(text)
    const ref = await state.start({ version, client: clientOf(params), listings: fingerprints }, principal)
    if (!ref) return refuse(REFUSE.busy, id)
    try {
      await settings.onSessionStart?.(state.sessionOf(ref), exchange.request())
    } catch (error) {
      await state.end(ref, 'closed')
      throw error
    }
    return answerJson(text, { [HEADER.session]: ref.id })
  }

  async function request(message: JsonRpcRequest, arrival: Arrival): Promise<Reply> {
    if (message.method === 'initialize') return initialize(message, arrival)
    const call: Call = new Call(
      node,
      wire,
      newest,
      message,
      arrival.exchange,
      new Answer(
        node,
        arrival.forms,
        () => outlet(call),
        () => state?.runsLong(call),
      ),
    )
    // Before any wait, so that a cancel that comes meanwhile finds it.
    node.calls.add(call, arrival.exchange.header(HEADER.session))
    try {
      const admission = await admit(arrival)
      if ('status' in admission) {
        node.calls.remove(call)
        return refuse(admission, message.id)
      }
      return run(call, admission, arrival)
    } catch (error) {
      node.calls.remove(call)
      throw error
    }
  }

  function run(call: Call, admission: Admission, { principal }: Arrival): Reply | Promise<Reply> {
    const { ref, record, version } = admission
    const { method, params } = call.message
    call.version = version
    call.client = admission.client
    call.principal = principal
    call.logLevel =
      server.describe(version).capabilities.logging === undefined ? undefined : (record?.logLevel ?? 'info')
    if (ref && record) {
      call.session = state!.sessionOf(ref)
      state!.listings.compare(ref, record, method)
    }
    if (call.answer.ended) return call.answer.reply()
    const own = OWN_METHODS[method]
    if (own) {
      own(call, admission).then(
        (result) => call.returned(result),
        (error) => call.failed(error),
      )
      return call.answer.reply()
    }
    const route = server.route(method, params ?? {}, version)
    if (!route) {
      call.failed(new McpError(CODE.methodNotFound, 'method not found'))
      return call.answer.reply()
    }
    const unscoped = missingScopes(call, route)
    if (unscoped) {
      node.calls.remove(call)
      return unscoped
    }
    const incapable = missingCapabilities(call, route)
    if (!incapable) {
      // A stream that was asked for starts with an id to resume from (D-06), so it starts at once.
      if (settings.response === 'sse' && ref && REVISIONS[version].priming) call.answer.stream()
      return dispatch(call)
    }
    call.failed(new McpError(CODE.invalidParams, incapable.message))
    return call.answer.reply()
  }

  /** The methods of the transport itself. */
  const OWN_METHODS: Readonly<
    Record<string, (call: Call, admission: Admission) => Promise<{ [key: string]: unknown }>>
  > = {
    __proto__: null as never,
    ping: async () => ({}),
    'logging/setLevel': async (call, { ref }) => {
      if (server.describe(call.version).capabilities.logging === undefined)
        throw new McpError(CODE.methodNotFound, 'method not found')
      const level = call.message.params?.level
      if (!isLogLevel(level)) throw new McpError(CODE.invalidParams, 'params.level must be a log level')
      await askServer(call)
      if (ref) await state!.sessions.update(ref, (record) => ({ ...record, logLevel: level }))
      return {}
    },
    'resources/subscribe': (call, { ref }) => subscribe(call, ref, true),
    'resources/unsubscribe': (call, { ref }) => subscribe(call, ref, false),
  }

  async function subscribe(call: Call, ref: SessionRef | undefined, on: boolean): Promise<{ [key: string]: unknown }> {
    const resources = server.describe(call.version).capabilities.resources as { subscribe?: boolean } | undefined
    if (!ref || !resources?.subscribe) throw new McpError(CODE.methodNotFound, 'method not found')
    const uri = call.message.params?.uri
    if (typeof uri !== 'string' || uri === '') throw new McpError(CODE.invalidParams, 'params.uri must be a string')
    await askServer(call)
    await state!.subscribe(ref, uri, on)
    return {}
  }

  /** A server that has a handler of its own for one of these has a say: what it throws is the answer. */
  async function askServer(call: Call): Promise<void> {
    const { method, params = {} } = call.message
    if (server.route(method, params, call.version)) await server.call(method, params, new CallContext(call))
  }

  async function notification({ method, params }: JsonRpcNotification, arrival: Arrival): Promise<Reply> {
    const admission = await admit(arrival)
    if ('status' in admission) return refuse(admission)
    await noted(method, params, admission)
    return ACCEPTED
  }

  async function noted(
    method: string,
    params: JsonRpcNotification['params'],
    { ref, client, version }: Admission,
  ): Promise<void> {
    if (!ref || !state) return
    if (method === 'notifications/initialized') {
      await state.sessions.update(ref, (record) => (record.ready ? undefined : { ...record, ready: true }))
    } else if (method === 'notifications/cancelled' && isRequestId(params?.requestId)) {
      const reason = typeof params.reason === 'string' ? params.reason : 'the client has cancelled the request'
      await state.members.cancel(ref, params.requestId, reason)
    }
    if (!server.notified || method === 'notifications/cancelled' || method === 'notifications/progress') return
    const { principal } = ref
    const session = state.sessionOf(ref)
    const sender = { client, protocolVersion: version, principal, session, notify: node.notify }
    const told = async () => server.notified!(method, params, sender)
    told().catch((error) => node.report(error, 'notified', method, ref.id))
  }

  /** A call's own stream. A client that leaves has not cancelled (B-08): the call runs on. */
  function outlet(call: Call): Outlet {
    const ref = state?.refOf(call)
    state?.runsLong(call)
    return ref ? state!.streams.open(call, ref) : directOutlet(node)
  }

  /** 2025-03-26: each member by itself; the answers together (A-07, Q-25, S31). */
  async function batch(members: unknown[], arrival: Arrival): Promise<Reply> {
    const admission = await admit(arrival)
    if ('status' in admission) return refuse(admission)
    if (!REVISIONS[admission.version].batches) return refuse(REFUSE.batch)
    if (members.length === 0) return refuse(REFUSE.emptyBatch)
    if (members.length > settings.limits.batch) return refuse(REFUSE.longBatch(settings.limits.batch))
    const parsed = members.map(parseMessage)
    if (parsed.some((one) => one.kind === 'request' && one.message.method === 'initialize')) {
      return refuse(REFUSE.initializeInBatch)
    }
    const answers = await Promise.all(
      parsed.map(async (member) => {
        switch (member.kind) {
          case 'request': {
            const reply = await request(member.message, { ...arrival, forms: { json: true, sse: false } })
            // The 403 of one member is no answer to the others.
            if ('response' in reply) return errorText(member.message.id, CODE.invalidRequest, 'a scope is missing')
            return typeof reply.body === 'string' && reply.body !== '' ? reply.body : undefined
          }
          case 'notification':
            await noted(member.message.method, member.message.params, admission)
            return undefined
          case 'response':
            if (admission.ref) await state?.asks.answered(admission.ref, member.message)
            return undefined
          case 'batch':
            return errorText(undefined, CODE.invalidRequest, 'a batch in a batch')
          case 'invalid':
            return errorText(member.id, member.code, member.text)
        }
      }),
    )
    const texts = answers.filter((text) => text !== undefined)
    if (texts.length === 0) return ACCEPTED
    if (arrival.forms.json) return answerJson(`[${texts.join(',')}]`)
    return { status: 200, headers: SSE_HEADERS, body: texts.map((text) => frame(text)).join('') }
  }

  async function get(arrival: Arrival, { ref, record }: Admission): Promise<Reply> {
    if (!arrival.forms.sse) return refuse(REFUSE.acceptStream)
    const lastEventId = arrival.exchange.header(HEADER.lastEventId)
    if (lastEventId === undefined || lastEventId === '') return state!.standalone.open(ref!, record!)
    const [, stream, n, e] = CURSOR.exec(lastEventId) ?? []
    if (stream === undefined || (stream === 'g') !== (e !== undefined)) return refuse(REFUSE.eventUnknown)
    const cursor: Cursor = { n: Number(n), e: Number(e) }
    if (stream === 'g') return state!.standalone.open(ref!, record!, cursor)
    return state!.streams.resume(ref!, stream, cursor.n)
  }

  return {
    verbs: state ? ['GET', 'DELETE'] : [],
    get sessions() {
      return state?.sessions.count ?? 0
    },
    async post(parsed, arrival) {
      switch (parsed.kind) {
        case 'request':
          return request(parsed.message, arrival)
        case 'notification':
          return notification(parsed.message, arrival)
        case 'response': {
          const admission = await admit(arrival)
          if ('status' in admission) return refuse(admission)
          if (admission.ref) await state?.asks.answered(admission.ref, parsed.message)
          return ACCEPTED
        }
        case 'batch':
          return batch(parsed.members, arrival)
        case 'invalid':
          return refuse(REFUSE.message(parsed.code, parsed.text), parsed.id)
      }
    },
    async verb(arrival) {
      const admission = await admit(arrival)
      if ('status' in admission) return refuse(admission)
      if (!admission.ref) return refuse(REFUSE.sessionMissing)
      if (arrival.exchange.method === 'GET') return get(arrival, admission)
      return (await state!.end(admission.ref, 'deleted')) ? { status: 204, headers: {} } : refuse(REFUSE.sessionUnknown)
    },
    decline(parsed) {
      return refuse(REFUSE.modernNotServed(versions), parsed.kind === 'request' ? parsed.message.id : undefined)
    },
    session: async (id) => state?.session(id),
    drain: () => state?.standalone.drain(),
    close: async () => state?.close(),
  }
}

/** Without a session there is nothing to resume, so no ids go out. */
function directOutlet(node: Node): Outlet {
  const connection = new Connection(node, () => {})
  return {
    reply: { status: 200, headers: SSE_HEADERS, body: connection },
    message: (json) => connection.write(frame(json)),
    end(json) {
      if (json !== undefined) connection.write(frame(json))
      connection.end()
    },
  }
}

async function noSession(what: string): Promise<never> {
  throw new Error(`ctx.${what}: without a session the client's answer can't come back`)
}

const STATELESS_ASKS: Asks = {
  elicit: () => noSession('elicit'),
  sample: () => noSession('sample'),
  roots: () => noSession('roots'),
  once: async (_call, _key, fn) => fn(),
  startTask: async () => {},
  closeStream: async () => {},
  ask: (_call, _key, method) => noSession(method),
}

function answerJson(body: string, headers?: Record<string, string>): Reply {
  return { status: 200, headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS, body }
}

/** What only 2026-07-28 knows is left out of a result that has it. */
function withoutModern(result: Result): Result {
  const { resultType, ttlMs, cacheScope, _meta } = result
  const hasInfo = isObject(_meta) && META.serverInfo in _meta
  if (resultType === undefined && ttlMs === undefined && cacheScope === undefined && !hasInfo) return result
  const { resultType: _, ttlMs: __, cacheScope: ___, ...rest } = result
  if (!hasInfo) return rest
  const { [META.serverInfo]: ____, ...meta } = _meta
  return { ...rest, _meta: meta }
}

function clientOf({ clientInfo, capabilities }: { [key: string]: unknown }): Context['client'] {
  const declared = isObject(capabilities) ? capabilities : {}
  return isObject(clientInfo) && typeof clientInfo.name === 'string' && typeof clientInfo.version === 'string'
    ? { info: { name: clientInfo.name, version: clientInfo.version }, capabilities: declared }
    : { capabilities: declared }
}

/** Without sessions there is no stream to push on, so nothing is declared that would need one. */
function withoutPush(capabilities: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(capabilities).map(([name, value]) => {
      if (!isObject(value)) return [name, value]
      const { listChanged: _, subscribe: __, ...rest } = value
      return [name, rest]
    }),
  )
}
