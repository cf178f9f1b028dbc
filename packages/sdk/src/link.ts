// The transport that an official server is connected to: messages in memory, with ids that are this instance's alone.
import { type Context, type Json, McpError, type RawContext, type Result } from '@fairlead/core'
import type { CallExtra } from './extra.ts'

export type CallContext = Context & RawContext
export type Params = { [key: string]: unknown }
type Id = string | number

export interface Message {
  jsonrpc: '2.0'
  id?: Id
  method?: string
  params?: Params
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

/** What becomes of the messages that a server sends by itself. `ctx`: of the call that a message is about. */
export interface Outside {
  request(method: string, params: Params | undefined, ctx: CallContext | undefined, signal: AbortSignal): Promise<Json>
  notification(method: string, params: Params | undefined, ctx: CallContext | undefined): void
}

interface Call {
  /** The instance's own requests have none. */
  readonly ctx: CallContext | undefined
  resolve(result: Result): void
  reject(error: unknown): void
}

const INTERNAL = -32603

export class Link {
  readonly sessionId: string | undefined
  /** Set by the server when it is connected. */
  onmessage: ((message: Message, extra?: CallExtra) => void) | undefined
  onclose: (() => void) | undefined
  onerror: ((error: Error) => void) | undefined
  /** v2: which scopes a request lacks. */
  challenge: ((context: object) => unknown) | undefined
  readonly #outside: Outside
  readonly #calls = new Map<Id, Call>()
  /** Requests of the server that the client has not answered yet, by the server's ids. */
  readonly #asking = new Map<Id, AbortController>()
  /** From 1 on: v1 can't cancel a request 0. */
  #lastId = 0
  #isClosed = false

