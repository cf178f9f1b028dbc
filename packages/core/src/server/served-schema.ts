// A schema as a server uses it: it validates, and it is shown as a JSON Schema that is made once.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { fromValibot, type JsonSchema, ownJsonSchema, type Side } from '../schema.ts'
import type { Awaitable } from '../server.ts'
import { isObject } from './checks.ts'
import type { Schema, Validator } from './config.ts'
import { checkJsonSchema } from './json-schema.ts'

/** What a valibot schema may be, so that its JSON Schema can have the root of arguments. */
const OBJECT_TYPES = new Set<unknown>(
  'object strict_object loose_object object_with_rest record variant union intersect lazy'.split(' '),
)

export class ServedSchema {
  readonly validate: StandardSchemaV1.Props['validate']
  /** A JSON Schema that is there at once; of valibot it is the schema itself that can be looked at. */
  readonly source: { json: JsonSchema } | { valibot: StandardSchemaV1 }
  readonly #where: string
  readonly #side: Side
  #json: Awaitable<JsonSchema> | undefined

  /** @param side `input`: of arguments, so its root must be an object (L-06). */
  constructor(where: string, given: Schema, side: Side, validator: Validator | undefined) {
    this.#where = where
    this.#side = side
    if (!isStandard(given)) {
      if (!isObject(given)) throw new TypeError(`${where} must be a Standard Schema or a JSON Schema`)
      this.#json = this.#checked(given, false)
      this.source = { json: this.#json }
      this.validate = validation(where, given, validator)
      return
    }
    this.validate = (value) => given['~standard'].validate(value)
    const own = named(where, () => ownJsonSchema(given, side))
    if (own) {
      this.#json = this.#checked(own, true)
      this.source = { json: this.#json }
      return
    }
    this.source = { valibot: given }
    const { type } = given as StandardSchemaV1 & { type?: unknown }
    if (side === 'input' && !OBJECT_TYPES.has(type)) throw notAnObject(where)
  }

  /** A promise only until the first conversion of a valibot schema is done. Rejects where there is no JSON Schema for it. */
  json(): Awaitable<JsonSchema> {
    this.#json ??= this.#converted((this.source as { valibot: StandardSchemaV1 }).valibot)
    return this.#json
  }

  async #converted(schema: StandardSchemaV1): Promise<JsonSchema> {
    try {
      const converted = await fromValibot(schema, this.#side).catch((cause) => {
        throw faultOf(this.#where, cause)
      })
      this.#json = this.#checked(converted, true)
      return this.#json
    } catch (error) {
      this.#json = undefined // the next listing tries again
      throw error
    }
  }

  #checked(json: JsonSchema, isConverted: boolean): JsonSchema {
    checkJsonSchema(this.#where, json)
    if (this.#side === 'output' || json.type === 'object') return json
    // Arguments are always an object, so a choice between objects can say so; what was written by hand is kept.
    if (!isConverted || json.type !== undefined) throw notAnObject(this.#where)
    return { ...json, type: 'object' }
  }
}

function notAnObject(where: string): TypeError {
  return new TypeError(`${where}: the root must be an object`)
}

function isStandard(schema: unknown): schema is StandardSchemaV1 {
  const isHolder = typeof schema === 'function' || isObject(schema)
  return isHolder && isObject((schema as { '~standard'?: unknown })['~standard'])
}

/** Runs what others have written, so that its error says where. */
function named<T>(where: string, run: () => T): T {
  try {
    return run()
  } catch (cause) {
    throw faultOf(where, cause)
  }
}

function faultOf(where: string, cause: unknown): TypeError {
  return new TypeError(`${where}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
}

function validation(
  where: string,
  schema: JsonSchema,
  validator: Validator | undefined,
): StandardSchemaV1.Props['validate'] {
  if (!validator) {
    throw new TypeError(
      `${where} is a plain JSON Schema: give McpServer the option validator, or a Standard Schema here`,
    )
  }
  const check = named(where, () => validator(schema))
  return (value) => {
    const fault = check(value)
    return fault === undefined ? { value } : { issues: [{ message: fault }] }
  }
}

const ISSUES_MAX = 10

/** For people and models. */
export function issuesText(issues: readonly StandardSchemaV1.Issue[]): string {
  const texts = issues.slice(0, ISSUES_MAX).map(({ message, path }) => {
    const at = path?.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
    return at ? `${at}: ${message}` : message
  })
  if (issues.length > ISSUES_MAX) texts.push(`and ${issues.length - ISSUES_MAX} more`)
  return texts.join('; ')
}
