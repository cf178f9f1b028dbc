// One streamed HTTP response: frames to a client, comments while it is quiet, and a bound on what waits for it.
import type { Sink, Stream } from './exchange.ts'
import type { Node } from './node.ts'
import { COMMENT } from './sse.ts'
import type { Timer } from './timers.ts'

export class Connection implements Stream {
  readonly #node: Node
  readonly #gone: () => void
  #sink: Sink | undefined
  /** What was written before the head was sent. */
  #waiting: string[] = []
  #whenOpened: (() => void) | undefined
  #ended = false
  #keepAlive: Timer | undefined

  /** `gone` is called once if the client leaves, or is cut off, before the end. */
  constructor(node: Node, gone: () => void) {
    this.#node = node
    this.#gone = gone
    node.connections.add(this)
    node.observe('stream', { state: 'open' })
    this.#rearm()
  }

  get open(): boolean {
    return !this.#ended
  }

  /** `taken` is called when nothing waits for the client any more. */
  write(frame: string, taken?: () => void): void {
    if (this.#ended) return
    const sink = this.#sink
    if (!sink) {
      this.#waiting.push(frame)
      this.#whenOpened = taken ?? this.#whenOpened
      return
    }
    sink.write(frame, taken)
    if (sink.pending > this.#node.settings.streams.maxBytes) this.#overflow()
  }

  /** Ends in good order. */
  end(): void {
    if (this.#ended) return
    this.#finish()
    this.#sink?.end()
  }

  /** The adapter has sent the head. */
  opened(sink: Sink): void {
    this.#sink = sink
    if (this.#waiting.length > 0) sink.write(this.#waiting.join(''), this.#whenOpened)
    this.#waiting = []
    this.#whenOpened = undefined
    if (this.#ended) sink.end()
  }

  closed(): void {
    if (this.#ended) return
    this.#finish()
    this.#gone()
  }

  /** A slow reader is cut off rather than kept in memory: a legacy client resumes from the log. */
  #overflow(): void {
    this.#node.observe('stream', { state: 'overflow' })
    this.#finish()
    this.#sink?.end()
    this.#gone()
  }

  #finish(): void {
    this.#ended = true
    this.#node.timers.clear(this.#keepAlive)
    this.#node.connections.delete(this)
    this.#node.observe('stream', { state: 'close' })
  }

  #rearm(): void {
    const { keepAliveMs } = this.#node.settings.streams
    if (keepAliveMs === 0) return
    this.#keepAlive = this.#node.timers.after(keepAliveMs, () => {
      if (this.#ended) return
      // Where bytes wait, the connection is not quiet.
      if (!this.#sink?.pending) this.write(COMMENT)
      if (!this.#ended) this.#rearm()
    })
  }
}