  constructor(outside: Outside, sessionId?: string) {
    this.#outside = outside
    this.sessionId = sessionId
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Something is under way. */
  get isBusy(): boolean {
    return this.#calls.size > 0 || this.#asking.size > 0
  }

  /** The call that began last. */
  get latest(): CallContext | undefined {
    return [...this.#calls.values()].findLast(({ ctx }) => ctx)?.ctx
  }

  /** A client's request. Rejects with a McpError as the server sent it, and with the signal's reason when it is cancelled. */
  call(method: string, params: Params, ctx: CallContext, extra: CallExtra): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { signal } = ctx
      const aborted = () => {
        this.#calls.delete(id)
        reject(signal.reason)
        this.notify('notifications/cancelled', { requestId: id, reason: textOf(signal.reason) })
      }
      const id = this.#request(method, (id) => withToken(params, id), extra, {
        ctx,
        resolve(result) {
          signal.removeEventListener('abort', aborted)
          resolve(result)
        },
        reject(error) {
          signal.removeEventListener('abort', aborted)
          reject(error)
        },
      })
      if (signal.aborted) aborted()
      else signal.addEventListener('abort', aborted)
    })
  }

  /** A request of our own. */
  ask(method: string, params: Params): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#request(method, () => params, undefined, { ctx: undefined, resolve, reject })
    })
  }

  /** A client's notification. */
  notify(method: string, params?: Params): void {
    this.onmessage?.(params ? { jsonrpc: '2.0', method, params } : { jsonrpc: '2.0', method })
  }

  async start(): Promise<void> {}

  /** The server sends something. */
  async send(message: Message, { relatedRequestId }: { relatedRequestId?: Id } = {}): Promise<void> {
    if (this.#isClosed) return
    const { id, method, params } = message
    if (method === undefined) this.#answered(message)
    else if (id === undefined) this.#told(method, params, relatedRequestId)
    else void this.#asked(id, method, params, relatedRequestId)
  }

  /** By the server, or by us: either way it is over for both. What runs is rejected. */
  async close(error: unknown = new DOMException('the server has closed its connection', 'AbortError')): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const controller of this.#asking.values()) controller.abort(error)
    for (const { reject } of this.#calls.values()) reject(error)
    this.#asking.clear()
    this.#calls.clear()
    this.onclose?.()
  }

  setScopeChallengeResolver(resolve: (context: object) => unknown): void {
    this.challenge = resolve
  }

  #request(method: string, params: (id: number) => Params, extra: CallExtra | undefined, call: Call): number {
    const id = ++this.#lastId
    if (this.#isClosed || !this.onmessage) {
      call.reject(new Error('fromSdk: the server is not connected'))
      return id
    }
    this.#calls.set(id, call)
    this.onmessage({ jsonrpc: '2.0', id, method, params: params(id) }, extra)
    return id
  }

  #answered({ id, result, error }: Message): void {
    const call = id === undefined ? undefined : this.#calls.get(id)
    if (!call) return
    this.#calls.delete(id!)
    if (error) call.reject(new McpError(error.code, error.message, error.data as Json | undefined))
    else call.resolve(result as Result)
  }

  /** Without a hint, a message is about the only call that runs: v1's `server.elicitInput` gives none. */
  #contextOf(related: Id | undefined): CallContext | undefined {
    if (related !== undefined) return this.#calls.get(related)?.ctx
    let only: CallContext | undefined
    for (const { ctx } of this.#calls.values()) {
      if (only && ctx) return undefined
      only ??= ctx
    }
    return only
  }

  #told(method: string, params: Params | undefined, related: Id | undefined): void {
    try {
      if (method === 'notifications/progress') {
        const { progressToken, progress, total, message } = params as unknown as Progress
        void this.#calls.get(progressToken)?.ctx?.progress(progress, total, message)
      } else if (method === 'notifications/cancelled') {
        this.#asking.get(params?.requestId as Id)?.abort(new DOMException(textOf(params?.reason), 'AbortError'))
      } else {
        const ctx = this.#contextOf(related)
        // About a call that has ended: its stream has, too.
        if (ctx || related === undefined) this.#outside.notification(method, params, ctx)
      }
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }

  async #asked(id: Id, method: string, params: Params | undefined, related: Id | undefined): Promise<void> {
    const controller = new AbortController()
    this.#asking.set(id, controller)
    let answer: Message
    try {
      const ctx = this.#contextOf(related)
      if (!ctx && related !== undefined) throw new Error(`${method}: the call that asks this has ended`)
      const result = await this.#outside.request(method, withoutToken(params), ctx, controller.signal)
      answer = { jsonrpc: '2.0', id, result }
    } catch (error) {
      answer = { jsonrpc: '2.0', id, error: errorOf(error) }
    }
    // One that was cancelled is answered no more.
    if (this.#asking.get(id) !== controller) return
    this.#asking.delete(id)
    if (!controller.signal.aborted) this.onmessage?.(answer)
  }
}

interface Progress {
  progressToken: Id
  progress: number
  total?: number
  message?: string
}

/** A progress token of the client is its own; the instance sees the id of its call. */
function withToken(params: Params, id: number): Params {
  const meta = params._meta as Params | undefined
  return meta?.progressToken === undefined ? params : { ...params, _meta: { ...meta, progressToken: id } }
}

/** The progress of an ask is not passed on, so it is not asked for; nor are the tasks of 2025-11-25. */
function withoutToken(params: Params | undefined): Params | undefined {
  if (params?._meta === undefined && params?.task === undefined) return params
  const { _meta, task: _, ...rest } = params
  const { progressToken: __, ...meta } = (_meta ?? {}) as Params
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}

function errorOf(error: unknown): NonNullable<Message['error']> {
  if (error instanceof McpError) {
    const { code, message, data } = error
    return data === undefined ? { code, message } : { code, message, data }
  }
  return { code: INTERNAL, message: textOf(error) }
}

function textOf(reason: unknown): string {
  if (typeof reason === 'string') return reason
  const { message } = (reason ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : 'cancelled'
}
