// The Server interface: what a route says before dispatch and what a handler is given.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ProtocolVersion } from './protocol.ts'

export type Awaitable<T> = T | Promise<T>
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Who a request is from. `id` is stable over a token refresh and is never made of token bytes. */
export interface Principal {
  id: string
  scopes?: readonly string[]
  claims?: Readonly<Record<string, unknown>>
}

/** Change notifications, to the clients of every node that want them. */
export interface Notify {
  toolsChanged(): Promise<void>
  promptsChanged(): Promise<void>
  resourcesChanged(): Promise<void>
  resourceUpdated(uri: string): Promise<void>
}

/** A legacy session, on whichever node its streams are. */
export interface Session {
  readonly id: string
  readonly principal?: Principal
  /** The app's own values, shared by all nodes, gone with the session. */
  get<T extends Json>(key: string): Promise<T | undefined>
  set(key: string, value: Json): Promise<void>
  send(method: string, params?: Json): Promise<'delivered' | 'kept' | 'gone'>
  /** A request to the client outside any call. */
  request(method: string, params?: Json, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Json>
  end(): Promise<void>
}

export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'

export type Elicited<T> = { action: 'accept'; content: T } | { action: 'decline' } | { action: 'cancel' }

/** What a handler gets, in either era. */
export interface Context<C = unknown> {
  /** What the app's `context` option made for this request. */
  readonly context: C
  /** Fires when the call is cancelled in the way of its era. */
  readonly signal: AbortSignal
  readonly request: { readonly url: string; readonly headers: Headers }
  readonly era: 'legacy' | 'modern'
  readonly protocolVersion: ProtocolVersion
  readonly client: {
    readonly info?: { name: string; version: string }
    readonly capabilities: Readonly<Record<string, unknown>>
  }
  readonly principal?: Principal
  readonly session?: Session
  readonly notify: Notify
  /** Reaches the caller of this call alone; inside a task it is the task's status message. */
  progress(progress: number, total?: number, message?: string): Promise<void>
  log(level: LogLevel, data: Json): Promise<void>
  /** Asks the user, in either era. On 2026-07-28 the handler runs again from the top and the same key returns the answer. */
  elicit<S extends StandardSchemaV1<unknown, Record<string, unknown>>>(
    key: string,
    form: { message: string; schema: S },
  ): Promise<Elicited<StandardSchemaV1.InferOutput<S>>>
  elicit(key: string, link: { message: string; url: string }): Promise<Elicited<undefined>>
  sample(
    key: string,
    params: { messages: SamplingMessage[]; maxTokens: number; systemPrompt?: string },
  ): Promise<{ role: string; content: Content; model: string }>
  roots(key?: string): Promise<readonly { uri: string; name?: string }[]>
  /** Runs `fn` at most once for this call, however often the handler is run again; its result is kept. */
  once<T extends Json | void>(key: string, fn: () => Awaitable<T>): Promise<T>
  /** From here on the call is a task (`start: 'manual'`); no effect where the client has no tasks. */
  startTask(): Promise<void>
  /** 2025-11-25: hang up and let the client poll; no effect elsewhere. */
  closeStream(options?: { retryMs?: number }): Promise<void>
}

/** What every ctx of the transport is too: there a server tells `onError` of what it does not tell the client. */
export interface Reporter {
  report(error: unknown): void
}

/** What every ctx of the transport is too: messages as they are, for a server that was written for another transport. */
export interface RawContext {
  /** Log messages below it are not sent; undefined: none are. */
  readonly logLevel: LogLevel | undefined
  /**
   * A request to the client, in the way of its era: on a legacy session any method; on 2026-07-28 an ask named by
   * `key`. The result is the client's own, unchecked on a legacy session.
   */
  ask(key: string, method: string, params?: Json, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Json>
  /** A notification on the call's own stream; one that is a log message only if its level is wanted. */
  tell(method: string, params?: Json): void
}

/** Who a notification of a client is from. */
export type Sender = Pick<Context, 'client' | 'protocolVersion' | 'principal' | 'session' | 'notify'>

export type ListKind = 'tools' | 'prompts' | 'resources'

/** What answers methods: `McpServer`, `fromSdk()` or your own. */
export interface Server<C = unknown> {
  readonly info: ServerInfo
  /** Capabilities and instructions for a revision, with a fingerprint of each listing. */
  describe(version: ProtocolVersion): Description
  /** What must be known before dispatch; undefined: no such method, -32601. */
  route(method: string, params: unknown, version: ProtocolVersion): Route | undefined
  call(method: string, params: unknown, ctx: Context<C>): Awaitable<Result>
  onChange(listener: (kind: ListKind) => void): () => void
  /**
   * For a server that is not known at once: awaited before the first request, and before anything above is asked. A
   * rejection fails that request alone; the next one asks again.
   */
  ready?(): Promise<void>
  /** A notification of a legacy session, `notifications/cancelled` and those about asks excepted. */
  notified?(method: string, params: unknown, sender: Sender): Awaitable<void>
  /** A legacy session is over, as far as this node has heard. */
  ended?(sessionId: string): void
  /** The transport has closed. */
  close?(): Awaitable<void>
}

export interface Description {
  capabilities: Readonly<Record<string, unknown>>
  instructions?: string
  fingerprints: Readonly<Record<ListKind, string>>
}

export interface Route {
  /** The server makes its own rounds: `input_required` results, `inputResponses` and `requestState` are left as they are. */
  ownRounds?: boolean
  /** Header name to the path of the argument it mirrors: `{ Region: ['cfg', 'region'] }`. */
  paramHeaders?: Readonly<Record<string, readonly string[]>>
  scopes?: readonly string[]
  requires?: readonly string[]
  task?: {
    support: 'optional' | 'required'
    start: 'at-once' | 'manual'
    restart: 'never' | 'safe'
    ttlMs: number
    pollIntervalMs: number
  }
}

export interface ServerInfo {
  name: string
  version: string
  title?: string
  websiteUrl?: string
}

export type Result = { readonly [key: string]: unknown }

export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource_link'; uri: string; name: string }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }

export interface SamplingMessage {
  role: 'user' | 'assistant'
  content: Content
}

export interface ToolResult {
  content: Content[]
  structuredContent?: unknown
  isError?: boolean
  _meta?: Record<string, unknown>
}

export interface ToolAnnotations {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}
