// Every option of a transport: default, unit and check; and the hooks that watch one.
import * as v from 'valibot'
import { isVersion, type ProtocolVersion, VERSIONS } from './protocol.ts'
import type { Awaitable, Principal, Session } from './server.ts'
import type { Store } from './store.ts'

/** Says who a request is from. */
export interface Auth {
  /** Runs before the body is read, on every verb. A Response passes through, with CORS added. */
  authenticate(request: Request): Awaitable<Principal | Response>
  /** The 403 for missing scopes. */
  challenge?(request: Request, scopes: readonly string[]): Response
  /** Answers the well-known metadata URLs; undefined: not one of them. */
  wellKnown?(request: Request): Response | undefined
}

/** Watches a transport. What a hook throws is reported to `onError` and changes nothing. */
export interface Observer {
  request?(event: { method: string; version: ProtocolVersion; name?: string; ms: number; error?: number }): void
  session?(event: { id: string; state: 'start' | 'end' }): void
  stream?(event: { state: 'open' | 'resume' | 'overflow' | 'close' }): void
  store?(event: { call: string; ms: number; failed: boolean }): void
}

export type OnError = (error: unknown, where: { phase: string; method?: string; sessionId?: string }) => void

export interface TransportOptions<C = unknown, P = unknown> {
  /** Where all state is kept. Default: `memoryStore()`, for one process. */
  store?: Store
  /** None: everyone is served. */
  auth?: Auth | Auth['authenticate']
  /** Makes `ctx.context` for each request; never stored. */
  context?: (request: Request, info: { principal: Principal | undefined; platform: P }) => Awaitable<C>
  /** Default: all. */
  versions?: readonly ProtocolVersion[]
  /**
   * Legacy sessions; `false` serves legacy clients without state.
   * `required` (true): requests without a session are refused. `ttlMs` (3,600,000): slides with use.
   * `max` (10,000): sessions that this node starts and keeps track of.
   */
  sessions?: false | { required?: boolean; ttlMs?: number; max?: number }
  onSessionStart?: (session: Session, request: Request) => Awaitable<void>
  onSessionEnd?: (session: { id: string }, reason: 'deleted' | 'expired' | 'evicted' | 'closed') => Awaitable<void>
  /** auto: JSON unless something is sent before the answer or the answer takes long; json and sse: always that form. */
  response?: 'auto' | 'json' | 'sse'
  /**
   * `keepAliveMs` (15,000): a comment on every open stream; 0: none. `streamAfterMs` (100): a call that takes longer
   * is answered by a stream. `maxBytes` (1 MiB): waiting for one connection, and kept of one stream. `maxEvents`
   * (1,000) and `maxAgeMs` (300,000): kept of one stream. `pingMs` (0: none) and `pingTimeoutMs` (10,000): MCP pings
   * on standalone streams.
   */
  streams?: {
    keepAliveMs?: number
    streamAfterMs?: number
    maxBytes?: number
    maxEvents?: number
    maxAgeMs?: number
    pingMs?: number
    pingTimeoutMs?: number
  }
  /** Exact lists. Default: loopback names only. `'any'` says that something in front checks. */
  hosts?: readonly string[] | 'any'
  origins?: readonly string[] | 'any'
  /** CORS for the allowed origins. Default: false. */
  cors?: boolean
  /**
   * `bodyBytes` (4 MiB), `batch` (100 members), `jsonDepth` (64 levels), `inFlight` (10,000 requests on this node),
   * `listens` (10,000 on this node), `tasksPerPrincipal` (100).
   */
  limits?: {
    bodyBytes?: number
    batch?: number
    jsonDepth?: number
    inFlight?: number
    listens?: number
    tasksPerPrincipal?: number
  }
  /** Seals requestState, each 32 bytes in base64url; the first seals, all open. Default: a ring made once and kept in the store. */
  stateKeys?: readonly string[]
  /** How long a node that is silent is thought alive. Default: 10,000 ms. */
  leaseMs?: number
  observer?: Observer
  /** Hears of what went wrong on the server; never given a body, key or token. Default: silent. */
  onError?: OnError
}

/** The options with their defaults. */
export interface Settings {
  auth: Auth | undefined
  context:
    | ((request: Request, info: { principal: Principal | undefined; platform: unknown }) => Awaitable<unknown>)
    | undefined
  versions: readonly ProtocolVersion[]
  sessions: false | { required: boolean; ttlMs: number; max: number }
  onSessionStart: TransportOptions['onSessionStart']
  onSessionEnd: TransportOptions['onSessionEnd']
  response: 'auto' | 'json' | 'sse'
  streams: Required<NonNullable<TransportOptions['streams']>>
  hosts: readonly string[] | 'any' | undefined
  origins: readonly string[] | 'any' | undefined
  cors: boolean
  limits: Required<NonNullable<TransportOptions['limits']>>
  stateKeys: readonly string[] | undefined
  leaseMs: number
  observer: Observer
  onError: OnError
}

