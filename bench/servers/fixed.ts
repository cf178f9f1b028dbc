// The fixed answers of the two bare servers: what the wire costs when nobody thinks about it.
import { TEXT, text } from './server.ts'

export interface Call {
  id: number
  params: { arguments: { n: number }; _meta: { progressToken: number } }
}

const RESULT = text(TEXT)
const MODERN_RESULT = { ...RESULT, resultType: 'complete' }

export function fixedAnswer(call: Call, workload: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: call.id, result: workload === 'modern' ? MODERN_RESULT : RESULT })
}

function frame(message: unknown): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}

/** The frames of a call with n progress steps: n notifications and the answer. */
export function* progressFrames(call: Call): Generator<string> {
  const total = call.params.arguments.n
  const { progressToken } = call.params._meta
  for (let progress = 1; progress <= total; progress++) {
    yield frame({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, total } })
  }
  yield frame({ jsonrpc: '2.0', id: call.id, result: RESULT })
}
