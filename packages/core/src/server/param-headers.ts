// x-mcp-header: the arguments that headers mirror. Known at registration, so that even the first call is checked.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../schema.ts'
import type { Route } from '../server.ts'
import { isObject } from './checks.ts'
import { subschemas } from './json-schema.ts'

export type ParamHeaders = NonNullable<Route['paramHeaders']>

const MARK = 'x-mcp-header'
/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MARKABLE = new Set(['string', 'integer', 'boolean'])
/** What proxies and logs should not see (L-20). */
const SENSITIVE = /passw(?:or)?d|secret|token|api_?key|private_?key|credential|credit_?card|ssn/i

/** A schema of either kind, seen alike. */
interface Field {
  readonly mark: unknown
  readonly type: string | undefined
  readonly below: Iterable<{ schema: unknown; property?: string }>
}

/** Header name to path. Throws where a mark is not legal (L-18, L-19). undefined: there are none. */
export function paramHeadersOf(
  where: string,
  source: { json: JsonSchema } | { valibot: StandardSchemaV1 },
): ParamHeaders | undefined {
  const found = new Map<string, { name: string; path: readonly string[] }>()
  const look = 'json' in source ? jsonField : valibotField

  function visit(schema: unknown, path: readonly string[], isReachable: boolean): void {
    const { mark, type, below } = look(schema)
    if (mark !== undefined) {
      const at = `${where}: ${MARK} of ${path.join('.') || 'the root'}`
      if (!isReachable || path.length === 0) throw new TypeError(`${at}: it is not reached through properties alone`)
      if (typeof mark !== 'string' || !TOKEN.test(mark)) throw new TypeError(`${at}: it must be a header name`)
      if (!MARKABLE.has(type ?? '')) throw new TypeError(`${at}: only a string, an integer or a boolean can have it`)
      const key = mark.toLowerCase()
      if (found.has(key)) throw new TypeError(`${at}: ${mark} is used twice`)
      found.set(key, { name: mark, path })
    }
    for (const { schema: next, property } of below) {
      visit(next, property === undefined ? path : [...path, property], isReachable && property !== undefined)
    }
  }

  visit('json' in source ? source.json : source.valibot, [], true)
  if (found.size === 0) return undefined
  return Object.freeze(Object.fromEntries([...found.values()].map(({ name, path }) => [name, path])))
}

/** The paths that should not be mirrored (L-20). */
export function sensitivePaths(headers: ParamHeaders): string[] {
  return Object.values(headers)
    .filter((path) => SENSITIVE.test(path.at(-1)!))
    .map((path) => path.join('.'))
}

export function sameHeaders(a: ParamHeaders | undefined, b: ParamHeaders | undefined): boolean {
  return sorted(a) === sorted(b)
}

function sorted(headers: ParamHeaders = {}): string {
  return JSON.stringify(Object.entries(headers).sort())
}

function jsonField(schema: unknown): Field {
  const json = schema as JsonSchema
  return { mark: json[MARK], type: typeof json.type === 'string' ? json.type : undefined, below: subschemas(json) }
}

/** Wrappers around a schema that the JSON Schema shows no trace of. */
const UNSEEN = new Set<unknown>(['optional', 'exact_optional', 'undefinedable'])
/** Steps of a pipe from where on it is no longer the input that is described. */
const CHANGING = /^(?:(?:raw_)?transform|parse_json|to_\w+)$/

interface Node {
  kind?: unknown
  type?: unknown
  pipe?: unknown
  wrapped?: unknown
  entries?: unknown
  options?: unknown
  metadata?: unknown
  [key: string]: unknown
}

/** valibot's own shape: entries, pipes, wrappers; metadata and the rest are steps of a pipe. */
function valibotField(schema: unknown): Field {
  const node = schema as Node
  const steps = inputSteps(node)
  const { [MARK]: own } = Object.assign({}, ...steps.map(({ type, metadata }) => (type === 'metadata' ? metadata : {})))
  if (UNSEEN.has(node.type) && isObject(node.wrapped)) {
    const inner = valibotField(node.wrapped)
    return { ...inner, mark: own ?? inner.mark }
  }
  const isInteger = steps.some(({ type }) => type === 'integer' || type === 'safe_integer')
  return { mark: own, type: node.type === 'number' && isInteger ? 'integer' : typeOf(node), below: valibotBelow(node) }
}

/** The flat pipe up to where the input ends, without the schema that it starts with. */
function inputSteps(node: Node): Node[] {
  const flat = flatten(node)
  const end = flat.findIndex(
    ({ kind, type }, i) => i > 0 && (kind === 'schema' || (kind === 'transformation' && CHANGING.test(String(type)))),
  )
  return flat.slice(1, end === -1 ? undefined : end)
}

function flatten({ pipe, ...node }: Node): Node[] {
  return Array.isArray(pipe) ? (pipe as Node[]).flatMap(flatten) : [node]
}

function typeOf({ type, options }: Node): string | undefined {
  const isChoice = type === 'picklist' || type === 'enum'
  if (isChoice) return (options as unknown[]).every((option) => typeof option === 'string') ? 'string' : undefined
  return typeof type === 'string' ? type : undefined
}

/** Not what is lazy: it may not be there yet. A mark in it is found when the JSON Schema is made. */
function* valibotBelow({ entries, wrapped, item, items, rest, key, value, options }: Node): Field['below'] {
  if (isObject(entries)) for (const [name, entry] of Object.entries(entries)) yield { schema: entry, property: name }
  for (const schema of [wrapped, item, items, rest, key, value, options].flat()) {
    if (isObject(schema) && schema.kind === 'schema') yield { schema }
  }
}
