// A small HTTP/1.1 keep-alive client over a raw socket, cheap enough not to be what is measured: the request's bytes are
// made beforehand, one request is in flight at a time, and the answer is read whole.
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  /** Status line and headers, as received. */
  head: string
  body: string
}

const READ_BYTES = 64 * 1024
const LENGTH = /\r\ncontent-length: *(\d+)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i

/** The answer that the bytes hold, or undefined while there is more to come. Throws on what is no HTTP answer. */
export function parseAnswer(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  if (!head.startsWith('HTTP/1.1 ')) throw new Error(`not an HTTP/1.1 answer: ${head.slice(0, 40)}`)
  const status = Number(head.slice(9, 12))
  const start = headEnd + 4
  const length = LENGTH.exec(head)?.[1]
  if (length !== undefined || status === 204 || status === 304) {
    const end = start + Number(length ?? 0)
    if (bytes.length < end) return undefined
    if (bytes.length > end) throw new Error('bytes after the answer')
    return { status, head, body: bytes.toString('utf8', start, end) }
  }
  if (!CHUNKED.test(head)) throw new Error('an answer without a length closes the connection')
  const body = readChunks(bytes, start)
  return body === undefined ? undefined : { status, head, body: body.toString() }
}

function readChunks(bytes: Buffer, start: number): Buffer | undefined {
  const chunks: Buffer[] = []
  let at = start
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (!(size >= 0)) throw new Error('a chunk without a size')
    const end = lineEnd + 2 + size + 2
    if (bytes.length < end) return undefined
    if (size === 0) {
      if (bytes.length > end) throw new Error('bytes after the answer')
      return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    }
    chunks.push(bytes.subarray(lineEnd + 2, end - 2))
    at = end
  }
}

export class Connection {
  #socket: Socket
  #pending: Buffer | undefined
  #answered: ((answer: Answer) => void) | undefined
  #failed: ((error: Error) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  static open(url: URL): Promise<Connection> {
    return new Promise((resolve, reject) => {
      let read: (bytes: Buffer) => void = () => {}
      const socket = connect({
        host: url.hostname,
        port: Number(url.port),
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafeSlow(READ_BYTES),
          callback: (length, buffer) => {
            read(Buffer.from(buffer.buffer, buffer.byteOffset, length))
            return true
          },
        },
      })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        const opened = new Connection(socket)
        read = (bytes) => opened.#read(bytes)
        socket.on('error', (error) => opened.#fail(error))
        socket.on('close', () => opened.#fail(new Error('the server closed the connection')))
        resolve(opened)
      })
    })
  }

  /** Sends a request; the caller waits for its answer before the next one. */
  send(bytes: Buffer, answered: (answer: Answer) => void, failed: (error: Error) => void): void {
    this.#answered = answered
    this.#failed = failed
    if (this.#socket.destroyed) this.#fail(new Error('the server closed the connection'))
    else this.#socket.write(bytes)
  }

  close(): void {
    this.#failed = undefined
    this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    const all = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes])
    let answer: Answer | undefined
    try {
      answer = parseAnswer(all)
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    if (answer === undefined) {
      // The socket reads into the same buffer again, so what is kept must be a copy.
      this.#pending = all === bytes ? Buffer.from(bytes) : all
      return
    }
    this.#pending = undefined
    const answered = this.#answered
    this.#answered = undefined
    if (answered === undefined) this.#fail(new Error('an answer that nobody asked for'))
    else answered(answer)
  }

  #fail(error: Error): void {
    const failed = this.#failed
    this.#failed = undefined
    this.#answered = undefined
    this.#socket.destroy()
    failed?.(error)
  }
}