/** 32 bytes: 43 characters, of which the last has two bits to spare. */
const STATE_KEY = /^[\w-]{42}[AEIMQUYcgkosw048]$/

const ms = (byDefault: number, min = 1) =>
  v.optional(
    v.pipe(v.number(), v.integer('must be a whole number of ms'), v.minValue(min, `must be at least ${min} ms`)),
    byDefault,
  )
const count = (byDefault: number, min = 1) =>
  v.optional(
    v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(min, `must be at least ${min}`)),
    byDefault,
  )
const fn = v.custom<never>((value) => typeof value === 'function', 'must be a function')
const list = v.pipe(v.array(v.pipe(v.string(), v.nonEmpty('must not be empty'))), v.readonly())
const names = v.optional(v.union([v.literal('any'), list], "must be a list of names, or 'any'"))

function isObserver(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { request, session, stream, store } = value as Observer
  return [request, session, stream, store].every((hook) => hook === undefined || typeof hook === 'function')
}

const schema = v.strictObject({
  store: v.optional(
    v.custom<Store>((value) => typeof value === 'object' && value !== null && 'kv' in value, 'must be a Store'),
  ),
  auth: v.optional(
    v.custom<Auth | Auth['authenticate']>(
      (value) => typeof value === 'function' || typeof (value as Auth)?.authenticate === 'function',
      'must be a function, or an object with authenticate',
    ),
  ),
  context: v.optional(fn),
  versions: v.optional(
    v.pipe(
      v.array(v.custom<ProtocolVersion>(isVersion, `must be of ${VERSIONS.join(', ')}`)),
      v.nonEmpty('must name one at least'),
    ),
    [...VERSIONS],
  ),
  sessions: v.optional(
    v.union(
      [
        v.literal(false),
        v.strictObject({ required: v.optional(v.boolean(), true), ttlMs: ms(3_600_000), max: count(10_000) }),
      ],
      'must be false, or { required, ttlMs, max } with whole numbers above 0',
    ),
    {},
  ),
  onSessionStart: v.optional(fn),
  onSessionEnd: v.optional(fn),
  response: v.optional(v.picklist(['auto', 'json', 'sse'], "must be 'auto', 'json' or 'sse'"), 'auto'),
  streams: v.optional(
    v.strictObject({
      keepAliveMs: ms(15_000, 0),
      streamAfterMs: ms(100, 0),
      maxBytes: count(1024 * 1024),
      maxEvents: count(1000),
      maxAgeMs: ms(300_000),
      pingMs: ms(0, 0),
      pingTimeoutMs: ms(10_000),
    }),
    {},
  ),
  hosts: names,
  origins: names,
  cors: v.optional(v.boolean(), false),
  limits: v.optional(
    v.strictObject({
      bodyBytes: count(4 * 1024 * 1024),
      batch: count(100),
      jsonDepth: count(64),
      inFlight: count(10_000),
      listens: count(10_000),
      tasksPerPrincipal: count(100),
    }),
    {},
  ),
  stateKeys: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.regex(STATE_KEY, 'must be 32 bytes in base64url'))),
      v.nonEmpty('must name one at least'),
    ),
  ),
  leaseMs: ms(10_000),
  observer: v.optional(v.custom<Observer>(isObserver, 'must be an object of functions'), {}),
  onError: v.optional(fn),
})

/** Checks and completes the options. Throws a TypeError that names the option. */
export function resolveOptions(options: unknown): Settings & { store: Store | undefined } {
  const checked = v.safeParse(schema, options, { abortEarly: true })
  if (!checked.success) {
    const [issue] = checked.issues
    throw new TypeError(`createTransport: option ${v.getDotPath(issue) ?? 'options'}: ${issue.message}`)
  }
  const { auth, versions, onError, ...rest } = checked.output
  return {
    ...(rest as unknown as Settings & { store: Store | undefined }),
    auth: typeof auth === 'function' ? { authenticate: auth } : auth,
    // Newest first, whatever the order in which they were given.
    versions: VERSIONS.filter((version) => versions.includes(version)),
    onError: (onError as OnError | undefined) ?? (() => {}),
  }
}
