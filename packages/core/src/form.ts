// The form of an elicitation as the JSON Schema that a client can show: flat, with simple fields (E-04).
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from './jsonrpc.ts'
import { toJsonSchema } from './schema.ts'
import type { Elicited } from './server.ts'

const known = new WeakMap<object, { [key: string]: unknown }>()
const SIMPLE = new Set(['string', 'number', 'integer', 'boolean'])
/** Secrets are asked for by URL, never by a form (E-06). */
const SECRET = /passw(?:or)?d|secret|api_?key|access_?token|private_?key|credit_?card|cvv/i

/** Throws where a form asks for more than a client has to understand. Made once for each schema. */
export async function formSchema(schema: StandardSchemaV1): Promise<{ [key: string]: unknown }> {
  const made = known.get(schema)
  if (made) return made
  const { type, properties, required } = await toJsonSchema(schema, 'input')
  if (type !== 'object' || !isObject(properties)) throw new TypeError('elicit: the form must be an object schema')
  for (const [name, field] of Object.entries(properties)) {
    if (!isSimple(field)) throw new TypeError(`elicit: the field ${name} must be a string, number, boolean or choice`)
    if (SECRET.test(name)) throw new TypeError(`elicit: a form must not ask for ${name}; use a URL for secrets`)
  }
  const form = { type, properties, ...(required === undefined ? {} : { required }) }
  known.set(schema, form)
  return form
}

function isSimple(field: unknown): boolean {
  if (!isObject(field)) return false
  if (field.type === 'array')
    return isObject(field.items) && (Array.isArray(field.items.enum) || Array.isArray(field.items.anyOf))
  return SIMPLE.has(field.type as string) || Array.isArray(field.enum) || Array.isArray(field.oneOf)
}

/** The client's answer is none, or does not fit the form. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** The client's answer, with its content checked against the form (E-09). Throws a NoAnswer where it is none. */
export async function elicited(answer: unknown, schema: StandardSchemaV1 | undefined): Promise<Elicited<unknown>> {
  const { action, content } = isObject(answer) ? answer : {}
  if (action === 'decline' || action === 'cancel') return { action }
  if (action !== 'accept') throw new NoAnswer('the client gave no valid answer to the elicitation')
  if (!schema) return { action, content: undefined }
  const checked = (await schema['~standard'].validate(content)) as StandardSchemaV1.Result<unknown>
  if (checked.issues) throw new NoAnswer(`the answer does not fit the form: ${checked.issues[0]?.message}`)
  return { action, content: checked.value }
}
