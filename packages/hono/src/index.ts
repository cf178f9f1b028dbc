// A transport as a Hono handler.
import type { Transport } from '@fairlead/core'
import { bodyText } from '@fairlead/core/plain'
import type { Context, Env, Handler } from 'hono'

export * from '@fairlead/core'

/**
 * A Hono handler; Hono's context is the transport's `platform`. A body that middleware has read before is used.
 *
 * @example
 * app.all('/mcp', mcp(createTransport(server)))
 */
export function mcp<E extends Env>(transport: Transport<Context<E>>): Handler<E> {
  return async (c) => {
    const { raw } = c.req
    // Hono keeps what c.req.json() and the like have read: reading it again as text is free (S62).
    const request = raw.bodyUsed && Object.keys(c.req.bodyCache).length > 0 ? bodyText(raw, await c.req.text()) : raw
    return transport.handle(request, c)
  }
}
