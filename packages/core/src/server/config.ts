// What is given when a server is made, and when tools, resources and prompts are registered.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../schema.ts'
import type { Awaitable, Context, ListKind, Result, ServerInfo, ToolAnnotations, ToolResult } from '../server.ts'

/** Any Standard Schema that has a JSON Schema; or a plain JSON Schema, where the server was given a `validator`. */
export type Schema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema

/** What a handler is given for a schema. A plain JSON Schema says nothing of its properties' types. */
export type Out<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends JsonSchema
    ? Record<string, unknown>
    : Record<string, never>

/**
 * The variables of an RFC 6570 template, from its text: `note://{folder}/{id}` has `{ folder: string; id: string }`.
 * Those of `{?a,b}`, `{&a}` and `{;a}` may be missing from a URI.
 */
export type Variables<T extends string> = T extends `${string}{${infer E}}${infer Rest}`
  ? OfExpression<E> & Variables<Rest>
  : unknown
type OfExpression<E extends string> = E extends `${'?' | '&' | ';'}${infer Names}`
  ? { [K in NamesOf<Names>]?: string }
  : E extends `${'+' | '#' | '.' | '/'}${infer Names}`
    ? { [K in NamesOf<Names>]: string }
    : { [K in NamesOf<E>]: string }
type NamesOf<N extends string> = N extends `${infer First},${infer Rest}` ? First | NamesOf<Rest> : N

/** An icon for clients to show (2025-11-25 and later). */
export interface Icon {
  /** An https URL, or a data URI of an image. */
  src: string
  mimeType?: string
  /** `48x48`, or `any`. */
  sizes?: string[]
  theme?: 'light' | 'dark'
}

/** For whom something is, and how much it matters. */
export interface Annotations {
  audience?: readonly ('user' | 'assistant')[]
  /** 0 to 1. */
  priority?: number
  /** ISO 8601 (2025-06-18 and later). */
  lastModified?: string
}

/** How long a client may keep a result (2026-07-28). Default: `{ ttlMs: 0, scope: 'private' }`. */
export interface Cache {
  ttlMs: number
  /** `public` only for what is the same for every caller. */
  scope: 'public' | 'private'
}

/** Keys have the grammar of the spec, and none of its own prefixes (2025-06-18 and later). */
export type Meta = Readonly<Record<string, unknown>>

interface Described {
  /** For people; the name is for programs (2025-06-18 and later). */
  title?: string
  description?: string
  icons?: readonly Icon[]
  _meta?: Meta
}

// Content, as a handler gives it -------------------------------------------------------------------------------------

interface Extras {
  annotations?: Annotations
  _meta?: Meta
}

/** What a resource holds: text, or bytes (a `blob` that is text is base64 already). */
export interface ResourceContents {
  uri: string
  mimeType?: string
  text?: string
  blob?: string | Uint8Array
  _meta?: Meta
}

export type TextInput = Extras & { type: 'text'; text: string }
/** `data` that is text is base64 already. */
export type MediaInput = Extras & { type: 'image' | 'audio'; data: string | Uint8Array; mimeType: string }
export type EmbeddedInput = Extras & { type: 'resource'; resource: ResourceContents }
/** A resource by its URI; clients of 2025-03-26 get a text in its place. */
export type LinkInput = Extras &
  Omit<Described, '_meta'> & { type: 'resource_link'; uri: string; name: string; mimeType?: string; size?: number }

/** Content of a tool or prompt. What the client's revision does not know of it is left out. */
export type ContentInput = TextInput | MediaInput | EmbeddedInput | LinkInput

export type ToolResultInput = Omit<ToolResult, 'content'> & { content: readonly ContentInput[] }

// Tools --------------------------------------------------------------------------------------------------------------

