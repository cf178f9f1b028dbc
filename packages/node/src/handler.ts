// A transport as a listener of node:http, node:http2, Express, Connect and Fastify's raw pair.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Transport } from '@fairlead/core'
import { plainFace } from '@fairlead/core/plain'
import { NodeExchange, send } from './exchange.ts'

/** What `context` gets as `platform` on Node. */
export interface NodePlatform {
  req: IncomingMessage
  res: ServerResponse
}

/**
 * For node:http, node:http2, Express, Connect and Fastify's raw pair. A `req.body` that is parsed already is used.
 *
 * @example
 * http.createServer(toNodeHandler(transport)).listen(3000)
 */
export function toNodeHandler(
  transport: Transport<NodePlatform>,
): (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void {
  const answer = plainFace(transport as Transport<never>)
  return (req, res) => {
    // A socket's error is followed by its close, which is what counts.
    void answer(new NodeExchange(req, res)).then((reply) => send(reply, req, res))
  }
}
