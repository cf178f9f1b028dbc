// What a request for sampling may hold, by what the client has declared and by the order of its messages (E-12, E-13).
import { isObject } from './jsonrpc.ts'

type Parts = { [key: string]: unknown }[]

/** Throws before anything is sent that the client could not, or must not, take. */
export function checkSampling(capability: unknown, params: unknown): void {
  if (!isObject(params)) throw new TypeError('sample: params must be an object')
  const { tools, toolChoice, includeContext, messages } = params
  const declares = (feature: string) => isObject(capability) && capability[feature] !== undefined
  if ((tools !== undefined || toolChoice !== undefined) && !declares('tools')) {
    throw new Error('the client has not declared the capability sampling (tools)')
  }
  if ((includeContext === 'thisServer' || includeContext === 'allServers') && !declares('context')) {
    throw new Error('the client has not declared the capability sampling (context)')
  }
  if (Array.isArray(messages)) checkToolResults(messages)
}

/** What the model wants of tools is answered whole, by the next message, which holds nothing else. */
function checkToolResults(messages: readonly unknown[]): void {
  let open: unknown[] = []
  for (const message of messages) {
    if (!isObject(message)) continue
    const parts = [message.content].flat() as Parts
    const results = parts.filter(({ type }) => type === 'tool_result')
    const answered = results.map(({ toolUseId }) => toolUseId)
    const isWhole = answered.length === open.length && open.every((id) => answered.includes(id))
    if (!isWhole || (open.length > 0 && (results.length < parts.length || message.role !== 'user'))) {
      throw new TypeError(
        'sample: each tool use is answered by a tool result in the next message, which has nothing else',
      )
    }
    open = parts.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
  }
  if (open.length > 0) throw new TypeError('sample: the last tool use has no tool result')
}
