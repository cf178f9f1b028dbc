// The plain exchange (one HTTP request and its answer, beneath Request and Response) and its web-standard face.

import { errorText, type RequestId } from './jsonrpc.ts'
import type { Refusal } from './refusals.ts'
import type { Principal } from './server.ts'

/** A body that could not be had. */
export type BodyFault = 'too-large' | 'not-utf8' | 'consumed' | 'aborted'

/** Text as it came, or the JSON that a framework has parsed already. */
export type Body = { text: string } | { parsed: unknown } | { fault: BodyFault }

/** One HTTP request, as the core sees it. */
export interface Exchange {
  readonly method: string
  /** Absolute. */
  readonly url: string
  /** What the runtime handed over: env on Workers, `c` in Hono, `{ req, res }` on Node. */
  readonly platform: unknown
  /** By lower-case name; repeated headers joined with ", ". */
  header(name: string): string | undefined
  /** All of the body as strict UTF-8, or at most `limit` bytes of it. Never rejects. */
  body(limit: number): Body | Promise<Body>
  /** Called once when the client is gone before its answer was sent whole; at once when it is gone already. */
  onDisconnect(listener: () => void): void
  /** The request without its body, for the app's own functions. Made once, on demand. */
  request(): Request
}

/** Where the frames of a streamed answer go. */
export interface Sink {
  /** Bytes handed over that the client has not taken yet. */
  readonly pending: number
  /** `taken` is called when nothing waits for the client any more. */
  write(text: string, taken?: () => void): void
  end(): void
}

/** A streamed answer. */
export interface Stream {
  /** Called once, when the head has been sent. */
  opened(sink: Sink): void
  /** The client is gone, or the body was cut. */
  closed(): void
}

/** What an exchange is answered with. */
export type Reply =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body?: string | Stream }
  | { readonly response: Response }

/** The forms of an answer that the client takes. */
export interface Forms {
  readonly json: boolean
  readonly sse: boolean
}

/** An exchange that has passed the edge: who it is from, and how it may be answered. */
export interface Arrival {
  readonly exchange: Exchange
  readonly principal: Principal | undefined
  readonly forms: Forms
}

export const JSON_HEADERS: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

export const ACCEPTED: Reply = { status: 202, headers: {} }

/** An error answer, with the request's id where there is one. */
export function refuse(refusal: Refusal, id?: RequestId): Reply {
  const { status, code, message, data, headers } = refusal
  return {
    status,
    headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS,
    body: errorText(id, code, message, data),
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/** Strict UTF-8. */
export function decode(bytes: Uint8Array): Body {
  try {
    return { text: utf8.decode(bytes) }
  } catch {
    return { fault: 'not-utf8' }
  }
}

/** `Request` as a plain exchange. */
export class WebExchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly platform: unknown
  readonly #request: Request
  #gone: (() => void) | undefined

  constructor(request: Request, platform: unknown) {
    this.#request = request
    this.method = request.method
    this.url = request.url
    this.platform = platform
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
  }

  body(limit: number): Body | Promise<Body> {
    const request = this.#request
    if (request.bodyUsed || request.body?.locked) return { fault: 'consumed' }
    const length = Number(request.headers.get('content-length') ?? Number.NaN)
    if (length > limit) return { fault: 'too-large' }
    return request.body ? readBounded(request.body, limit) : { text: '' }
  }

  onDisconnect(listener: () => void): void {
    this.#gone = listener
    const { signal } = this.#request
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener, { once: true })
  }

  /** The reader of the response's body has cancelled it. */
  cancelled(): void {
    this.#gone?.()
  }

  request(): Request {
    return this.#request
  }
}

async function readBounded(body: ReadableStream<Uint8Array>, limit: number): Promise<Body> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      size += value.byteLength
      if (size > limit) {
        void reader.cancel().catch(() => {})
        return { fault: 'too-large' }
      }
      chunks.push(value)
    }
  } catch {
    return { fault: 'aborted' }
  }
  if (chunks.length === 1) return decode(chunks[0]!)
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return decode(whole)
}

/** A reply as a `Response`. */
export function toResponse(reply: Reply, exchange: WebExchange): Response {
  if ('response' in reply) return reply.response
  const { status, headers, body } = reply
  if (typeof body !== 'object') return new Response(body ?? null, { status, headers })
  return new Response(toReadable(body, exchange), { status, headers })
}

/** Bytes that wait in the body before `pending` counts them; the reader's own appetite. */
const HIGH_WATER_BYTES = 64 * 1024

function toReadable(stream: Stream, exchange: WebExchange): ReadableStream<Uint8Array> {
  let taken: (() => void) | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let open = true
        stream.opened({
          get pending() {
            return open ? Math.max(0, HIGH_WATER_BYTES - (controller.desiredSize ?? 0)) : 0
          },
          write(text, whenTaken) {
            if (!open) return
            taken = whenTaken ?? taken
            try {
              controller.enqueue(encoder.encode(text))
            } catch {
              open = false // cancelled in between
            }
          },
          end() {
            if (!open) return
            open = false
            try {
              controller.close()
            } catch {
              // cancelled in between
            }
          },
        })
      },
      pull(controller) {
        // Asked for more: with an empty queue, all of it was taken.
        if (controller.desiredSize !== HIGH_WATER_BYTES) return
        const told = taken
        taken = undefined
        told?.()
      },
      cancel() {
        stream.closed()
        exchange.cancelled()
      },
    },
    { highWaterMark: HIGH_WATER_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
  )
}
