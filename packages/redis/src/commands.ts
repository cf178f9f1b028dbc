// Steps, one by one: each within its bound, repeated only where that is harmless.
import { StoreUnavailable } from '@fairlead/core'
import type { Redis } from 'ioredis'
import type { Client } from './source.ts'

/** So many steps may wait or be under way: what comes on top is refused at once. */
const MAX_PENDING = 10_000
/** Before a step is tried again whose connection was lost or whose node was not ready. */
const RETRY_MS = 20
const RETRY_MAX_MS = 200
/** So long is waited at most for a connection to be closed. */
const CLOSE_MS = 500

/** What a server says that could not do the step now; it has done nothing. */
const NOT_NOW = /^(LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|MOVED|ASK|NOREPLICAS|UNBLOCKED)\b/

type Send<T> = (client: Client) => Promise<T>

interface Step {
  readonly send: Send<unknown>
  /** It may be sent again after its reply was lost. */
  readonly repeatable: boolean
  readonly due: number
  readonly resolve: (reply: never) => void
  readonly reject: (error: StoreUnavailable) => void
  tries: number
}

export class Commands {
  readonly #timeoutMs: number
  readonly #make: () => Client
  #client: Client | undefined
  /** All that have no reply, the oldest first; as all have the same bound, it is due first. */
  readonly #pending = new Set<Step>()
  /** Those that wait for the connection. */
  #waiting: Step[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #trouble = 'no connection yet'
  #isGathering = false
  #closing: Promise<void> | undefined
  readonly #onReady: (client: Client) => void

  /** Makes its client when it is first needed. `onReady` runs each time that it is connected. */
  constructor(make: () => Client, timeoutMs: number, onReady: (client: Client) => void) {
    this.#make = make
    this.#timeoutMs = timeoutMs
    this.#onReady = onReady
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  /** The client, connecting if it was not. */
  get client(): Client {
    this.#client ??= this.#open()
    return this.#client
  }

  /** Rejects with StoreUnavailable, within the bound. `repeatable: false`: sent once at most. */
  run<T>(send: Send<T>, { repeatable = true }: { repeatable?: boolean } = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.closed) return reject(closedError())
      if (this.#pending.size >= MAX_PENDING) {
        return reject(new StoreUnavailable(`${MAX_PENDING} steps wait for Redis already: ${this.#trouble}`))
      }
      const step: Step = { send, repeatable, due: Date.now() + this.#timeoutMs, resolve, reject, tries: 0 }
      this.#pending.add(step)
      if (this.#timer === undefined) this.#watch(this.#timeoutMs)
      this.#try(step)
    })
  }

  /** Resolves when its connection is closed. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    for (const step of this.#pending) step.reject(closedError())
    this.#pending.clear()
    this.#waiting = []
    const client = this.#client
    if (client === undefined) return
    if (!/^(ready|connect|connecting)$/.test(client.status)) return client.disconnect()
    // One that is just connecting may end without a word.
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, CLOSE_MS)
      client.once('end', () => {
        clearTimeout(late)
        resolve()
      })
      client.disconnect()
    })
  }

  #open(): Client {
    const client = this.#make()
    client.on('error', (error: Error) => {
      this.#trouble = told(error)
    })
    client.on('ready', () => {
      this.#onReady(client)
      const waiting = this.#waiting
      this.#waiting = []
      for (const step of waiting) this.#try(step)
    })
    return client
  }

  #try(step: Step): void {
    if (!this.#pending.has(step)) return
    const { client } = this
    if (client.status !== 'ready') {
      this.#waiting.push(step)
      if (client.status === 'wait' || client.status === 'end') client.connect().catch(() => {})
      return
    }
    step.tries++
    this.#gather(client)
    step.send(client).then(
      (reply) => {
        if (this.#pending.delete(step)) step.resolve(reply as never)
      },
      (error: Error) => this.#failed(step, error),
    )
  }

  /** Steps of one turn of the loop go out in one write: at 64 steps at a time that more than halves what each costs. */
  #gather(client: Client): void {
    // A cluster has a stream for each node.
    const { stream } = client as { stream?: Redis['stream'] }
    if (this.#isGathering || stream === undefined) return
    this.#isGathering = true
    stream.cork()
    process.nextTick(() => {
      this.#isGathering = false
      stream.uncork()
    })
  }

  #failed(step: Step, error: Error): void {
    if (!this.#pending.has(step)) return
    const isReply = error.name === 'ReplyError'
    const isDone = isReply ? !NOT_NOW.test(error.message) : !step.repeatable
    if (isDone) {
      this.#pending.delete(step)
      step.reject(new StoreUnavailable(`Redis: ${told(error)}`))
      return
    }
    this.#trouble = told(error)
    const pause = Math.min(RETRY_MS * 2 ** (step.tries - 1), RETRY_MAX_MS)
    // Where the connection is gone, the next one counts, not the clock.
    if (this.client.status !== 'ready') this.#try(step)
    else setTimeout(() => this.#try(step), pause)
  }

  /** One timer for all of them; it alone keeps no process alive. */
  #watch(ms: number): void {
    this.#timer = setTimeout(() => this.#overdue(), ms)
    this.#timer.unref()
  }

  #overdue(): void {
    const now = Date.now()
    this.#timer = undefined
    let left = 0
    for (const step of this.#pending) {
      if (step.due > now) {
        this.#watch(step.due - now)
        break
      }
      left++
      this.#pending.delete(step)
      step.reject(new StoreUnavailable(`Redis gave no reply within ${this.#timeoutMs} ms: ${this.#trouble}`))
    }
    if (left > 0) this.#waiting = this.#waiting.filter((step) => this.#pending.has(step))
  }
}

function closedError(): StoreUnavailable {
  return new StoreUnavailable('the Redis store is closed')
}

/** Its text alone: errors of ioredis hold the arguments of the command, which are nobody's business. */
function told(error: Error): string {
  const { message, code } = error as Error & { code?: string }
  return message || code || error.name
}
