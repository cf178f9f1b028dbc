// A whole HTTP server for one transport, on Bun.
import type { Transport } from '@fairlead/core'
import { isMountedAt, withoutSlash } from '@fairlead/core/plain'

export * from '@fairlead/core'

/** What is used of Bun, so that no types of it are needed. */
interface BunServer {
  readonly port: number
  timeout(request: Request, seconds: number): void
  stop(closeActive?: boolean): Promise<void>
}
declare const Bun: {
  serve(options: {
    port: number
    hostname: string
    fetch(request: Request, server: BunServer): Response | Promise<Response>
  }): BunServer
}
declare const process: {
  on(signal: string, listener: () => void): void
  off(signal: string, listener: () => void): void
}

export interface ServeOptions {
  /** Default: 3000. 0: any free port. */
  port?: number
  /** Default: 127.0.0.1. */
  hostname?: string
  /** Default: /mcp, with and without a trailing slash. */
  path?: string
}

/**
 * Listens, prints nothing, drains on SIGTERM and SIGINT. `export default transport` works on Bun too, but then Bun
 * cuts what is quiet for ten seconds.
 *
 * @example
 * console.log(serve(createTransport(server)).url)
 */
export function serve(
  transport: Transport,
  { port = 3000, hostname = '127.0.0.1', path = '/mcp' }: ServeOptions = {},
): { url: string; close(): Promise<void> } {
  const server = Bun.serve({
    port,
    hostname,
    fetch(request, bun) {
      const { pathname } = new URL(request.url)
      const isOurs = isMountedAt(path, pathname) || pathname.startsWith('/.well-known/oauth-protected-resource')
      if (!isOurs) return new Response(null, { status: 404 })
      // A quiet stream, or a tool that takes its time, is not idle (S09).
      bun.timeout(request, 0)
      return transport.handle(request)
    },
  })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      // Until it is drained the port goes on answering: 503, so that a balancer sends the client elsewhere.
      await transport.close()
      process.off('SIGTERM', onSignal)
      process.off('SIGINT', onSignal)
      await server.stop(true)
    })()
    return closing
  }
  const onSignal = () => void close()
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${server.port}${withoutSlash(path) || '/'}`,
    close,
  }
}
