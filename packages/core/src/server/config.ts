// What is given when tools, resources and prompts are registered.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../schema.ts'
import type { Awaitable, Content, Context, Result, ServerInfo, ToolAnnotations, ToolResult } from '../server.ts'

/** Any Standard Schema that has a JSON Schema; or a plain JSON Schema, where the server was given a validator. */
export type Schema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema
export type Out<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends JsonSchema
    ? Record<string, unknown>
    : Record<string, never>
/** The variables of an RFC 6570 template, from its text: `note://{id}` has `{ id: string }`. */
export type Variables<T extends string> = T extends `${string}{${infer V}}${infer Rest}`
  ? { [K in V as Name<K>]: string } & Variables<Rest>
  : unknown
/** `+path` and `#path` are the variable `path`. */
type Name<V extends string> = V extends `${'+' | '#'}${infer N}` ? N : V

/** An icon for clients to show: an https URL or a data URI (2025-11-25 and later). */
export interface Icon {
  src: string
  mimeType?: string
  sizes?: string[]
  theme?: 'light' | 'dark'
}

/** For whom something is, and how much it matters. */
export interface Annotations {
  audience?: readonly ('user' | 'assistant')[]
  /** 0 to 1. */
  priority?: number
  /** ISO 8601. */
  lastModified?: string
}

/** How long a client may keep a result (2026-07-28). Default: `{ ttlMs: 0, scope: 'private' }`. */
export interface Cache {
  ttlMs: number
  /** `public` only for what is the same for every caller. */
  scope: 'public' | 'private'
}

interface Described {
  title?: string
  description?: string
  icons?: readonly Icon[]
  _meta?: Readonly<Record<string, unknown>>
}

export interface ToolConfig<I, O> extends Described {
  /** Of the arguments: an object. Default: no arguments. */
  inputSchema?: I
  /** Of `structuredContent`. */
  outputSchema?: O
  annotations?: ToolAnnotations
  /** Scopes the principal must hold; checked before the first byte. */
  scopes?: readonly string[]
  /** Client capabilities without which the tool cannot work; checked before the handler (-32021). */
  requires?: readonly ('elicitation' | 'sampling' | 'roots')[]
  /** Runs as a task where the client has the tasks extension; `required` refuses the others. */
  task?: 'optional' | 'required' | TaskConfig
}

export interface TaskConfig {
  support: 'optional' | 'required'
  /** `manual`: the handler asks first and calls `ctx.startTask()` itself. Default: `at-once`. */
  start?: 'at-once' | 'manual'
  /** `safe`: may be run again from the top when its node dies. Default: `never`, it fails with an error. */
  restart?: 'never' | 'safe'
  /** From its creation. Default: 3,600,000. */
  ttlMs?: number
  /** Default: 1,000. */
  pollIntervalMs?: number
}

/** With an outputSchema: its value, or a whole result that has `structuredContent`. Without: text, content or a whole result. */
export type ToolReturn<O> = O extends Schema
  ? Out<O> | (ToolResult & { structuredContent: Out<O> })
  : string | Content | Content[] | ToolResult | void

export type Complete = (
  value: string,
  ctx: Context,
  /** The other arguments, as far as the client has them (2025-06-18 and later). */
  others?: Readonly<Record<string, string>>,
) => Awaitable<readonly string[]>

export interface ResourceConfig<V> extends Described {
  /** Default: the URI. */
  name?: string
  mimeType?: string
  /** Bytes, if known. */
  size?: number
  annotations?: Annotations
  cache?: Cache
  /** Templates only: what `resources/list` shows of it. */
  list?: (ctx: Context) => Awaitable<readonly { uri: string; name: string }[]>
  complete?: { [K in keyof V]?: Complete }
}

/** Text, bytes, or several contents. */
export type ResourceReturn =
  | string
  | Uint8Array
  | readonly { uri: string; mimeType?: string; text?: string; blob?: string }[]

export interface PromptConfig<A> extends Described {
  argsSchema?: A
  complete?: { [K in keyof Out<A>]?: Complete }
}

export type PromptReturn = string | readonly { role: 'user' | 'assistant'; content: Content }[]

export interface Registration {
  enable(): void
  disable(): void
  remove(): void
}

export type Middleware<C> = (
  call: { method: string; params: unknown; ctx: Context<C> },
  next: () => Promise<Result>,
) => Awaitable<Result>

/** Makes the check of a plain JSON Schema: `undefined` for a value that fits, else what is wrong with it. */
export type Validator = (schema: JsonSchema) => (value: unknown) => string | undefined

export interface McpServerOptions extends ServerInfo {
  /** For the model: how to use this server. */
  instructions?: string
  description?: string
  icons?: readonly Icon[]
  /** Items in a page of a listing. Default: all in one. */
  pageSize?: number
  /** Of the listings. Default: `{ ttlMs: 0, scope: 'private' }`. */
  cache?: Cache
  /** Declares logging, so that `ctx.log` reaches clients that want it. Default: true. */
  logging?: boolean
  /** For plain JSON Schemas. */
  validator?: Validator
}
