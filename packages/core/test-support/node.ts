// A transport behind a real socket, and a client that writes raw bytes to it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type NodePlatform, toNodeHandler } from '@fairlead/node'
import { onTestFinished } from 'vitest'
import type { TransportOptions } from '../src/options.ts'
import type { Transport } from '../src/transport.ts'
import { type HeaderChanges, MODERN, modernMeta, type Params } from './clients.ts'
import { type Scene, scene } from './scene.ts'
import { type Answer, answerOf } from './sse.ts'

export interface NodeScene extends Scene {
  port: number
  url: string
  /** A new connection. */
  connect(): Promise<RawClient>
}

type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** The scene on node:http. `around` may do first what a framework does. */
export async function nodeScene(
  options: TransportOptions = {},
  around: (handler: Listener) => Listener = (handler) => handler,
): Promise<NodeScene> {
  const made = scene(options)
  const server = createServer(around(toNodeHandler(made.transport as Transport<NodePlatform>)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { ...made, port, url: `http://127.0.0.1:${port}/mcp`, connect: () => RawClient.connect(port) }
}

/** One connection, byte by byte. */
export class RawClient {
  readonly socket: Socket
  #text = ''
  #ended = false
  #wake = Promise.withResolvers<void>()

  private constructor(socket: Socket) {
    this.socket = socket
    const wake = () => {
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    }
    socket.setNoDelay(true)
    socket.on('error', () => {})
    // latin1: one unit a byte, so that lengths are those of the wire.
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.#text += text
      wake()
    })
    socket.on('close', () => {
      this.#ended = true
      wake()
    })
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new RawClient(socket)))
      socket.once('error', reject)
      onTestFinished(() => void socket.destroy())
    })
  }

  write(data: string | Uint8Array): void {
    this.socket.write(data)
  }

  drop(): void {
    this.socket.destroy()
  }

  /** Everything received up to where `pattern` matches, which is then consumed. */
  async take(pattern: RegExp): Promise<string> {
    for (;;) {
      const match = pattern.exec(this.#text)
      if (match) {
        const end = match.index + match[0].length
        const taken = this.#text.slice(0, end)
        this.#text = this.#text.slice(end)
        return taken
      }
      if (this.#ended) throw new Error(`the connection was closed; received: ${this.#text.slice(0, 500)}`)
      await this.#wake.promise
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.#ended) await this.#wake.promise
  }

  async #bytes(count: number): Promise<string> {
    return count === 0 ? '' : this.take(new RegExp(`^[^]{${count}}`))
  }

  /** Status and headers, as they came. */
  async head(): Promise<{ status: number; headers: Headers; raw: string }> {
    const raw = await this.take(/\r\n\r\n/)
    const [first, ...lines] = raw.trimEnd().split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(/: */, 2) as [string, string]))
    return { status: Number(first!.split(' ')[1]), headers, raw }
  }

  /** The next response, to the end of its body. */
  async answer(): Promise<Answer & { raw: string }> {
    const { status, headers, raw } = await this.head()
    let body = ''
    if (headers.get('transfer-encoding') === 'chunked') {
      for (;;) {
        const size = Number.parseInt(await this.take(/\r\n/), 16)
        body += await this.#bytes(size)
        await this.take(/^\r\n/)
        if (size === 0) break
      }
    } else body = await this.#bytes(Number(headers.get('content-length') ?? 0))
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(body, 'latin1'))
    return { ...answerOf(status, headers, text), raw }
  }

  /** A whole POST; answered in turn on this connection. */
  async post(body: string, headers: HeaderChanges): Promise<Answer & { raw: string }> {
    this.write(rawPost(body, headers))
    return this.answer()
  }
}

const BASE: HeaderChanges = {
  Host: 'localhost',
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}

/** The head of a POST: names in the case given, a list as so many lines. */
export function rawHead(headers: { [name: string]: string | string[] | undefined }, path = '/mcp'): string {
  const lines = Object.entries({ ...BASE, ...headers }).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}: ${value}\r\n`),
  )
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

export function rawPost(body: string, headers: { [name: string]: string | string[] | undefined } = {}): Buffer {
  const bytes = Buffer.from(body, 'utf8')
  return Buffer.concat([Buffer.from(rawHead({ 'Content-Length': String(bytes.length), ...headers }), 'latin1'), bytes])
}

/** `tools/call` of 2026-07-28 as headers and body. */
export function modernCall(name: string, args: Params = {}, meta: Params = {}) {
  const params = { name, arguments: args, _meta: modernMeta(meta) }
  return {
    headers: { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  }
}
