// Prompts: their arguments from a schema, their messages of any content.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { CODE, McpError } from '../errors.ts'
import { isObject } from '../jsonrpc.ts'
import { type ProtocolVersion, REVISIONS } from '../protocol.ts'
import { type JsonSchema, toJsonSchema } from '../schema.ts'
import type { Context, Result } from '../server.ts'
import { checkIcons, checkMeta } from './checks.ts'
import type { Complete, PromptConfig, PromptReturn, Schema, Validator } from './config.ts'
import { checkContent, plainLink } from './content.ts'
import { asStandard } from './json-schema.ts'

interface Argument {
  name: string
  title?: string
  description?: string
  required: boolean
}

export class Prompt {
  readonly name: string
  readonly config: PromptConfig<Schema>
  readonly #args: StandardSchemaV1 | undefined
  readonly #handler: (args: never, ctx: never) => unknown
  #arguments: Argument[] | undefined

  constructor(
    name: string,
    config: PromptConfig<Schema>,
    handler: (args: never, ctx: never) => unknown,
    validator: Validator | undefined,
  ) {
    const where = `prompt ${name}`
    if (name === '') throw new TypeError('a prompt must have a name')
    checkIcons(where, config.icons)
    checkMeta(where, config._meta)
    this.name = name
    this.config = config
    this.#handler = handler
    this.#args =
      config.argsSchema === undefined ? undefined : asStandard(`${where}: argsSchema`, config.argsSchema, validator)
  }

  get complete(): Readonly<Record<string, Complete | undefined>> {
    return (this.config.complete ?? {}) as Record<string, Complete | undefined>
  }

  /** Made at the first listing, once. */
  async arguments(): Promise<Argument[]> {
    if (!this.#args) return []
    this.#arguments ??= argumentsOf(await toJsonSchema(this.#args, 'input'))
    return this.#arguments
  }

  async listed(version: ProtocolVersion): Promise<{ [key: string]: unknown }> {
    const { titles, icons } = REVISIONS[version]
    const { title, description, icons: own, _meta } = this.config
    const args = await this.arguments()
    return {
      name: this.name,
      ...(titles && title !== undefined ? { title } : {}),
      ...(description === undefined ? {} : { description }),
      ...(args.length > 0 ? { arguments: titles ? args : args.map(({ title: _, ...rest }) => rest) } : {}),
      ...(icons && own ? { icons: own } : {}),
      ...(titles && _meta ? { _meta } : {}),
    }
  }

  async get(args: unknown, ctx: Context): Promise<Result> {
    if (args !== undefined && !(isObject(args) && Object.values(args).every((value) => typeof value === 'string'))) {
      throw new McpError(CODE.invalidParams, 'params.arguments must be an object of strings')
    }
    let value: unknown = {}
    if (this.#args) {
      const checked = await this.#args['~standard'].validate(args ?? {})
      if (checked.issues) {
        throw new McpError(
          CODE.invalidParams,
          `the arguments of ${this.name} are not valid: ${checked.issues.map(({ message }) => message).join('; ')}`,
        )
      }
      value = checked.value
    }
    const returned = (await this.#handler(value as never, ctx as never)) as PromptReturn
    const messages =
      typeof returned === 'string' ? [{ role: 'user', content: { type: 'text', text: returned } } as const] : returned
    for (const { content } of messages) checkContent(content)
    const { titles } = REVISIONS[ctx.protocolVersion]
    const { description } = this.config
    return {
      ...(description === undefined ? {} : { description }),
      messages: titles ? messages : messages.map(({ role, content }) => ({ role, content: plainLink(content) })),
    }
  }
}

function argumentsOf({ properties, required }: JsonSchema): Argument[] {
  const must = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, field]): Argument => {
    const { title, description } = isObject(field) ? field : {}
    return {
      name,
      ...(typeof title === 'string' ? { title } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      required: must.includes(name),
    }
  })
}
