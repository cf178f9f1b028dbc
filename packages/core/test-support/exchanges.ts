// What a client of 2026-07-28 does over more than one exchange: rounds, listens, tasks.
import { expect } from 'vitest'
import type { Transport } from '../src/transport.ts'
import { type HeaderChanges, META, modern, type Params, type Sent } from './clients.ts'
import { Listener } from './listener.ts'
import { type Answer, Frames, type Message } from './sse.ts'

export const ALL_ASKS = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
export const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** Members of `_meta` that declare capabilities. */
export function declaring(capabilities: object): Params {
  return { [`${META}clientCapabilities`]: capabilities }
}

export interface CallSent extends Omit<Sent, 'meta'> {
  capabilities?: object
  meta?: Params
  args?: Params
  /** More members of `params`: `requestState` and `inputResponses`. */
  more?: Params
}

/** `tools/call` of a client that can do all, unless it says otherwise. */
export function callTool(
  transport: Transport,
  name: string,
  { capabilities = { ...ALL_ASKS, ...TASKS }, meta, args = {}, more, ...sent }: CallSent = {},
): Promise<Answer> {
  const params = { name, arguments: args, ...more }
  return modern(transport).request('tools/call', params, { ...sent, meta: { ...declaring(capabilities), ...meta } })
}

export interface Asked {
  inputRequests: Record<string, { method: string; params?: Params }>
  requestState: string
}

/** What an answer asks for, which must be something. */
export function askedIn({ message, text }: Answer): Asked {
  expect(message.result, text).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  return message.result as unknown as Asked
}

/** The members of a retry. */
export function retryOf({ requestState }: Pick<Asked, 'requestState'>, inputResponses?: unknown): Params {
  return inputResponses === undefined ? { requestState } : { requestState, inputResponses }
}

/** An accepted form with one field. */
export function accepted(content: Params): Params {
  return { action: 'accept', content }
}

/** `subscriptions/listen`, its acknowledgement read. */
export async function subscribe(
  transport: Transport,
  notifications: Params,
  {
    id,
    headers,
    capabilities = TASKS,
    signal,
  }: { id?: string | number; headers?: HeaderChanges; capabilities?: object; signal?: AbortSignal } = {},
): Promise<Listener> {
  const sent: Sent = { meta: declaring(capabilities) }
  if (id !== undefined) sent.id = id
  if (headers) sent.headers = headers
  if (signal) sent.signal = signal
  const response = await modern(transport).open('subscriptions/listen', { notifications }, sent)
  expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({
    status: 200,
    type: 'text/event-stream',
  })
  const listener = new Listener(new Frames(response))
  await listener.has(1)
  return listener
}

/** What a listener was told after the acknowledgement: the listing, the URI or the task's status. */
export function toldTo({ messages }: Listener): string[] {
  return messages.slice(1).map(toldBy)
}

function toldBy({ method, params, result }: Message): string {
  if (result) return 'result'
  const short = method?.replace('notifications/', '').replace('/list_changed', '') ?? ''
  return short === 'resources/updated' ? String(params?.uri) : short === 'tasks' ? String(params?.status) : short
}

export interface TaskState {
  taskId: string
  status: string
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  ttlMs: number
  pollIntervalMs: number
  result?: Params
  error?: { code: number; message: string; data?: unknown }
  inputRequests?: Asked['inputRequests']
}

/** `tasks/get`, `tasks/update` or `tasks/cancel`. */
export function ofTask(
  transport: Transport,
  method: 'tasks/get' | 'tasks/update' | 'tasks/cancel',
  taskId: unknown,
  { capabilities = TASKS, more, ...sent }: CallSent = {},
): Promise<Answer> {
  const headers = typeof taskId === 'string' ? { 'mcp-name': taskId, ...sent.headers } : sent.headers
  const all: Sent = { ...sent, meta: declaring(capabilities) }
  if (headers) all.headers = headers
  return modern(transport).request(method, { taskId, ...more }, all)
}

/** A task that a call has become. */
export async function startedTask(transport: Transport, name: string, sent?: CallSent): Promise<TaskState> {
  const { message, text } = await callTool(transport, name, sent)
  expect(message.result, text).toMatchObject({ resultType: 'task', status: 'working' })
  return message.result as unknown as TaskState
}

export async function stateOf(
  transport: Transport,
  { taskId }: Pick<TaskState, 'taskId'>,
  sent?: CallSent,
): Promise<TaskState> {
  const { message, text } = await ofTask(transport, 'tasks/get', taskId, sent)
  expect(message.result, text).toMatchObject({ resultType: 'complete', taskId })
  return message.result as unknown as TaskState
}

/** The state of a task once it has that status. */
export async function statusOf(
  transport: Transport,
  task: Pick<TaskState, 'taskId'>,
  status: string,
  sent?: CallSent,
): Promise<TaskState> {
  for (let looks = 0; looks < 1000; looks++) {
    const state = await stateOf(transport, task, sent)
    if (state.status === status) return state
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`the task did not become ${status}`)
}