export interface ToolConfig<I, O> extends Described {
  /** Of the arguments: an object. Default: no arguments. */
  inputSchema?: I
  /** Of `structuredContent`. Revisions before 2026-07-28 are shown it only if its root is an object. */
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

/**
 * With an outputSchema: its value, a whole result that has `structuredContent`, or one that is an error.
 * Without: text, content or a whole result.
 */
export type ToolReturn<O> =
  | ((string | ContentInput | readonly ContentInput[] | ToolResultInput | void) & Without<O>)
  | (O extends Schema ? Out<O> : never)
  | (ToolResultInput & { structuredContent: Out<O> } & With<O>)
  | (ToolResultInput & { isError: true } & With<O>)
  | (Literal & Without<O> & With<O>)
type With<O> = O extends Schema ? unknown : never
type Without<O> = O extends Schema ? never : unknown
/** Nothing is one; but where a literal may stand, TypeScript does not widen `'ok'` to a string before it knows `O`. */
type Literal = '' | 0 | true | Literal[] | { [key: string]: Literal }

// Resources ----------------------------------------------------------------------------------------------------------

export type Complete = (
  value: string,
  ctx: Context,
  /** The other arguments, as far as the client has them (2025-06-18 and later). */
  others?: Readonly<Record<string, string>>,
) => Awaitable<readonly string[]>

/** One of the resources of a template, for `resources/list`. */
export interface ListedResource extends Described {
  uri: string
  name: string
  mimeType?: string
  size?: number
  annotations?: Annotations
}

export interface ResourceConfig<V> extends Described {
  /** Default: the URI. */
  name?: string
  mimeType?: string
  /** Bytes, if known; not for templates. */
  size?: number
  annotations?: Annotations
  /** Of what is read. Default: `{ ttlMs: 0, scope: 'private' }`. */
  cache?: Cache
  /** Templates only: what `resources/list` shows of it. */
  list?: (ctx: Context) => Awaitable<readonly ListedResource[]>
  /** Templates only: suggestions for its variables. */
  complete?: { [K in keyof V]?: Complete }
}

/** Text, bytes, or contents; undefined, or no contents: there is no such resource. */
export type ResourceReturn = string | Uint8Array | readonly ResourceContents[] | undefined

// Prompts ------------------------------------------------------------------------------------------------------------

export interface PromptConfig<A> extends Described {
  /** Of the arguments: an object of texts. Default: no arguments. */
  argsSchema?: A
  complete?: { [K in keyof Out<A>]?: Complete }
}

export interface PromptMessage {
  role: 'user' | 'assistant'
  content: ContentInput
}

/** A text of the user, or messages. */
export type PromptReturn = string | readonly PromptMessage[]

// The server ---------------------------------------------------------------------------------------------------------

/** Of something that was registered. */
export interface Registration {
  enable(): void
  /** Hides it from the listings; calls of it fail as if it were not there. */
  disable(): void
  /** For good; its name is free again. */
  remove(): void
}

/** Runs around a method. `next()` gives the result of the next one, or rejects with the error that goes out. */
export type Middleware<C> = (
  call: { readonly method: string; readonly params: unknown; readonly ctx: Context<C> },
  next: () => Promise<Result>,
) => Awaitable<Result>

/** Makes the check of a plain JSON Schema: what is wrong with a value, or undefined if it fits. */
export type Validator = (schema: JsonSchema) => (value: unknown) => string | undefined

export interface McpServerOptions extends ServerInfo {
  /** For the model: how to use this server. */
  instructions?: string
  description?: string
  icons?: readonly Icon[]
  /** Items in a page of a listing. Default: 1,000. */
  pageSize?: number
  /** Of the listings. Default: `{ ttlMs: 0, scope: 'private' }`. */
  cache?: Cache
  /** Declares logging, so that `ctx.log` reaches clients that want it. Default: true. */
  logging?: boolean
  /**
   * Kinds that are declared though nothing is registered yet. Otherwise a kind is declared from its first
   * registration on; clients that came before that do not know of it.
   */
  declare?: readonly ListKind[]
  /** Extensions and their settings, by their prefixed ids (2026-07-28). */
  extensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** For plain JSON Schemas. */
  validator?: Validator
  /** Hears what is legal and unwise, at registration. Default: `console.warn`. */
  onWarning?: (text: string) => void
}
