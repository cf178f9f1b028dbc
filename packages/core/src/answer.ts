// The answer of one request: JSON, or an event stream from the first message on.
import type { Forms, Reply } from './exchange.ts'
import { JSON_HEADERS } from './exchange.ts'
import type { Node } from './node.ts'
import { frame, SSE_HEADERS } from './sse.ts'
import type { Timer } from './timers.ts'

/** The stream of one call, in the way of its era. */
export interface Outlet {
  readonly reply: Reply
  message(json: string): void
  /** The answer, or undefined for an end without one. Nothing comes after it. */
  end(json: string | undefined): void
}

/** A cancelled call has no answer, and its exchange must end all the same. */
const NO_ANSWER: Reply = { status: 202, headers: {} }

export class Answer {
  readonly #node: Node
  readonly #forms: Forms
  readonly #openOutlet: () => Outlet
  readonly #slow: (() => void) | undefined
  #outlet: Outlet | undefined
  #reply: Reply | undefined
  #decide: ((reply: Reply) => void) | undefined
  #timer: Timer | undefined
  #ended = false

  /** `slow` is called when the answer takes longer than `streamAfterMs`, in whatever form it will come. */
  constructor(node: Node, forms: Forms, openOutlet: () => Outlet, slow?: () => void) {
    this.#node = node
    this.#forms = forms
    this.#openOutlet = openOutlet
    this.#slow = slow
  }

  get ended(): boolean {
    return this.#ended
  }

  get streaming(): boolean {
    return this.#outlet !== undefined
  }

  /** Sends a message ahead of the answer. `need`: it turns even an answer that should be JSON into a stream. False: no stream can carry it. */
  message(json: string, need = false): boolean {
    if (this.#ended || !this.stream(need)) return false
    this.#outlet!.message(json)
    return true
  }

  /** Turns into a stream now, if it may. */
  stream(need = false): boolean {
    if (this.#outlet) return true
    if (this.#ended || !this.#forms.sse) return false
    if (this.#node.settings.response === 'json' && this.#forms.json && !need) return false
    this.#outlet = this.#openOutlet()
    this.#settle(this.#outlet.reply)
    return true
  }

  /** The answer itself; undefined: none will come. `status` counts only where no stream has begun. */
  end(json: string | undefined, status = 200): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#outlet) this.#outlet.end(json)
    else this.#settle(this.#whole(json, status))
  }

  /** What the exchange is answered with, as soon as that is decided. */
  reply(): Reply | Promise<Reply> {
    if (this.#reply) return this.#reply
    this.#timer = this.#node.timers.after(this.#node.settings.streams.streamAfterMs, () => {
      this.#slow?.()
      this.stream()
    })
    return new Promise((resolve) => {
      this.#decide = resolve
    })
  }

  /** An answer that nothing was sent before: JSON, or one event as a whole text. */
  #whole(json: string | undefined, status: number): Reply {
    const { response } = this.#node.settings
    const asEvent = this.#forms.sse && status === 200 && (response === 'sse' || !this.#forms.json)
    if (json === undefined) return this.#forms.sse ? { status: 200, headers: SSE_HEADERS, body: '' } : NO_ANSWER
    return asEvent ? { status, headers: SSE_HEADERS, body: frame(json) } : { status, headers: JSON_HEADERS, body: json }
  }

  #settle(reply: Reply): void {
    this.#node.timers.clear(this.#timer)
    this.#reply = reply
    this.#decide?.(reply)
    this.#decide = undefined
  }
}
