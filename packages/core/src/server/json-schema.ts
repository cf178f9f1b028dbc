// What a JSON Schema must be before it is shown to anybody.
import type { JsonSchema } from '../schema.ts'
import { isObject } from './checks.ts'
import { percentDecoded } from './percent.ts'

/** Deeper ones cost validators and clients too much (F-16). */
const DEPTH_MAX = 64
const DIALECTS = /^https?:\/\/json-schema\.org\/(?:draft\/2020-12|draft\/2019-09|draft-07|draft-06|draft-04)\/schema#?$/

/** Keywords whose members are schemas by name, and those that hold data, no schemas. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const DATA = new Set(['const', 'enum', 'default', 'examples'])

/** The schemas right below one. `property`: the name, where it is one of its `properties`. */
export function* subschemas(schema: JsonSchema): Generator<{ schema: JsonSchema; property?: string }> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.has(keyword)) continue
    if (MAPS.has(keyword) && isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (isObject(member)) yield { schema: member, ...(keyword === 'properties' ? { property: name } : {}) }
      }
    } else if (Array.isArray(value)) {
      for (const member of value) if (isObject(member)) yield { schema: member }
    } else if (isObject(value)) yield { schema: value }
  }
}

/** What a schema without an `$id` goes by, so that references can be resolved against it. */
const NAMELESS = 'schema://root/'

/** Throws where a dialect is unknown, something would have to be fetched (F-15), or it is too deep (F-16). */
export function checkJsonSchema(where: string, root: JsonSchema): void {
  /** Schemas by their URI: those with an `$id` or an anchor. */
  const known = new Map<string, JsonSchema>()
  const refs: { ref: string; base: string }[] = []

  function visit(schema: JsonSchema, above: string, depth: number): void {
    if (depth > DEPTH_MAX) throw new TypeError(`${where}: the JSON Schema is nested deeper than ${DEPTH_MAX} levels`)
    const { $schema, $id, $ref, $dynamicRef, $anchor, $dynamicAnchor } = schema
    if ($schema !== undefined && !(typeof $schema === 'string' && DIALECTS.test($schema))) {
      throw new TypeError(`${where}: the JSON Schema dialect ${JSON.stringify($schema)} is not supported`)
    }
    const base = typeof $id === 'string' ? (resolved($id, above)?.replace(/#$/, '') ?? above) : above
    if (depth === 0 || base !== above) known.set(base, schema)
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === 'string') known.set(`${base}#${anchor}`, schema)
    }
    for (const ref of [$ref, $dynamicRef]) if (typeof ref === 'string') refs.push({ ref, base })
    for (const { schema: below } of subschemas(schema)) visit(below, base, depth + 1)
  }

  visit(root, NAMELESS, 0)
  for (const { ref, base } of refs) {
    if (!isWithin(resolved(ref, base), known)) {
      throw new TypeError(`${where}: $ref ${JSON.stringify(ref)} is not within the schema, and nothing is ever fetched`)
    }
  }
}

function resolved(ref: string, base: string): string | undefined {
  return URL.canParse(ref, base) ? new URL(ref, base).href : undefined
}

function isWithin(uri: string | undefined, known: ReadonlyMap<string, JsonSchema>): boolean {
  if (uri === undefined) return false
  const [resource = '', fragment = ''] = uri.split('#')
  if (fragment === '') return known.has(resource)
  return known.has(uri) || (fragment.startsWith('/') && points(known.get(resource), fragment))
}

/** A JSON pointer (RFC 6901) in a URI fragment, to something that is there. */
function points(schema: JsonSchema | undefined, fragment: string): boolean {
  let node: unknown = schema
  for (const step of fragment.slice(1).split('/')) {
    const name = percentDecoded(step)?.replaceAll('~1', '/').replaceAll('~0', '~')
    if (name === undefined || typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return false
    node = (node as JsonSchema)[name]
  }
  return true
}
