// What rounds and tasks have in common: the kinds of asks, and what a client must have declared for them.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Call } from '../calls.ts'
import { CODE, McpError } from '../errors.ts'
import { elicited, NoAnswer } from '../form.ts'
import { isObject, type Params } from '../jsonrpc.ts'
import type { Elicited } from '../server.ts'

export type AskMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list'

/** The error for a capability that this very request did not declare (J-05). `elicitation: {}` means forms alone (E-03). */
export function capabilityMissing(call: Call, capability: string, mode?: 'form' | 'url'): McpError | undefined {
  const declared = call.client.capabilities[capability]
  if (isObject(declared)) {
    if (mode === undefined || declared[mode] !== undefined) return undefined
    if (mode === 'form' && declared.url === undefined) return undefined
  }
  return new McpError(CODE.missingCapability, `this needs the client capability ${capability}`, {
    requiredCapabilities: { [capability]: mode === 'url' ? { url: {} } : {} },
  })
}

const CAPABILITY: Readonly<Record<AskMethod, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** A request as it is, as an ask. Throws where the client can't be asked for that. */
export function askOf(
  method: string,
  params: unknown,
): { method: AskMethod; params: Params | undefined; capability: string; mode?: 'form' | 'url' } {
  if (!Object.hasOwn(CAPABILITY, method)) throw new Error(`2026-07-28 has no request ${method} to the client`)
  const known = method as AskMethod
  const asked = { method: known, params: isObject(params) ? params : undefined, capability: CAPABILITY[known] }
  if (known !== 'elicitation/create') return asked
  return { ...asked, mode: asked.params?.mode === 'url' ? 'url' : 'form' }
}

/** Is it a result of that request? (J-11) */
export function isAnswer(method: AskMethod, answer: unknown): boolean {
  if (!isObject(answer)) return false
  switch (method) {
    case 'elicitation/create': {
      const { action, content } = answer
      return ['accept', 'decline', 'cancel'].includes(action as string) && (content === undefined || isObject(content))
    }
    case 'sampling/createMessage':
      return typeof answer.role === 'string' && typeof answer.content === 'object' && answer.content !== null
    case 'roots/list':
      return Array.isArray(answer.roots) && answer.roots.every((root) => isObject(root) && typeof root.uri === 'string')
  }
}

/** What the user said. One that does not fit its form is the client's fault (J-11). */
export async function answered(answer: unknown, schema: StandardSchemaV1 | undefined): Promise<Elicited<unknown>> {
  try {
    return await elicited(answer, schema)
  } catch (error) {
    throw error instanceof NoAnswer ? new McpError(CODE.invalidParams, error.message) : error
  }
}
