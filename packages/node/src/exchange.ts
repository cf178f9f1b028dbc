// Node's request and response as a plain exchange: no Request, Response or web stream is made on the way.
import { Buffer, isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Body, Exchange, Reply, Sink, Stream } from '@fairlead/core/plain'

const UNREQUESTABLE = new Set(['CONNECT', 'TRACE', 'TRACK'])

export class NodeExchange implements Exchange {
  readonly method: string
  readonly platform: { req: IncomingMessage; res: ServerResponse }
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  #request: Request | undefined

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req
    this.#res = res
    this.platform = { req, res }
    this.method = req.method ?? 'GET'
  }

  get url(): string {
    const { socket } = this.#req
    // A framework that mounts a handler under a path keeps the whole one here.
    const path = (this.#req as { originalUrl?: string }).originalUrl ?? this.#req.url ?? '/'
    const scheme = 'encrypted' in socket && socket.encrypted ? 'https' : 'http'
    return `${scheme}://${this.header('host') ?? 'localhost'}${path.startsWith('/') ? path : '/'}`
  }

  header(name: string): string | undefined {
    const { headers } = this.#req
    const value = headers[name] ?? (name === 'host' ? headers[':authority'] : undefined)
    return typeof value === 'string' ? value : value?.join(', ')
  }

  body(limit: number): Body | Promise<Body> {
    const req = this.#req
    if (req.readableEnded || req.readableDidRead) return parsedBody(req, limit)
    if (Number(req.headers['content-length']) > limit) return { fault: 'too-large' }
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let size = 0
      const settle = (body: Body) => {
        req.off('data', take).off('end', whole).off('close', cut).off('error', cut)
        resolve(body)
      }
      const take = (chunk: Buffer) => {
        size += chunk.length
        if (size > limit) {
          req.pause()
          settle({ fault: 'too-large' })
        } else chunks.push(chunk)
      }
      const whole = () => settle(strict(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)))
      const cut = () => settle({ fault: 'aborted' })
      req.on('data', take).on('end', whole).on('close', cut).on('error', cut)
    })
  }

  /** A body that was read is no disconnect: only a response that closes unfinished is (S63). */
  onDisconnect(listener: () => void): void {
    const res = this.#res
    // On HTTP/2 a reset counts as finished too, so it must also have been ended.
    const closed = () => {
      if (!(res.writableEnded && res.writableFinished)) listener()
    }
    if (res.closed) closed()
    else res.once('close', closed)
  }

  request(): Request {
    if (this.#request) return this.#request
    const headers = new Headers()
    const { rawHeaders } = this.#req
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!
      // HTTP/2's own fields are no headers.
      if (!name.startsWith(':')) headers.append(name, rawHeaders[i + 1]!)
    }
    // A Request can't have these verbs; what they get is a 405 all the same.
    const method = UNREQUESTABLE.has(this.method) ? 'GET' : this.method
    this.#request = new Request(this.url, { method, headers })
    return this.#request
  }
}

function strict(bytes: Buffer): Body {
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { fault: 'not-utf8' }
}

/** What a framework has read already (S62): JSON that it parsed, or the raw text or bytes. */
function parsedBody(req: IncomingMessage & { body?: unknown }, limit: number): Body {
  const { body } = req
  if (typeof body === 'string') return Buffer.byteLength(body) > limit ? { fault: 'too-large' } : { text: body }
  if (Buffer.isBuffer(body)) return body.length > limit ? { fault: 'too-large' } : strict(body)
  if (body === undefined) return { fault: 'consumed' }
  return Number(req.headers['content-length']) > limit ? { fault: 'too-large' } : { parsed: body }
}

/** A body that was refused is read on for so long, so that the client gets to see the answer. */
const LINGER_MS = 1000

/** Writes a reply. */
export function send(reply: Reply, req: IncomingMessage, res: ServerResponse): void {
  if (res.destroyed || res.headersSent) {
    if ('body' in reply && typeof reply.body === 'object') reply.body.closed()
    return
  }
  if ('response' in reply) {
    void sendResponse(reply.response, req, res)
    return
  }
  const { status, headers, body } = reply
  if (typeof body === 'object') {
    const fields: string[] = []
    for (const name in headers) fields.push(name, headers[name]!)
    res.writeHead(status, fields)
    stream(body, res)
    return
  }
  const fields: string[] = []
  for (const name in headers) fields.push(name, headers[name]!)
  if (status !== 204) fields.push('content-length', body === undefined ? '0' : String(Buffer.byteLength(body)))
  if (!req.complete) linger(req, res, fields)
  res.writeHead(status, fields)
  res.end(body)
}

/** Answered before the body was read whole: the connection is of no use after that. */
function linger(req: IncomingMessage, res: ServerResponse, fields: string[]): void {
  if (req.httpVersionMajor === 1) fields.push('connection', 'close')
  req.on('error', () => {})
  req.resume()
  res.once('finish', () => {
    const timer = setTimeout(() => req.destroy(), LINGER_MS)
    timer.unref()
    req.once('close', () => clearTimeout(timer))
  })
}

function stream(body: Stream, res: ServerResponse): void {
  let wrote = false
  const sink: Sink = {
    get pending() {
      return res.writableLength
    },
    write(text, taken) {
      wrote = true
      if (taken) res.write(text, () => res.writableLength === 0 && taken())
      else res.write(text)
    },
    end() {
      res.end()
    },
  }
  res.on('error', () => {})
  res.once('close', () => body.closed())
  body.opened(sink)
  if (!wrote && !res.writableEnded) res.flushHeaders()
}

async function sendResponse(response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    const bytes = response.body ? Buffer.from(await response.arrayBuffer()) : undefined
    const fields: string[] = []
    response.headers.forEach((value, name) => {
      fields.push(name, value)
    })
    if (response.status !== 204) fields.push('content-length', String(bytes?.length ?? 0))
    if (!req.complete) linger(req, res, fields)
    res.writeHead(response.status, fields)
    res.end(bytes)
  } catch {
    res.destroy()
  }
}
