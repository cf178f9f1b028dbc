// Stands before a server and asks for another revision than its client does; all else passes as it is, streams too.
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface VersionProxy {
  /** The same URL, through the proxy. */
  url: string
  close(): Promise<void>
}

export async function startVersionProxy(target: string, version: string): Promise<VersionProxy> {
  const { hostname, port, pathname } = new URL(target)
  const server = createServer(async (req, res) => {
    const body = asking(await buffer(req), version)
    const headers = { ...req.headers, ...(body.length > 0 ? { 'content-length': String(body.length) } : {}) }
    delete headers['transfer-encoding']
    const onward = request({ hostname, port, path: req.url, method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers)
      res.flushHeaders()
      answer.pipe(res)
    })
    // Whichever side goes away takes the other along.
    onward.on('error', () => res.destroy())
    res.on('close', () => onward.destroy())
    onward.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The body, with that revision in it if it is the handshake's first message. */
function asking(body: Buffer, version: string): Buffer {
  let message: { method?: unknown; params?: object } | null
  try {
    message = JSON.parse(body.toString())
  } catch {
    return body
  }
  if (message?.method !== 'initialize') return body
  return Buffer.from(JSON.stringify({ ...message, params: { ...message.params, protocolVersion: version } }))
}
