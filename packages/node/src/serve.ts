// A whole HTTP server for one transport.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Transport } from '@fairlead/core'
import { isMountedAt, withoutSlash } from '@fairlead/core/plain'
import { type NodePlatform, toNodeHandler } from './handler.ts'

export interface ServeOptions {
  /** Default: 3000. 0: any free port. */
  port?: number
  /** Default: 127.0.0.1. */
  hostname?: string
  /** Default: /mcp, with and without a trailing slash. */
  path?: string
}

/**
 * Listens, prints nothing, drains on SIGTERM and SIGINT. Rejects when the port is taken.
 *
 * @example
 * console.log((await serve(createTransport(server))).url)
 */
export async function serve(
  transport: Transport<NodePlatform>,
  { port = 3000, hostname = '127.0.0.1', path = '/mcp' }: ServeOptions = {},
): Promise<{ url: string; close(): Promise<void> }> {
  const handler = toNodeHandler(transport)
  const server = createServer((req, res) => {
    const asked = req.url!.split('?', 1)[0]!
    if (isMountedAt(path, asked) || asked.startsWith(WELL_KNOWN)) handler(req, res)
    else res.writeHead(404, { 'content-length': 0 }).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, hostname, () => {
      server.off('error', reject)
      resolve()
    })
  })

  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      // Until it is drained the port goes on answering: 503, so that a balancer sends the client elsewhere.
      await transport.close()
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // What is still being written gets a moment, what hangs does not hold the process.
        setTimeout(() => server.closeAllConnections(), CLOSE_MS).unref()
      })
    })()
    return closing
  }
  const onSignal = () => void close()
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)

  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `http://${name}:${address.port}${withoutSlash(path) || '/'}`, close }
}

const CLOSE_MS = 2000
/** The metadata of a protected resource is beside its path, not below it (RFC 9728). */
const WELL_KNOWN = '/.well-known/oauth-protected-resource'
