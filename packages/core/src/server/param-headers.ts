// x-mcp-header: the arguments that a header mirrors. Known at registration, without a JSON Schema of valibot.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from '../jsonrpc.ts'
import type { JsonSchema } from '../schema.ts'

export type ParamHeaders = Readonly<Record<string, readonly string[]>>

const MARK = 'x-mcp-header'
/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MARKABLE = new Set(['string', 'integer', 'boolean'])

/** One schema of either kind, seen alike. */
interface Field {
  mark: unknown
  type: string | undefined
  properties: [string, unknown][]
  /** Schemas below it that are no properties: a mark there can't be reached by a path. */
  others: unknown[]
}

/** Header name to path. Throws where a mark is not legal (L-18, L-19). undefined: there are none. */
export function paramHeadersOf(where: string, schema: StandardSchemaV1): ParamHeaders | undefined {
  const { vendor, jsonSchema } = schema['~standard'] as StandardSchemaV1.Props & {
    jsonSchema?: { input(options: { target: string }): JsonSchema }
  }
  const look = jsonSchema ? jsonField : vendor === 'valibot' ? valibotField : undefined
  if (!look) return undefined
  const found = new Map<string, { name: string; path: string[] }>()
  const root = jsonSchema ? jsonSchema.input({ target: 'draft-2020-12' }) : schema

  function visit(node: unknown, path: string[], isReachable: boolean): void {
    const { mark, type, properties, others } = look!(node)
    if (mark !== undefined) {
      const at = `${where}: ${MARK} of ${path.join('.') || 'the root'}`
      if (typeof mark !== 'string' || !TOKEN.test(mark)) throw new TypeError(`${at} must be a header name`)
      if (!isReachable || path.length === 0)
        throw new TypeError(`${at}: only what is reached through properties alone can have one`)
      if (!MARKABLE.has(type ?? '')) throw new TypeError(`${at}: only a string, an integer or a boolean can have one`)
      if (found.has(mark.toLowerCase())) throw new TypeError(`${at}: ${mark} is used twice`)
      found.set(mark.toLowerCase(), { name: mark, path })
    }
    for (const [name, property] of properties) visit(property, [...path, name], isReachable)
    for (const other of others) visit(other, path, false)
  }

  visit(root, [], true)
  return found.size === 0 ? undefined : Object.fromEntries([...found.values()].map(({ name, path }) => [name, path]))
}

const NOTHING: Field = { mark: undefined, type: undefined, properties: [], others: [] }

function jsonField(node: unknown): Field {
  if (Array.isArray(node)) return { ...NOTHING, others: node }
  if (!isObject(node)) return NOTHING
  const { [MARK]: mark, type, properties, default: _, const: __, enum: ___, examples: ____, ...rest } = node
  return {
    mark,
    type: typeof type === 'string' ? type : undefined,
    properties: isObject(properties) ? Object.entries(properties) : [],
    others: Object.values(rest).filter((value) => typeof value === 'object'),
  }
}

/** valibot's own shape: entries, wrapped, pipe, and metadata in the pipe. */
function valibotField(node: unknown): Field {
  if (!isObject(node)) return NOTHING
  const pipe = Array.isArray(node.pipe) ? (node.pipe as Record<string, unknown>[]) : []
  const metadata = pipe
    .filter(({ type }) => type === 'metadata')
    .map(({ metadata: given }) => given as Record<string, unknown>)
  const own = metadata.findLast((given) => given[MARK] !== undefined)?.[MARK]
  const isInteger = pipe.some(({ type }) => type === 'integer' || type === 'safe_integer')
  if (['optional', 'nullable', 'nullish', 'exact_optional', 'undefinedable'].includes(node.type as string)) {
    const inner = valibotField(node.wrapped)
    // A type array is refused, so what may be null has no type here.
    const isNullable = node.type === 'nullable' || node.type === 'nullish'
    return { ...inner, mark: own ?? inner.mark, type: isNullable ? undefined : inner.type }
  }
  const isObjectSchema = isObject(node.entries)
  const { item, items, rest, options, key, value } = node
  return {
    mark: own,
    type: node.type === 'number' && isInteger ? 'integer' : (node.type as string),
    properties: isObjectSchema ? Object.entries(node.entries as object) : [],
    others: [item, rest, key, value, items, options]
      .flat()
      .filter((inner) => isObject(inner) && inner.kind === 'schema'),
  }
}
