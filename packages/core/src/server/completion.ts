// completion/complete: suggestions for the arguments of prompts and the variables of templates.
import { CODE, McpError } from '../errors.ts'
import { REVISIONS } from '../protocol.ts'
import type { Awaitable, Context, Result } from '../server.ts'
import { isObject } from './checks.ts'
import type { Complete } from './config.ts'

/** The most that an answer may hold (L-31). */
const VALUES_MAX = 100

export type Completes = Readonly<Record<string, Complete | undefined>>

/** A prompt or a template. */
export interface Completable {
  readonly completes: Completes
  /** The names of all its arguments or variables. */
  names(): Awaitable<readonly string[]>
}

/** @param find what a `ref` names */
export async function complete(
  params: unknown,
  ctx: Context,
  find: (ref: { [key: string]: unknown }) => Completable | undefined,
): Promise<Result> {
  const { ref, argument, context } = isObject(params) ? params : {}
  const { name, value } = isObject(argument) ? argument : {}
  if (!isObject(ref) || typeof name !== 'string' || typeof value !== 'string') {
    throw new McpError(CODE.invalidParams, 'params must have a ref, and an argument with a name and a value')
  }
  const target = find(ref)
  if (!target) throw new McpError(CODE.invalidParams, 'params.ref names nothing that is here')
  const run = Object.hasOwn(target.completes, name) ? target.completes[name] : undefined
  if (!run && !(await target.names()).includes(name)) {
    throw new McpError(CODE.invalidParams, `there is no argument ${JSON.stringify(name)}`)
  }
  const values = (await run?.(value, ctx, othersOf(context, ctx))) ?? []
  if (!values.every((one) => typeof one === 'string')) throw new TypeError(`complete of ${name} must return texts`)
  const hasMore = values.length > VALUES_MAX
  return { completion: { values: values.slice(0, VALUES_MAX), total: values.length, hasMore } }
}

/** The arguments that the client has already, where its revision knows of them (L-32). */
function othersOf(context: unknown, { protocolVersion }: Context): Readonly<Record<string, string>> {
  const given = isObject(context) ? context.arguments : undefined
  if (!REVISIONS[protocolVersion].titles || given === undefined) return {}
  if (!isObject(given) || !Object.values(given).every((value) => typeof value === 'string')) {
    throw new McpError(CODE.invalidParams, 'params.context.arguments must be an object of texts')
  }
  return given as Record<string, string>
}
