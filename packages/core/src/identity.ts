// Who a request is from: the app's `auth`, run before the body is read, on every verb.
import type { Exchange } from './exchange.ts'
import type { Settings } from './options.ts'
import type { Principal } from './server.ts'

/** The principal, a Response that refuses, or undefined where no auth is set. */
export async function identify(exchange: Exchange, auth: NonNullable<Settings['auth']>): Promise<Principal | Response> {
  const who = await auth.authenticate(exchange.request())
  if (who instanceof Response) return who
  if (typeof who?.id !== 'string' || who.id === '') {
    throw new TypeError('auth.authenticate must return a Response or a principal with an id')
  }
  return who
}

/** The metadata of a protected resource (RFC 9728), which anybody may read; undefined: not asked for. */
export function wellKnown(exchange: Exchange, auth: Settings['auth']): Response | undefined {
  if (exchange.method !== 'GET' || !exchange.url.includes('/.well-known/')) return undefined
  if (!URL.parse(exchange.url)?.pathname.startsWith('/.well-known/')) return undefined
  return auth?.wellKnown?.(exchange.request()) ?? new Response(null, { status: 404 })
}
