// A tool: checked at registration, run with validated arguments, answered in the way of the revision.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { CODE, McpError } from '../errors.ts'
import { type ProtocolVersion, REVISIONS } from '../protocol.ts'
import type { JsonSchema } from '../schema.ts'
import type { Awaitable, Context, Reporter, Result, Route } from '../server.ts'
import { checkOptions, isCommonToolName, isObject, TOOL } from './checks.ts'
import type { Schema, TaskConfig, ToolConfig, ToolResultInput, Validator } from './config.ts'
import { fingerprint, outline } from './fingerprint.ts'
import { paramHeadersOf, sameHeaders, sensitivePaths } from './param-headers.ts'
import { issuesText, ServedSchema } from './served-schema.ts'
import { errorResult, isWholeStructured, shaped, toStructuredResult, toToolResult } from './tool-result.ts'

/** Thrown by a tool: its text is for the model (`isError`). The text of any other error stays on the server. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

export type ToolHandler = (args: never, ctx: Context<never>) => unknown

const TASK_TTL_MS = 3_600_000
const POLL_INTERVAL_MS = 1000
const FAILED = 'the tool has failed'
const NO_ARGUMENTS: JsonSchema = Object.freeze({ type: 'object', properties: Object.freeze({}) })

export class Tool {
  readonly name: string
  /** The same object each time, for the transport. */
  readonly route: Route
  readonly #config: ToolConfig<Schema, Schema>
  readonly #input: ServedSchema | undefined
  readonly #output: ServedSchema | undefined
  readonly #handler: ToolHandler
  #fingerprint: string | undefined

  constructor(
    name: string,
    config: ToolConfig<Schema, Schema>,
    handler: ToolHandler,
    { validator, onWarning }: { validator: Validator | undefined; onWarning: (text: string) => void },
  ) {
    if (typeof name !== 'string' || name === '') throw new TypeError('a tool must have a name')
    const where = `tool ${name}`
    checkOptions(where, TOOL, config)
    if (typeof handler !== 'function') throw new TypeError(`${where}: the handler must be a function`)
    const served = (side: 'input' | 'output', schema: Schema | undefined) =>
      schema === undefined ? undefined : new ServedSchema(`${where}: ${side}Schema`, schema, side, validator)
    this.name = name
    this.#config = config
    this.#handler = handler
    this.#input = served('input', config.inputSchema)
    this.#output = served('output', config.outputSchema)
    if (!isCommonToolName(name)) onWarning(`${where}: a name should be 1 to 128 of A-Z a-z 0-9 _ - .`)
    const paramHeaders = this.#input && paramHeadersOf(where, this.#input.source)
    for (const path of paramHeaders ? sensitivePaths(paramHeaders) : []) {
      onWarning(`${where}: x-mcp-header of ${path}: a header is seen by proxies and logs; do not mirror secrets`)
    }
    const { scopes, requires, task } = config
    this.route = Object.freeze({
      ...(paramHeaders ? { paramHeaders } : {}),
      ...(scopes?.length ? { scopes: Object.freeze([...scopes]) } : {}),
      ...(requires?.length ? { requires: Object.freeze([...requires]) } : {}),
      ...(task ? { task: taskRoute(task) } : {}),
    })
  }

  get fingerprint(): string {
    const { inputSchema, outputSchema, ...shown } = this.#config
    this.#fingerprint ??= fingerprint([this.name, shown, outline(this.#input), outline(this.#output)])
    return this.#fingerprint
  }

  /** What `tools/list` shows; a promise while a schema still has to be converted. */
  listed(version: ProtocolVersion): Awaitable<{ [key: string]: unknown }> {
    const input = this.#input?.json() ?? NO_ARGUMENTS
    const output = this.#output?.json()
    if (!(input instanceof Promise) && !(output instanceof Promise)) return this.#listed(input, output, version)
    return Promise.all([input, output]).then(([input, output]) => this.#listed(input, output, version))
  }

  #listed(input: JsonSchema, output: JsonSchema | undefined, version: ProtocolVersion): { [key: string]: unknown } {
    if (!sameHeaders(this.route.paramHeaders, paramHeadersOf(`tool ${this.name}`, { json: input }))) {
      throw new TypeError(`tool ${this.name}: its x-mcp-header marks cannot be told from the schema alone`)
    }
    const { titles, icons, structured } = REVISIONS[version]
    const { title, description, annotations, icons: own, _meta } = this.#config
    const showsOutput = output && (structured === 'any' || (structured === 'object' && output.type === 'object'))
    return {
      name: this.name,
      ...(titles && title !== undefined ? { title } : {}),
      ...(description === undefined ? {} : { description }),
      inputSchema: input,
      ...(showsOutput ? { outputSchema: output } : {}),
      ...(annotations ? { annotations } : {}),
      ...(icons && own ? { icons: own } : {}),
      ...(titles && _meta ? { _meta } : {}),
    }
  }

  /** The result is there at once if the handler and the schemas are synchronous. */
  call(args: unknown, ctx: Context): Awaitable<Result> {
    if (args !== undefined && !isObject(args)) {
      throw new McpError(CODE.invalidParams, 'params.arguments must be an object')
    }
    try {
      const outcome = this.#start(args ?? {}, ctx)
      return outcome instanceof Promise ? outcome.catch((error) => this.#failed(error, ctx)) : outcome
    } catch (error) {
      return this.#failed(error, ctx)
    }
  }

  #start(args: unknown, ctx: Context): Awaitable<Result> {
    if (!this.#input) return this.#run({}, ctx)
    const checked = this.#input.validate(args)
    return checked instanceof Promise ? checked.then((it) => this.#checked(it, ctx)) : this.#checked(checked, ctx)
  }

  /** the model can mend its arguments, so from 2025-11-25 on it is told, not the client. */
  #checked(checked: StandardSchemaV1.Result<unknown>, ctx: Context): Awaitable<Result> {
    if (!checked.issues) return this.#run(checked.value, ctx)
    const text = `the arguments of ${this.name} are not valid: ${issuesText(checked.issues)}`
    if (REVISIONS[ctx.protocolVersion].argumentErrorsAsResults) return errorResult(text)
    throw new McpError(CODE.invalidParams, text)
  }

  #run(args: unknown, ctx: Context): Awaitable<Result> {
    const returned = this.#handler(args as never, ctx as Context<never>)
    return isThenable(returned)
      ? Promise.resolve(returned).then((value) => this.#result(value, ctx))
      : this.#result(returned, ctx)
  }

  #result(value: unknown, ctx: Context): Awaitable<Result> {
    const revision = REVISIONS[ctx.protocolVersion]
    if (!this.#output) return toToolResult(value, revision)
    const whole: Partial<ToolResultInput> = isWholeStructured(value) ? value : {}
    if (whole.isError) return shaped(whole as ToolResultInput, revision)
    const checked = this.#output.validate('structuredContent' in whole ? whole.structuredContent : value)
    return checked instanceof Promise
      ? checked.then((it) => this.#structured(it, whole, ctx))
      : this.#structured(checked, whole, ctx)
  }

  /** A value that does not fit the outputSchema never goes out (L-09). */
  #structured(checked: StandardSchemaV1.Result<unknown>, whole: Partial<ToolResultInput>, ctx: Context): Result {
    if (checked.issues) {
      throw new TypeError(`what ${this.name} returned does not fit its outputSchema: ${issuesText(checked.issues)}`)
    }
    if (checked.value === undefined) throw new TypeError(`${this.name} has an outputSchema, and returned nothing`)
    return toStructuredResult(checked.value, whole, REVISIONS[ctx.protocolVersion])
  }

  #failed(error: unknown, ctx: Context): Result {
    if (error instanceof McpError) throw error
    if (error instanceof ToolError) return errorResult(error.message)
    ;(ctx as Partial<Reporter>).report?.(error)
    return errorResult(FAILED)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

function taskRoute(task: 'optional' | 'required' | TaskConfig): NonNullable<Route['task']> {
  const {
    support,
    start = 'at-once',
    restart = 'never',
    ttlMs = TASK_TTL_MS,
    pollIntervalMs = POLL_INTERVAL_MS,
  } = typeof task === 'string' ? { support: task } : task
  return Object.freeze({ support, start, restart, ttlMs, pollIntervalMs })
}
