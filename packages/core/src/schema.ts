// JSON Schema of any Standard Schema: its own, or for valibot that of @valibot/to-json-schema, loaded on first need.
import type { StandardSchemaV1 } from '@standard-schema/spec'

export type JsonSchema = { [key: string]: unknown }

/** Draft 2020-12. Throws where the schema has none. */
export async function toJsonSchema(schema: StandardSchemaV1, side: 'input' | 'output'): Promise<JsonSchema> {
  const standard = schema['~standard'] as StandardSchemaV1.Props & {
    jsonSchema?: { input(options: { target: string }): JsonSchema; output(options: { target: string }): JsonSchema }
  }
  const { jsonSchema, vendor } = standard
  if (jsonSchema) return jsonSchema[side]({ target: 'draft-2020-12' })
  if (vendor !== 'valibot') throw new TypeError(`a schema of ${vendor} has no JSON Schema of its own`)
  const valibot = await import('@valibot/to-json-schema')
  return valibot.toJsonSchema(schema as never, { typeMode: side, target: 'draft-2020-12' }) as JsonSchema
}
