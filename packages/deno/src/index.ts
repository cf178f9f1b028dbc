// A whole HTTP server for one transport, on Deno.
import type { Transport } from '@fairlead/core'
import { isMountedAt, withoutSlash } from '@fairlead/core/plain'

export * from '@fairlead/core'

/** What is used of Deno, so that no types of it are needed. */
declare const Deno: {
  serve(
    options: { port: number; hostname: string; onListen(address: { port: number }): void },
    handler: (request: Request) => Response | Promise<Response>,
  ): { shutdown(): Promise<void>; readonly finished: Promise<void> }
  addSignalListener(signal: string, listener: () => void): void
  removeSignalListener(signal: string, listener: () => void): void
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
 * Listens, prints nothing, drains on SIGTERM and SIGINT.
 *
 * @example
 * console.log((await serve(createTransport(server))).url)
 */
export async function serve(
  transport: Transport,
  { port = 3000, hostname = '127.0.0.1', path = '/mcp' }: ServeOptions = {},
): Promise<{ url: string; close(): Promise<void> }> {
  const listening = Promise.withResolvers<{ port: number }>()
  const server = Deno.serve({ port, hostname, onListen: listening.resolve }, (request) => {
    const { pathname } = new URL(request.url)
    const isOurs = isMountedAt(path, pathname) || pathname.startsWith('/.well-known/oauth-protected-resource')
    return isOurs ? transport.handle(request) : new Response(null, { status: 404 })
  })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      // Until it is drained the port goes on answering: 503, so that a balancer sends the client elsewhere.
      await transport.close()
      Deno.removeSignalListener('SIGTERM', onSignal)
      Deno.removeSignalListener('SIGINT', onSignal)
      await server.shutdown()
    })()
    return closing
  }
  const onSignal = () => void close()
  Deno.addSignalListener('SIGTERM', onSignal)
  Deno.addSignalListener('SIGINT', onSignal)
  const address = await listening.promise
  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${address.port}${withoutSlash(path) || '/'}`,
    close,
  }
}
