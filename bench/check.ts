// Is this the right answer? Asked of every answer, in the warm-up and in the windows.
import type { Answer } from './http.ts'

export interface Expected {
  /** The text of the tool's one block. */
  text: string
  /** Progress notifications before the answer. */
  steps: number
  /** The forms that the client accepts. */
  form: 'json' | 'sse' | 'either'
  modern: boolean
}

interface Message {
  jsonrpc?: string
  id?: unknown
  method?: string
  params?: { progressToken?: unknown; progress?: unknown; total?: unknown }
  result?: { content?: { type?: string; text?: string }[]; isError?: boolean; resultType?: string }
}

const CONTENT_TYPE = /\r\ncontent-type: *([^;\r]+)/i

/** The messages of an SSE body: frames with data. Comments and empty frames are no messages. */
export function sseMessages(body: string): string[] {
  const messages: string[] = []
  for (const frame of (body.includes('\r') ? body.replaceAll(/\r\n?/g, '\n') : body).split('\n\n')) {
    const lines: string[] = []
    for (const line of frame.split('\n')) {
      if (line.startsWith('data:')) lines.push(line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5))
    }
    const data = lines.join('\n')
    if (data !== '') messages.push(data)
  }
  return messages
}

/** What is wrong with the answer to the call `id`; undefined when nothing is. */
export function wrongWith(answer: Answer, id: number, expected: Expected): string | undefined {
  if (answer.status !== 200) return `status ${answer.status}: ${answer.body.slice(0, 200)}`
  const type = CONTENT_TYPE.exec(answer.head)?.[1]
  const form = type === 'application/json' ? 'json' : type === 'text/event-stream' ? 'sse' : undefined
  if (form === undefined || (expected.form !== 'either' && form !== expected.form)) return `answered as ${type}`
  let messages: Message[]
  try {
    messages = form === 'json' ? [JSON.parse(answer.body)] : sseMessages(answer.body).map((data) => JSON.parse(data))
  } catch {
    return `not JSON: ${answer.body.slice(0, 200)}`
  }
  if (messages.length !== expected.steps + 1) return `${messages.length} messages, not ${expected.steps + 1}`
  for (let step = 1; step <= expected.steps; step++) {
    const { method, params } = messages[step - 1]!
    const right =
      method === 'notifications/progress' &&
      params?.progressToken === id &&
      params.progress === step &&
      params.total === expected.steps
    if (!right) return `wrong step ${step}: ${JSON.stringify(messages[step - 1])}`
  }
  const last = messages[expected.steps]!
  const content = last.result?.content
  if (last.jsonrpc !== '2.0' || last.id !== id) return `the answer to ${String(last.id)}, not to ${id}`
  if (
    last.result?.isError ||
    content?.length !== 1 ||
    content[0]?.type !== 'text' ||
    content[0].text !== expected.text
  ) {
    return `wrong answer: ${JSON.stringify(last).slice(0, 200)}`
  }
  if (expected.modern && last.result?.resultType !== 'complete') return 'a modern result without its resultType'
  return undefined
}
