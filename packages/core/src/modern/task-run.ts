// One run of a task on this node: it owns the record, and every change it makes is a swap.
import type { Call, TaskRun } from '../calls.ts'
import type { Asks } from '../context.ts'
import { CODE, McpError } from '../errors.ts'
import { formSchema } from '../form.ts'
import type { JsonRpcRequest, Params } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { ProtocolVersion } from '../protocol.ts'
import type { Awaitable, Content, Context, Json, Principal, Result } from '../server.ts'
import type { Key } from '../store.ts'
import { type AskMethod, answered, askOf, capabilityMissing, isAnswer } from './ask.ts'

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** What is stored of a task. `v` is the version of this shape. */
export interface TaskRecord {
  v: 1
  owner: string
  /** Counts the runs. */
  run: number
  status: TaskStatus
  statusMessage?: string
  /** Store time, ms. */
  createdAt: number
  updatedAt: number
  ttlMs: number
  pollIntervalMs: number
  principal?: string
  result?: unknown
  error?: { code: number; message: string; data?: Json }
  inputRequests?: Record<string, { method: AskMethod; params?: Params }>
  /** What to run again, where that is safe. */
  again?: {
    message: JsonRpcRequest
    version: ProtocolVersion
    client: Context['client']
    principal?: Principal
    url: string
  }
}

/** The record outlives the task's own end by this, so that a late look says what became of it. */
export const GRACE_MS = 60_000
const INPUTS_PAGE = 100
/** Status messages are written at most this often. */
const PROGRESS_MS = 100

export function taskKey(id: string): Key {
  return { tag: `task:${id}`, name: 'task' }
}
export function inputsKey(id: string): Key {
  return { tag: `task:${id}`, name: 'inputs' }
}
export function isOver({ status }: TaskRecord): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
/** ms for which the record is still kept. */
export function lifeOf({ createdAt, ttlMs }: TaskRecord, now: number): number {
  return Math.max(1, createdAt + ttlMs + GRACE_MS - now)
}

export class Run implements TaskRun {
  readonly id: string
  readonly asks: Asks
  readonly #node: Node
  readonly #call: Call
  readonly #closed: () => void
  #text: string
  /** Changes go one after the other. */
  #work: Promise<unknown> = Promise.resolve()
  readonly #waiting = new Map<
    string,
    { method: AskMethod; resolve(answer: unknown): void; reject(error: Error): void }
  >()
  readonly #used = new Set<string>()
  /** Cursor in the log of inputs. */
  #after = 0
  #early = new Map<string, unknown>()
  #message: string | undefined
  #over = false

  constructor(node: Node, id: string, text: string, call: Call, once: Asks['once'], closed: () => void) {
    this.id = id
    this.#node = node
    this.#text = text
    this.#call = call
    this.#closed = closed
    this.asks = {
      elicit: async (_call, key, wanted) => {
        const isForm = 'schema' in wanted
        this.#mustHave('elicitation', isForm ? 'form' : 'url')
        const params: Params = isForm
          ? { mode: 'form', message: wanted.message, requestedSchema: await formSchema(wanted.schema) }
          : { mode: 'url', message: wanted.message, url: wanted.url }
        return answered(await this.#ask(key, 'elicitation/create', params), isForm ? wanted.schema : undefined)
      },
      sample: async (_call, key, params) => {
        this.#mustHave('sampling')
        const answer = await this.#ask(key, 'sampling/createMessage', { ...params })
        return answer as { role: string; content: Content; model: string }
      },
      roots: async (_call, key) => {
        this.#mustHave('roots')
        return ((await this.#ask(key, 'roots/list')) as { roots: { uri: string; name?: string }[] }).roots
      },
      once: <T extends Json | void>(on: Call, key: string, fn: () => Awaitable<T>) => once(on, key, fn),
      startTask: async () => {},
      closeStream: async () => {},
      ask: async (_call, key, method, params) => {
        const asked = askOf(method, params)
        this.#mustHave(asked.capability, asked.mode)
        return (await this.#ask(key, asked.method, asked.params)) as Json
      },
    }
  }

  /** A task's progress message is its status message. */
  async progress(progress: number, total?: number, message?: string): Promise<void> {
    const isWaiting = this.#message !== undefined
    this.#message = message ?? (total === undefined ? String(progress) : `${progress} of ${total}`)
    if (isWaiting || this.#over) return
    this.#node.timers.after(PROGRESS_MS, () => {
      const statusMessage = this.#message
      this.#message = undefined
      if (!this.#over) void this.#change((record) => ({ ...record, statusMessage }))
    })
  }

  returned(result: Result): void {
    void this.#finish({ status: 'completed', result: { ...result, resultType: 'complete' } })
  }

  failed(error: unknown): void {
    if (!(error instanceof McpError)) this.#node.report(error, 'task', this.#call.message.method)
    const { code, message, data } = error instanceof McpError ? error : new McpError(CODE.internal, 'internal error')
    void this.#finish({
      status: 'failed',
      statusMessage: message,
      error: data === undefined ? { code, message } : { code, message, data },
    })
  }

  cancel(): Promise<void> {
    return this.#finish({ status: 'cancelled' })
  }

  /** There are answers in the log. */
  async wake(): Promise<void> {
    const read = await this.#node.store.log.read(inputsKey(this.id), this.#node.id, {
      take: 'attach',
      after: this.#after,
      max: INPUTS_PAGE,
    })
    for (const { n, text } of read.entries) {
      this.#after = n
      const [key, answer] = JSON.parse(text) as [string, unknown]
      const waiting = this.#waiting.get(key)
      if (!waiting) this.#early.set(key, answer)
      else if (isAnswer(waiting.method, answer)) this.#take(key, answer)
    }
    if (read.entries.length === INPUTS_PAGE) await this.wake()
  }

