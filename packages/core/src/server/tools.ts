// Tools: checked at registration, run with validated arguments, answered in the way of the revision.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { CODE, McpError } from '../errors.ts'
import { isObject } from '../jsonrpc.ts'
import { type ProtocolVersion, REVISIONS } from '../protocol.ts'
import { type JsonSchema, toJsonSchema } from '../schema.ts'
import type { Awaitable, Context, Reporter, Route, ToolResult } from '../server.ts'
import { checkCount, checkIcons, checkMeta, checkToolName } from './checks.ts'
import type { Schema, TaskConfig, ToolConfig, Validator } from './config.ts'
import { errorResult, forRevision, toToolResult, withText } from './content.ts'
import { asStandard, checkJsonSchema, checkObjectRoot } from './json-schema.ts'
import { paramHeadersOf } from './param-headers.ts'

/** Thrown by a tool: its text is for the model (`isError`). The text of any other error stays on the server. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

export type Handler = (args: never, ctx: Context<never>) => unknown

const TASK_TTL_MS = 3_600_000
const POLL_INTERVAL_MS = 1000
const FAILED = 'the tool has failed'
const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {} }

export class Tool {
  readonly name: string
  /** The same object each time, for the transport. */
  readonly route: Route
  readonly config: ToolConfig<Schema, Schema>
  readonly #input: StandardSchemaV1 | undefined
  readonly #output: StandardSchemaV1 | undefined
  readonly #handler: Handler
  /** Made at the first listing, once. */
  #schemas: { input: JsonSchema; output: JsonSchema | undefined } | Promise<void> | undefined

  constructor(name: string, config: ToolConfig<Schema, Schema>, handler: Handler, validator: Validator | undefined) {
    checkToolName(name)
    const where = `tool ${name}`
    checkIcons(where, config.icons)
    checkMeta(where, config._meta)
    this.name = name
    this.config = config
    this.#handler = handler
    const { inputSchema, outputSchema } = config
    this.#input = inputSchema === undefined ? undefined : asStandard(`${where}: inputSchema`, inputSchema, validator)
    this.#output =
      outputSchema === undefined ? undefined : asStandard(`${where}: outputSchema`, outputSchema, validator)
    const paramHeaders = this.#input && paramHeadersOf(where, this.#input)
    if (hasOwnJsonSchema(this.#input)) this.#convert()
    this.route = Object.freeze({
      ...(paramHeaders ? { paramHeaders } : {}),
      ...(config.scopes?.length ? { scopes: config.scopes } : {}),
      ...(config.requires?.length ? { requires: config.requires } : {}),
      ...(config.task ? { task: taskRoute(where, config.task) } : {}),
    })
  }

  /** What `tools/list` shows; a promise while the schemas are still being converted. */
  listed(version: ProtocolVersion): Awaitable<{ [key: string]: unknown }> {
    const pending = this.#schemas ?? this.#convert()
    if (pending instanceof Promise) return pending.then(() => this.listed(version))
    const { input, output } = pending as { input: JsonSchema; output: JsonSchema | undefined }
    const { titles, icons, structured } = REVISIONS[version]
    const { config, name } = this
    const showsOutput = output && (structured === 'any' || (structured === 'object' && output.type === 'object'))
    return {
      name,
      ...(titles && config.title !== undefined ? { title: config.title } : {}),
      ...(config.description === undefined ? {} : { description: config.description }),
      inputSchema: input,
      ...(showsOutput ? { outputSchema: output } : {}),
      ...(config.annotations ? { annotations: config.annotations } : {}),
      ...(icons && config.icons ? { icons: config.icons } : {}),
      ...(titles && config._meta ? { _meta: config._meta } : {}),
    }
  }

  call(args: unknown, ctx: Context): Awaitable<ToolResult> {
    if (args !== undefined && !isObject(args))
      throw new McpError(CODE.invalidParams, 'params.arguments must be an object')
    if (!this.#input) return this.#run({}, ctx)
    const checked = this.#input['~standard'].validate(args ?? {})
    return checked instanceof Promise
      ? checked.then((result) => this.#checked(result, ctx))
      : this.#checked(checked, ctx)
  }

  /** the model can mend its arguments, so from 2025-11-25 on it is told, not the client. */
  #checked(checked: StandardSchemaV1.Result<unknown>, ctx: Context): Awaitable<ToolResult> {
    if (!checked.issues) return this.#run(checked.value, ctx)
    const text = `the arguments of ${this.name} are not valid: ${checked.issues.map(issueText).join('; ')}`
    if (REVISIONS[ctx.protocolVersion].argumentErrorsAsResults) return errorResult(text)
    throw new McpError(CODE.invalidParams, text)
  }

  #run(args: unknown, ctx: Context): Awaitable<ToolResult> {
    try {
      const returned = this.#handler(args as never, ctx as Context<never>)
      if (returned instanceof Promise) {
        return returned.then(
          (value) => this.#result(value, ctx),
          (error) => this.#failed(error, ctx),
        )
      }
      return this.#result(returned, ctx)
    } catch (error) {
      return this.#failed(error, ctx)
    }
  }

  #result(value: unknown, ctx: Context): Awaitable<ToolResult> {
    try {
      if (!this.#output) return forRevision(toToolResult(value), ctx.protocolVersion)
      const isWhole =
        isObject(value) && Array.isArray(value.content) && ('structuredContent' in value || value.isError === true)
      const whole = isWhole ? (value as Partial<ToolResult>) : {}
      if (whole.isError) return forRevision(whole as ToolResult, ctx.protocolVersion)
      const structured = isWhole ? whole.structuredContent : value
      const checked = this.#output['~standard'].validate(structured)
      if (checked instanceof Promise) {
        return checked.then(
          (result) => this.#structured(result, whole, ctx),
          (error) => this.#failed(error, ctx),
        )
      }
      return this.#structured(checked, whole, ctx)
    } catch (error) {
      return this.#failed(error, ctx)
    }
  }

  /** A value that does not fit the outputSchema never goes out (L-09). */
  #structured(checked: StandardSchemaV1.Result<unknown>, whole: Partial<ToolResult>, ctx: Context): ToolResult {
    try {
      if (checked.issues)
        throw new TypeError(
          `what ${this.name} returned does not fit its outputSchema: ${checked.issues.map(issueText).join('; ')}`,
        )
      return forRevision(withText(checked.value, whole), ctx.protocolVersion)
    } catch (error) {
      return this.#failed(error, ctx)
    }
  }

  #failed(error: unknown, ctx: Context): ToolResult {
    if (error instanceof McpError) throw error
    if (error instanceof ToolError) return errorResult(error.message)
    ;(ctx as Partial<Reporter>).report?.(error)
    return errorResult(FAILED)
  }

  #convert(): Awaitable<void> {
    const { name, config } = this
    const check = (side: string, schema: JsonSchema) => {
      // Standard Schemas say their dialect; plain ones were kept as written.
      checkJsonSchema(`tool ${name}: ${side}`, schema)
      return schema
    }
    const convert = (schema: StandardSchemaV1, side: 'input' | 'output') => {
      const made = toJsonSchema(schema, side)
      return made instanceof Promise ? made.then((json) => check(`${side}Schema`, json)) : check(`${side}Schema`, made)
    }
    const input = this.#input ? convert(this.#input, 'input') : NO_ARGUMENTS
    const output = this.#output ? convert(this.#output, 'output') : undefined
    const done = (inputJson: JsonSchema, outputJson: JsonSchema | undefined) => {
      checkObjectRoot(`tool ${name}: inputSchema`, inputJson)
      this.#schemas = { input: inputJson, output: outputJson }
    }
    if (!(input instanceof Promise) && !(output instanceof Promise)) {
      done(input, output)
      return this.#schemas as never
    }
    const pending = Promise.all([input, output]).then(([inputJson, outputJson]) => done(inputJson, outputJson))
    pending.catch(() => {
      if (this.#schemas === pending) this.#schemas = undefined
    })
    this.#schemas = pending
    return config ? pending : undefined
  }
}

function hasOwnJsonSchema(schema: StandardSchemaV1 | undefined): boolean {
  return schema !== undefined && 'jsonSchema' in schema['~standard']
}

function issueText({ message, path }: StandardSchemaV1.Issue): string {
  const at = path?.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
  return at ? `${at}: ${message}` : message
}

function taskRoute(where: string, task: 'optional' | 'required' | TaskConfig): NonNullable<Route['task']> {
  const {
    support,
    start = 'at-once',
    restart = 'never',
    ttlMs = TASK_TTL_MS,
    pollIntervalMs = POLL_INTERVAL_MS,
  } = typeof task === 'string' ? { support: task } : task
  if (support !== 'optional' && support !== 'required')
    throw new TypeError(`${where}: option task must be optional or required`)
  checkCount(where, 'task.ttlMs', ttlMs)
  checkCount(where, 'task.pollIntervalMs', pollIntervalMs)
  return Object.freeze({ support, start, restart, ttlMs, pollIntervalMs })
}
