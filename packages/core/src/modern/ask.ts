// What rounds and tasks have in common: the kinds of asks, and what a client must have declared for them.
import type { Call } from '../calls.ts'
import { CODE, McpError } from '../errors.ts'
import { isObject } from '../jsonrpc.ts'

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
