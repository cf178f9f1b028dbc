// JSON Schemas of tools: as they were written, with the checks that the spec asks for.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from '../jsonrpc.ts'
import type { JsonSchema } from '../schema.ts'
import { isPlainSchema } from './checks.ts'
import type { Schema, Validator } from './config.ts'

/** Deeper ones cost validators and clients too much (F-16). */
const DEPTH_MAX = 64
const DIALECTS = /^https?:\/\/json-schema\.org\/(?:draft\/2020-12|draft\/2019-09|draft-07|draft-06|draft-04)\/schema#?$/

/** A plain JSON Schema as a Standard Schema, by the validator that the server was given. */
export function asStandard(where: string, schema: Schema, validator: Validator | undefined): StandardSchemaV1 {
  if (typeof schema !== 'object' && typeof schema !== 'function') throw new TypeError(`${where} must be a schema`)
  if (!isPlainSchema(schema)) return schema as StandardSchemaV1
  checkJsonSchema(where, schema)
  if (!validator) {
    throw new TypeError(
      `${where} is a plain JSON Schema: give McpServer the option validator, or a Standard Schema here`,
    )
  }
  const check = validator(schema)
  return {
    '~standard': {
      version: 1,
      vendor: 'json-schema',
      validate(value: unknown) {
        const wrong = check(value)
        return wrong === undefined ? { value } : { issues: [{ message: wrong }] }
      },
      jsonSchema: { input: () => schema, output: () => schema },
    } as StandardSchemaV1['~standard'],
  }
}

/** Dialect known, nothing that would have to be fetched (F-15), bounded depth (F-16). */
export function checkJsonSchema(where: string, schema: JsonSchema): void {
  const dialect = schema.$schema
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECTS.test(dialect))) {
    throw new TypeError(`${where}: the JSON Schema dialect ${JSON.stringify(dialect)} is not supported`)
  }
  walk(where, schema, 0)
}

function walk(where: string, node: unknown, depth: number): void {
  if (depth > DEPTH_MAX) throw new TypeError(`${where}: the JSON Schema is nested deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(node)) for (const item of node) walk(where, item, depth + 1)
  else if (isObject(node)) {
    for (const [key, value] of Object.entries(node)) {
      if (
        (key === '$ref' || key === '$dynamicRef') &&
        typeof value === 'string' &&
        /^[a-z][a-z0-9+.-]*:/i.test(value)
      ) {
        throw new TypeError(
          `${where}: ${key} ${JSON.stringify(value)} would have to be fetched; only $refs within the schema are taken`,
        )
      }
      walk(where, value, depth + 1)
    }
  }
}

/** The root of arguments (L-06). */
export function checkObjectRoot(where: string, schema: JsonSchema): void {
  if (schema.type !== 'object')
    throw new TypeError(`${where}: the root of the JSON Schema must have type "object" (L-06)`)
}
