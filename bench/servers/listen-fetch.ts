import { serve } from '@hono/node-server'
import { HOSTNAME } from './server.ts'

/** Serves a fetch handler on any free port, for the servers that have no Node adapter of their own. */
export function listenFetch(fetch: (request: Request) => Response | Promise<Response>): Promise<string> {
  return new Promise((resolve) => {
    serve({ fetch, port: 0, hostname: HOSTNAME }, (info) => resolve(`http://${HOSTNAME}:${info.port}/mcp`))
  })
}
