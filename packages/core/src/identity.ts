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
