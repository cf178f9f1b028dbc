// JSON Schema of any Standard Schema: its own, or for valibot that of @valibot/to-json-schema, loaded on first need.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Awaitable } from './server.ts'

export type JsonSchema = { [key: string]: unknown }

/** Draft 2020-12. At once where the schema brings its own; throws where it has none. */
export function toJsonSchema(schema: StandardSchemaV1, side: 'input' | 'output'): Awaitable<JsonSchema> {
  const { jsonSchema, vendor } = schema['~standard'] as StandardSchemaV1.Props & {
    jsonSchema?: Record<'input' | 'output', (options: { target: string }) => JsonSchema>
  }
  if (jsonSchema) return jsonSchema[side]({ target: 'draft-2020-12' })
  if (vendor !== 'valibot') throw new TypeError(`a schema of ${vendor} has no JSON Schema of its own`)
  return fromValibot(schema, side)
}

async function fromValibot(schema: StandardSchemaV1, side: 'input' | 'output'): Promise<JsonSchema> {
  const { toJsonSchema: convert } = await import('@valibot/to-json-schema').catch(() => {
    throw new Error('the JSON Schema of a valibot schema needs the package @valibot/to-json-schema: install it')
  })
  return convert(schema as never, { typeMode: side, target: 'draft-2020-12' }) as JsonSchema
}
