// Puts the wire check under the core: the exchanges of every transport of a test are watched, by either face.
import type * as ExchangeModule from '../src/exchange.ts'
import type { Exchange, Reply, Stream } from '../src/exchange.ts'
import type * as TransportModule from '../src/transport.ts'
import { type Answered, checkJson, FrameCheck, fail, type Message, REVISIONS, type Revision } from './wire.ts'

/** The bodies that were read, by their exchange. */
const bodies = new WeakMap<Exchange, unknown>()
/** The negotiated revision of each session, and the methods of its requests by their ids, for streams that are resumed. */
const sessions = new Map<string, { revision: Revision; methods: Map<unknown, string> }>()

/** `exchange.ts` with its web face watched. */
export function watchedWeb(original: typeof ExchangeModule): typeof ExchangeModule {
  class WebExchange extends original.WebExchange {
    constructor(request: Request, platform: unknown) {
      super(request, platform)
      watch(this)
    }
  }
  const toResponse: typeof original.toResponse = (reply, exchange) =>
    original.toResponse(checkedReply(reply, exchange), exchange)
  return { ...original, WebExchange, toResponse }
}

/** `transport.ts` with its plain face watched. */
export function watchedPlain(original: typeof TransportModule): typeof TransportModule {
  const plainFace: typeof original.plainFace = (transport) => {
    const face = original.plainFace(transport)
    return async (exchange) => {
      watch(exchange)
      return checkedReply(await face(exchange), exchange)
    }
  }
  return { ...original, plainFace }
}

/** Remembers the body when the core reads it. */
function watch(exchange: Exchange): void {
  const read = exchange.body.bind(exchange)
  exchange.body = (limit) => {
    const body = read(limit)
    const keep = (known: Awaited<typeof body>) => {
      if ('parsed' in known) bodies.set(exchange, known.parsed)
      if ('text' in known) bodies.set(exchange, parse(known.text))
      return known
    }
    return body instanceof Promise ? body.then(keep) : keep(body)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checkedReply(reply: Reply, exchange: Exchange): Reply {
  if ('response' in reply || reply.body === undefined) return reply // what the app itself answers is its own
  const { headers, body } = reply
  const request = requestOf(exchange)
  const revision = revisionOf(exchange, request)
  const answered = answeredBy(request)
  if (typeof body === 'string') {
    const type = headers['content-type']
    if (type === 'application/json') {
      const negotiated = request?.method === 'initialize' ? learn(headers, body) : undefined
      checkJson(negotiated ?? revision, body, answered)
    } else if (type === 'text/event-stream') new FrameCheck(() => revision, answered).write(body)
    else if (body !== '') fail(`a body of type ${type}: ${body.slice(0, 200)}`)
    return reply
  }
  const frames = new FrameCheck(() => revision, answered)
  return { ...reply, body: watchedStream(body, frames) }
}

function watchedStream(stream: Stream, frames: FrameCheck): Stream {
  return {
    opened: (sink) =>
      stream.opened({
        get pending() {
          return sink.pending
        },
        write(text, taken) {
          frames.write(text)
          sink.write(text, taken)
        },
        end: () => sink.end(),
      }),
    closed: () => stream.closed(),
  }
}

/** The request of a body that holds exactly one, valid or not. */
function requestOf(exchange: Exchange): Message | undefined {
  const body = bodies.get(exchange)
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Message) : undefined
}

function answeredBy(request: Message | undefined): Answered | undefined {
  if (!request) return undefined
  const { id, method } = request
  return {
    ...(typeof id === 'string' || Number.isSafeInteger(id) ? { id } : {}),
    ...(typeof method === 'string' ? { method } : {}),
  }
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** Modern by the body's own `_meta`, else the session's, else the header's, else the oldest (B-14). */
function revisionOf(exchange: Exchange, request: Message | undefined): Revision {
  const meta = (request?.params as { _meta?: Message } | undefined)?._meta
  const header = exchange.header('mcp-protocol-version')
  if (typeof meta === 'object' && meta !== null && VERSION_KEY in meta) return '2026-07-28'
  if (header === '2026-07-28' && request?.method !== 'initialize') return header
  const session = sessions.get(exchange.header('mcp-session-id') ?? '')
  if (session) {
    if (request?.id !== undefined) session.methods.set(request.id, String(request.method))
    return session.revision
  }
  return REVISIONS.find((revision) => revision === header && revision !== '2026-07-28') ?? '2025-03-26'
}

/** The revision that an initialize was answered with, and of the session that it made. */
function learn(headers: Readonly<Record<string, string>>, body: string): Revision | undefined {
  const result = (parse(body) as { result?: { protocolVersion?: unknown } } | undefined)?.result
  const revision = REVISIONS.find((one) => one === result?.protocolVersion)
  if (result && !revision) fail(`initialize was answered with the version ${result.protocolVersion}`)
  const id = headers['mcp-session-id']
  if (revision && id) sessions.set(id, { revision, methods: new Map() })
  return revision
}