  /** Stops the handler without a word in the record: another node may run it again. */
  abandon(): void {
    this.#end(new DOMException('this node is stopping', 'AbortError'))
  }

  #mustHave(capability: string, mode?: 'form' | 'url'): void {
    const missing = capabilityMissing(this.#call, capability, mode)
    if (missing) throw missing
  }

  async #ask(key: string, method: AskMethod, params?: Params): Promise<unknown> {
    if (this.#used.has(key)) throw new Error(`the key ${JSON.stringify(key)} is used twice in one task`)
    this.#used.add(key)
    // After a restart it may have been answered already.
    await this.wake().catch(() => {})
    const early = this.#early.get(key)
    if (early !== undefined && isAnswer(method, early)) return early
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(key, { method, resolve, reject }))
    answer.catch(() => {}) // heard of where it is awaited
    await this.#change((record) => ({
      ...record,
      status: 'input_required',
      inputRequests: { ...record.inputRequests, [key]: params ? { method, params } : { method } },
    }))
    return answer
  }

  #take(key: string, answer: unknown): void {
    const waiting = this.#waiting.get(key)!
    this.#waiting.delete(key)
    void this.#change((record) => {
      const { [key]: _, ...inputRequests } = record.inputRequests ?? {}
      const { inputRequests: __, ...rest } = record
      return Object.keys(inputRequests).length > 0 ? { ...rest, inputRequests } : { ...rest, status: 'working' }
    })
    waiting.resolve(answer)
  }

  async #finish(outcome: Pick<TaskRecord, 'status'> & Partial<TaskRecord>): Promise<void> {
    if (this.#over) return
    this.#over = true
    try {
      await this.#change(({ inputRequests: _, again: __, ...record }) => ({ ...record, ...outcome }))
    } finally {
      this.#end(new DOMException('the task has ended', 'AbortError'))
    }
  }

  #end(reason: DOMException): void {
    this.#over = true
    this.#call.abort(reason)
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
    this.#closed()
  }

  #change(change: (record: TaskRecord) => TaskRecord): Promise<void> {
    const work = this.#work.then(() => this.#swap(change))
    this.#work = work.catch((error) => this.#node.report(error, 'task', this.#call.message.method))
    return this.#work as Promise<void>
  }

  async #swap(change: (record: TaskRecord) => TaskRecord): Promise<void> {
    const { store, changes } = this.#node
    const before = JSON.parse(this.#text) as TaskRecord
    const now = store.now()
    const after = { ...change(before), updatedAt: now }
    const text = JSON.stringify(after)
    if (await store.kv.swap(taskKey(this.id), this.#text, text, lifeOf(after, now))) {
      this.#text = text
      if (after.status !== before.status || isOver(after))
        await changes.publish({ kind: 'task', uri: this.id }).catch(() => {})
      return
    }
    // Somebody else has changed it, and only a node that thinks this one dead, or time, does that: the task is lost.
    this.#end(new DOMException('the task is no longer run here', 'AbortError'))
  }
}
