// completion/complete: suggestions for the arguments of prompts and the variables of templates.
import { CODE, McpError } from '../errors.ts'
import { isObject } from '../jsonrpc.ts'
import type { Context, Result } from '../server.ts'
import type { Complete } from './config.ts'

/** The most that an answer may hold (L-31). */
const VALUES_MAX = 100

export interface Completable {
  readonly complete: Readonly<Record<string, Complete | undefined>>
  /** The names that may be completed at all. */
  names(): Promise<readonly string[]>
}

export async function complete(
  params: unknown,
  ctx: Context,
  find: (ref: { [key: string]: unknown }) => Completable | undefined,
): Promise<Result> {
  const { ref, argument, context } = isObject(params) ? params : {}
  if (
    !isObject(ref) ||
    !isObject(argument) ||
    typeof argument.name !== 'string' ||
    typeof argument.value !== 'string'
  ) {
    throw new McpError(CODE.invalidParams, 'params must have a ref, and an argument with name and value')
  }
  const target = find(ref)
  if (!target) throw new McpError(CODE.invalidParams, 'params.ref names nothing that is here')
  if (!(await target.names()).includes(argument.name))
    throw new McpError(CODE.invalidParams, `no argument ${JSON.stringify(argument.name)}`)
  const others = isObject(context) && isObject(context.arguments) ? (context.arguments as Record<string, string>) : {}
  const run = Object.hasOwn(target.complete, argument.name) ? target.complete[argument.name] : undefined
  const values = (await run?.(argument.value, ctx, others)) ?? []
  return {
    completion: { values: values.slice(0, VALUES_MAX), total: values.length, hasMore: values.length > VALUES_MAX },
  }
}
