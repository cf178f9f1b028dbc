// JSON Schema of any Standard Schema: its own, or for valibot that of @valibot/to-json-schema, loaded on first need.
import type { StandardSchemaV1 } from '@standard-schema/spec'

export type JsonSchema = { [key: string]: unknown }
export type Side = 'input' | 'output'

/** Draft 2020-12. Rejects where there is none. */
export async function toJsonSchema(schema: StandardSchemaV1, side: Side): Promise<JsonSchema> {
  return ownJsonSchema(schema, side) ?? fromValibot(schema, side)
}

/** At once where the schema brings its own; undefined for valibot. Throws where there is none. */
export function ownJsonSchema(schema: StandardSchemaV1, side: Side): JsonSchema | undefined {
  const { jsonSchema, vendor } = schema['~standard'] as StandardSchemaV1.Props & {
    jsonSchema?: Record<Side, (options: { target: string }) => JsonSchema>
  }
  if (jsonSchema) return jsonSchema[side]({ target: 'draft-2020-12' })
  if (vendor === 'valibot') return undefined
  throw new TypeError(`a schema of ${vendor} has no JSON Schema of its own`)
}

export async function fromValibot(schema: StandardSchemaV1, side: Side): Promise<JsonSchema> {
  const { toJsonSchema: convert } = await import('@valibot/to-json-schema').catch((cause) => {
    throw new Error('the JSON Schema of a valibot schema needs the package @valibot/to-json-schema: install it', {
      cause,
    })
  })
  return convert(schema as never, {
    typeMode: side,
    target: 'draft-2020-12',
    // What JSON Schema has no word for, such as `check` and `trim`, is left to the validation. A type that cannot be
    // told, and an output that is made by a function, still throw.
    overrideAction: ({ valibotAction, errors, jsonSchema }) =>
      errors && (side === 'input' || valibotAction.kind !== 'transformation') ? jsonSchema : undefined,
  }) as JsonSchema
}
