// Makes a handler's ctx: what belongs to the call itself is here; asks go to its era.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Call } from './calls.ts'
import { notificationText } from './jsonrpc.ts'
import type {
  Awaitable,
  Content,
  Context,
  Elicited,
  Json,
  LogLevel,
  Notify,
  Principal,
  RawContext,
  Reporter,
  SamplingMessage,
  Session,
} from './server.ts'

/** What a call asks of its client, in the way of its era. */
export interface Asks {
  elicit(call: Call, key: string, ask: ElicitForm | ElicitLink): Promise<Elicited<unknown>>
  sample(call: Call, key: string, params: SampleParams): Promise<{ role: string; content: Content; model: string }>
  roots(call: Call, key: string): Promise<readonly { uri: string; name?: string }[]>
  once<T extends Json | void>(call: Call, key: string, fn: () => Awaitable<T>): Promise<T>
  startTask(call: Call): Promise<void>
  closeStream(call: Call, retryMs: number | undefined): Promise<void>
  /** A request as it is (`RawContext`). */
  ask(call: Call, key: string, method: string, params: Json | undefined, options: AskOptions): Promise<Json>
}

export interface AskOptions {
  timeoutMs?: number
  signal?: AbortSignal
}

export interface ElicitForm {
  message: string
  schema: StandardSchemaV1<unknown, Record<string, unknown>>
}
export interface ElicitLink {
  message: string
  url: string
}
export interface SampleParams {
  messages: SamplingMessage[]
  maxTokens: number
  systemPrompt?: string
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export function isLogLevel(value: unknown): value is LogLevel {
  return LEVELS.includes(value as LogLevel)
}

export class CallContext implements Context, Reporter, RawContext {
  readonly #call: Call
  #progress = Number.NEGATIVE_INFINITY

  constructor(call: Call) {
    this.#call = call
  }

  get #asks(): Asks {
    return this.#call.task?.asks ?? this.#call.wire.asks
  }

  /** What the handler has thrown and the client does not get to see. */
  report(error: unknown): void {
    this.#call.report(error)
  }

  get context(): unknown {
    return this.#call.context
  }
  get signal(): AbortSignal {
    return this.#call.signal
  }
  get request(): Request {
    return this.#call.exchange.request()
  }
  get era(): 'legacy' | 'modern' {
    return this.#call.wire.era
  }
  get protocolVersion(): Context['protocolVersion'] {
    return this.#call.version
  }
  get client(): Context['client'] {
    return this.#call.client
  }
  get principal(): Principal | undefined {
    return this.#call.principal
  }
  get session(): Session | undefined {
    return this.#call.session
  }
  get notify(): Notify {
    return this.#call.node.notify
  }

  /** Strictly increasing, and only to a client that gave a token (E-15). */
  async progress(progress: number, total?: number, message?: string): Promise<void> {
    if (!(progress > this.#progress)) return
    if (this.#call.task) return this.#call.task.progress(progress, total, message)
    const { params } = this.#call.message
    const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken
    if (token === undefined) return
    this.#progress = progress
    this.#call.answer.message(
      notificationText('notifications/progress', { progressToken: token, progress, total, message }),
    )
  }

  async log(level: LogLevel, data: Json): Promise<void> {
    const { answer, task } = this.#call
    // A task has no log messages (K-18).
    if (task || !this.#wantsLog(level)) return
    answer.message(notificationText('notifications/message', { level, data }))
  }

  #wantsLog(level: LogLevel): boolean {
    const { logLevel } = this.#call
    return logLevel !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(logLevel)
  }

  elicit<S extends StandardSchemaV1<unknown, Record<string, unknown>>>(
    key: string,
    form: { message: string; schema: S },
  ): Promise<Elicited<StandardSchemaV1.InferOutput<S>>>
  elicit(key: string, link: ElicitLink): Promise<Elicited<undefined>>
  elicit(key: string, ask: ElicitForm | ElicitLink): Promise<Elicited<never>> {
    return heard(this.#asks.elicit(this.#call, key, ask)) as Promise<Elicited<never>>
  }
  sample(key: string, params: SampleParams): Promise<{ role: string; content: Content; model: string }> {
    return heard(this.#asks.sample(this.#call, key, params))
  }
  roots(key = 'roots'): Promise<readonly { uri: string; name?: string }[]> {
    return heard(this.#asks.roots(this.#call, key))
  }
  once<T extends Json | void>(key: string, fn: () => Awaitable<T>): Promise<T> {
    return this.#asks.once(this.#call, key, fn)
  }
  startTask(): Promise<void> {
    return this.#asks.startTask(this.#call)
  }
  closeStream(options?: { retryMs?: number }): Promise<void> {
    return this.#asks.closeStream(this.#call, options?.retryMs)
  }

  get logLevel(): LogLevel | undefined {
    return this.#call.logLevel
  }
  ask(key: string, method: string, params?: Json, options: AskOptions = {}): Promise<Json> {
    return heard(this.#asks.ask(this.#call, key, method, params, options))
  }
  tell(method: string, params?: Json): void {
    if (this.#call.task) return
    if (method === 'notifications/message' && !this.#wantsLog((params as { level: LogLevel }).level)) return
    this.#call.answer.message(notificationText(method, params))
  }
}

/** The end of a round, a call or a task rejects asks that their handler may wait for only later: no unhandled error. */
function heard<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {})
  return answer
}
