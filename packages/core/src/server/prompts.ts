// A prompt: its arguments from a schema, its messages of any content.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { CODE, McpError } from '../errors.ts'
import { type ProtocolVersion, REVISIONS } from '../protocol.ts'
import type { JsonSchema } from '../schema.ts'
import type { Awaitable, Context, Result } from '../server.ts'
import { checkOptions, isObject, PROMPT } from './checks.ts'
import type { Completable, Completes } from './completion.ts'
import type { PromptConfig, PromptReturn, Schema, Validator } from './config.ts'
import { contentFor } from './content.ts'
import { fingerprint, outline } from './fingerprint.ts'
import { issuesText, ServedSchema } from './served-schema.ts'

interface Argument {
  name: string
  title?: string
  description?: string
  required: boolean
}

export type PromptHandler = (args: never, ctx: never) => Awaitable<PromptReturn>

export class Prompt implements Completable {
  readonly name: string
  readonly #config: PromptConfig<Schema>
  readonly #args: ServedSchema | undefined
  readonly #handler: PromptHandler
  #fingerprint: string | undefined

  constructor(name: string, config: PromptConfig<Schema>, handler: PromptHandler, validator: Validator | undefined) {
    if (typeof name !== 'string' || name === '') throw new TypeError('a prompt must have a name')
    const where = `prompt ${name}`
    checkOptions(where, PROMPT, config)
    if (typeof handler !== 'function') throw new TypeError(`${where}: the handler must be a function`)
    this.name = name
    this.#config = config
    this.#handler = handler
    const { argsSchema, complete = {} } = config
    this.#args =
      argsSchema === undefined ? undefined : new ServedSchema(`${where}: argsSchema`, argsSchema, 'input', validator)
    const known = this.#args ? namesOf(this.#args.source) : []
    for (const name of Object.keys(complete)) {
      const isUnknown = known && !known.includes(name)
      if (isUnknown) throw new TypeError(`${where}: option complete.${name}: there is no such argument`)
    }
  }

  get fingerprint(): string {
    const { argsSchema, complete, ...shown } = this.#config
    this.#fingerprint ??= fingerprint([this.name, shown, outline(this.#args)])
    return this.#fingerprint
  }

  get completes(): Completes {
    return (this.#config.complete ?? {}) as Completes
  }

  names(): Awaitable<readonly string[]> {
    const names = (args: readonly Argument[]) => args.map(({ name }) => name)
    const args = this.#arguments()
    return args instanceof Promise ? args.then(names) : names(args)
  }

  /** A promise while the schema still has to be converted. */
  #arguments(): Awaitable<readonly Argument[]> {
    const json = this.#args?.json() ?? {}
    return json instanceof Promise ? json.then(argumentsOf) : argumentsOf(json)
  }

  /** What `prompts/list` shows. */
  listed(version: ProtocolVersion): Awaitable<{ [key: string]: unknown }> {
    const args = this.#arguments()
    return args instanceof Promise ? args.then((args) => this.#listed(args, version)) : this.#listed(args, version)
  }

  #listed(args: readonly Argument[], version: ProtocolVersion): { [key: string]: unknown } {
    const { titles, icons } = REVISIONS[version]
    const { title, description, icons: own, _meta } = this.#config
    return {
      name: this.name,
      ...(titles && title !== undefined ? { title } : {}),
      ...(description === undefined ? {} : { description }),
      ...(args.length > 0 ? { arguments: titles ? args : args.map(({ title: _, ...known }) => known) } : {}),
      ...(icons && own ? { icons: own } : {}),
      ...(titles && _meta ? { _meta } : {}),
    }
  }

  async get(args: unknown, ctx: Context): Promise<Result> {
    const messages = toMessages(await this.#handler((await this.#checked(args)) as never, ctx as never))
    const revision = REVISIONS[ctx.protocolVersion]
    const { description } = this.#config
    return {
      ...(description === undefined ? {} : { description }),
      messages: messages.map(({ role, content }) => {
        if (role !== 'user' && role !== 'assistant') throw new TypeError(`prompt ${this.name}: no role ${String(role)}`)
        return { role, content: contentFor(content, revision) }
      }),
    }
  }

  /** The arguments of a prompt are texts, whatever its schema makes of them (L-29, L-30). */
  async #checked(args: unknown = {}): Promise<unknown> {
    if (!isObject(args) || !Object.values(args).every((value) => typeof value === 'string')) {
      throw new McpError(CODE.invalidParams, 'params.arguments must be an object of texts')
    }
    if (!this.#args) return {}
    const checked = await this.#args.validate(args)
    if (!checked.issues) return checked.value
    throw new McpError(CODE.invalidParams, `the arguments of ${this.name} are not valid: ${issuesText(checked.issues)}`)
  }
}

function toMessages(returned: PromptReturn): Exclude<PromptReturn, string> {
  if (typeof returned === 'string') return [{ role: 'user', content: { type: 'text', text: returned } }]
  if (Array.isArray(returned)) return returned
  throw new TypeError('a prompt must return a text or messages')
}

function argumentsOf({ properties, required }: JsonSchema): readonly Argument[] {
  const must = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, field]) => {
    const { title, description } = isObject(field) ? field : {}
    return {
      name,
      ...(typeof title === 'string' ? { title } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      required: must.includes(name),
    }
  })
}

/** The names of the arguments, where a schema tells them at once. */
function namesOf(source: ServedSchema['source']): readonly string[] | undefined {
  if ('json' in source) return argumentsOf(source.json).map(({ name }) => name)
  const { entries } = source.valibot as StandardSchemaV1 & { entries?: object }
  return entries && Object.keys(entries)
}
