// The calls that run on this node, by session and typed id: cancel, count, drain.
import type { Answer } from './answer.ts'
import type { Asks } from './context.ts'
import { CODE, McpError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { errorText, isObject, type JsonRpcRequest, mcpErrorText, type RequestId, resultText } from './jsonrpc.ts'
import type { Node } from './node.ts'
import type { ProtocolVersion } from './protocol.ts'
import type { Context, LogLevel, Principal, Result, Session } from './server.ts'

/** How an era answers: what its results look like on the wire, and with which status an error goes out. */
export interface Wire {
  readonly era: 'legacy' | 'modern'
  /** The JSON text of a result, with what this era adds to it or leaves out. */
  result(call: Call, result: Result): string
  /** The error as this era may send it; undefined: not at all, so it is an internal one. */
  error(error: McpError): McpError | undefined
  /** Only for an error that comes before anything was sent. */
  errorStatus(code: number): number
  readonly asks: Asks
}

/** What a call has become that is a task: its handler's doings go there. */
export interface TaskRun {
  readonly asks: Asks
  progress(progress: number, total?: number, message?: string): Promise<void>
  returned(result: Result): void
  failed(error: unknown): void
}

const NOBODY: Context['client'] = { capabilities: {} }

/** One running request. */
export class Call {
  readonly node: Node
  readonly wire: Wire
  readonly message: JsonRpcRequest
  readonly exchange: Exchange
  readonly answer: Answer
  /** Known once the request is admitted: a call can be cancelled before that. */
  version: ProtocolVersion
  client: Context['client'] = NOBODY
  principal: Principal | undefined
  session: Session | undefined
  /** What the app's `context` option made. */
  context: unknown
  /** Log messages below it are not sent; undefined: none are. */
  logLevel: LogLevel | undefined
  /** Set when the call has become a task. */
  task: TaskRun | undefined
  /** Its place in the table of calls. */
  key: string | undefined
  #controller: AbortController | undefined
  #cancelled: { reason: unknown } | undefined
  #suspended: { outcome: (() => void) | undefined } | undefined
  #whenOver: (() => void) | undefined
  readonly #started: number

  /** Store time at which it began; a cancel that was sent before is not meant for it. */
  readonly began: number

  constructor(
    node: Node,
    wire: Wire,
    version: ProtocolVersion,
    message: JsonRpcRequest,
    exchange: Exchange,
    answer: Answer,
  ) {
    this.node = node
    this.wire = wire
    this.version = version
    this.message = message
    this.exchange = exchange
    this.answer = answer
    this.began = node.store.now()
    this.#started = node.settings.observer.request ? performance.now() : 0
  }

  /** Made when a handler looks at it: most never do. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#cancelled) this.#controller.abort(this.#cancelled.reason)
    }
    return this.#controller.signal
  }

  /** Stops the handler; no answer goes out. */
  cancel(reason: unknown): void {
    if (this.answer.ended) return
    this.#cancelled = { reason }
    this.answer.end(undefined)
    this.#over(undefined)
    this.#controller?.abort(reason)
  }

  /** Stops the handler of a task. */
  abort(reason: unknown): void {
    this.#cancelled = { reason }
    this.#controller?.abort(reason)
  }

  /** Stops the handler and answers with an error. */
  fail(error: McpError): void {
    if (this.answer.ended) return
    this.#cancelled = { reason: error }
    this.failed(error)
    this.#controller?.abort(error)
  }

  /** The call is about to be answered by something else than its handler: what that returns is kept back. */
  suspend(): void {
    this.#suspended ??= { outcome: undefined }
  }

  /** It is the handler's again. */
  unsuspend(): void {
    const outcome = this.#suspended?.outcome
    this.#suspended = undefined
    outcome?.()
  }

  /** The handler has returned. */
  returned(result: Result): void {
    if (this.task) this.task.returned(result)
    else if (this.#suspended) this.#suspended.outcome = () => this.returned(result)
    else this.respond(result)
  }

  /** Answers with a result, whatever the handler does. */
  respond(result: Result): void {
    if (this.answer.ended) return
    let text: string
    try {
      if (!isObject(result)) throw new TypeError(`${this.message.method} returned no result object`)
      text = resultText(this.message.id, this.wire.result(this, result))
    } catch (error) {
      this.unsuspend()
      this.failed(error)
      return
    }
    this.answer.end(text)
    this.#over(undefined)
  }

  /** The handler has thrown: the text of anything but a McpError stays here. */
  failed(error: unknown): void {
    if (this.task) {
      this.task.failed(error)
      return
    }
    if (this.#suspended && !this.answer.ended) {
      this.#suspended.outcome = () => this.failed(error)
      return
    }
    if (this.answer.ended) {
      this.report(error)
      return
    }
    const { id } = this.message
    const sent = error instanceof McpError ? this.wire.error(error) : undefined
    if (sent) {
      this.answer.end(mcpErrorText(id, sent), this.wire.errorStatus(sent.code))
      this.#over(sent.code)
      return
    }
    this.report(error)
    this.answer.end(errorText(id, CODE.internal, 'internal error'))
    this.#over(CODE.internal)
  }

  /** Tells the app, unless it is but the end of a handler that was stopped. */
  report(error: unknown): void {
    const isStopped = this.#cancelled !== undefined || this.#suspended !== undefined || this.answer.ended
    if (isStopped && (error === this.#cancelled?.reason || isAbort(error))) return
    this.node.report(error, 'call', this.message.method, this.session?.id)
  }

  /** Runs when the call has ended; at once if it has. */
  whenOver(run: () => void): void {
    if (this.answer.ended) run()
    else this.#whenOver = run
  }

  #over(error: number | undefined): void {
    this.node.calls.remove(this)
    this.#whenOver?.()
    if (!this.node.settings.observer.request) return
    const { method, params } = this.message
    const name = params?.name ?? params?.uri
    this.node.observe('request', {
      method,
      version: this.version,
      ms: performance.now() - this.#started,
      ...(typeof name === 'string' ? { name } : {}),
      ...(error === undefined ? {} : { error }),
    })
  }
}

/** What a handler that heeds its signal throws when it is stopped. */
function isAbort(error: unknown): boolean {
  return isObject(error) && error.name === 'AbortError'
}

export class Calls {
  readonly #all = new Set<Call>()
  readonly #byKey = new Map<string, Call[]>()
  #drained: (() => void) | undefined

  get count(): number {
    return this.#all.size
  }

  /** `sessionId` and the id's type and value name a call to its canceller (S25, W13). */
  add(call: Call, sessionId: string | undefined): void {
    this.#all.add(call)
    if (sessionId === undefined) return
    call.key = keyOf(sessionId, call.message.id)
    const same = this.#byKey.get(call.key)
    if (same) same.push(call)
    else this.#byKey.set(call.key, [call])
  }

  remove(call: Call): void {
    if (!this.#all.delete(call)) return
    if (call.key !== undefined) {
      const same = this.#byKey.get(call.key)!
      if (same.length === 1) this.#byKey.delete(call.key)
      else same.splice(same.indexOf(call), 1)
    }
    if (this.#all.size === 0) this.#drained?.()
  }

  /** An id that no call has is no fault (E-18). `at`, store time: calls that began later are not meant. */
  cancel(sessionId: string, id: RequestId, reason: unknown, at: number): void {
    for (const call of [...(this.#byKey.get(keyOf(sessionId, id)) ?? [])]) if (call.began <= at) call.cancel(reason)
  }

  /** Every call of one session, or of all. */
  each(run: (call: Call) => void): void {
    for (const call of [...this.#all]) run(call)
  }

  /** Resolves when none is left. */
  drained(): Promise<void> {
    if (this.#all.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained = resolve
    })
  }
}

function keyOf(sessionId: string, id: RequestId): string {
  return typeof id === 'number' ? `${sessionId}#${id}` : `${sessionId}"${id}`
}
