// The way in, before anything is read: Host, Origin, CORS, verb, Content-Type, Accept.

import type { Exchange, Forms, Reply } from './exchange.ts'
import type { Settings } from './options.ts'
import type { Refusal } from './refusals.ts'
import * as REFUSE from './refusals.ts'

export interface Edge {
  /** Host and Origin (N-01, N-02). */
  check(exchange: Exchange): Refusal | undefined
  /** The answer to OPTIONS: a CORS preflight where CORS is on. */
  preflight(exchange: Exchange, allow: string): Reply
  /** The CORS headers of this exchange's answer. */
  cors(exchange: Exchange): Readonly<Record<string, string>> | undefined
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const EXPOSED = 'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate'
const PREFLIGHT_AGE_SECONDS = '600'
/** Values that passed, remembered so that they are parsed once. Bounded, since clients choose them. */
const REMEMBERED = 256

/** Answers from memory for what was asked before. */
function remember<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    let value = known.get(text)
    if (value === undefined) {
      value = make(text)
      if (known.size >= REMEMBERED) known.clear()
      known.set(text, value)
    }
    return value
  }
}

/** Name and port of a Host header or an authority, in lower case; undefined: not one. */
function parseHost(text: string): { name: string; port: string } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/.exec(text.toLowerCase())
  return match ? { name: match[1]!, port: match[2] ?? '' } : undefined
}

function hostCheck(hosts: Settings['hosts']): (host: string) => boolean {
  if (hosts === 'any') return () => true
  const listed = hosts?.map((entry) => {
    const host = parseHost(entry)
    if (!host) throw new TypeError(`createTransport: option hosts: ${JSON.stringify(entry)} is not a host name`)
    return host
  })
  return (text) => {
    const host = parseHost(text)
    if (!host) return false
    // An entry without a port means any port.
    return listed
      ? listed.some(({ name, port }) => name === host.name && (port === '' || port === host.port))
      : LOOPBACK.has(host.name)
  }
}

function originCheck(origins: Settings['origins']): (origin: string) => boolean {
  if (origins === 'any') return () => true
  const listed = origins?.map((entry) => {
    const origin = entry === 'null' ? 'null' : wholeOrigin(entry)?.origin
    if (!origin || (origin === 'null' && entry !== 'null')) {
      throw new TypeError(
        `createTransport: option origins: ${JSON.stringify(entry)} is not an origin like https://app.example`,
      )
    }
    return origin
  })
  return (text) => {
    if (listed) return listed.includes(text === 'null' ? 'null' : (wholeOrigin(text)?.origin ?? ''))
    const url = wholeOrigin(text)
    return url !== undefined && /^https?:$/.test(url.protocol) && LOOPBACK.has(url.hostname)
  }
}

/** An origin and nothing more: user names, paths and the like make it another text than its own origin. */
function wholeOrigin(text: string): URL | undefined {
  const url = URL.parse(text)
  return url && url.origin === text.toLowerCase().replace(/:(?:80|443)$/, (port) => (url.port === '' ? '' : port))
    ? url
    : undefined
}

export function createEdge(settings: Settings): Edge {
  const hostAllowed = remember(hostCheck(settings.hosts))
  const originAllowed = remember(originCheck(settings.origins))

  return {
    check(exchange) {
      const host = exchange.header('host') ?? authority(exchange.url)
      if (!hostAllowed(host)) return REFUSE.host(host)
      const origin = exchange.header('origin')
      return origin === undefined || originAllowed(origin) ? undefined : REFUSE.origin(origin)
    },
    preflight(exchange, allow) {
      const asked = exchange.header('access-control-request-headers')
      const cors = this.cors(exchange)
      if (!cors) return { status: 204, headers: { allow } }
      return {
        status: 204,
        headers: {
          allow,
          'access-control-allow-methods': allow,
          // Mcp-Param-* can't be listed, so what is asked for is allowed by name.
          ...(asked === undefined ? {} : { 'access-control-allow-headers': asked }),
          'access-control-max-age': PREFLIGHT_AGE_SECONDS,
        },
      }
    },
    cors(exchange): Readonly<Record<string, string>> | undefined {
      if (!settings.cors) return undefined
      const origin = exchange.header('origin')
      if (origin === undefined || !originAllowed(origin)) return { vary: 'Origin' }
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': EXPOSED,
        vary: exchange.method === 'OPTIONS' ? 'Origin, Access-Control-Request-Headers' : 'Origin',
      }
    },
  }
}

function authority(url: string): string {
  return URL.parse(url)?.host ?? ''
}

/** Type and subtype only, in any case (S28). */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType !== undefined && contentType.split(';', 1)[0]!.trim().toLowerCase() === 'application/json'
}

const BOTH: Forms = { json: true, sse: true }

/** Which forms an Accept header allows, by q-values, the most specific range first (S27). Absent: both. */
export function acceptedForms(accept: string | undefined): Forms {
  return accept === undefined ? BOTH : parseAccept(accept)
}

const parseAccept = remember((accept: string): Forms => {
  const ranges = accept.split(',').flatMap((part) => {
    const [type, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    if (!type) return []
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return [{ type, q: q === undefined ? 1 : Number(q.slice(2)) }]
  })
  if (ranges.length === 0) return BOTH
  const takes = (type: string) => {
    for (const range of [type, `${type.split('/', 1)[0]}/*`, '*/*']) {
      const match = ranges.find((one) => one.type === range)
      if (match) return match.q > 0
    }
    return false
  }
  return { json: takes('application/json'), sse: takes('text/event-stream') }
})
