// From the claims of a token to a principal.
import type { Principal } from '@fairlead/core'

/** URIs of one resource: scheme and host in any case, with or without a trailing slash (M-16). */
function sameResource(a: string, b: string): boolean {
  return canonical(a) === canonical(b)
}

function canonical(text: string): string {
  const url = URL.parse(text)
  return url ? `${url.origin}${url.pathname.replace(/\/+$/, '')}${url.search}` : text
}

/** Is the token for this server? (M-07) */
export function isFor(audience: string, aud: unknown): boolean {
  const all = Array.isArray(aud) ? aud : [aud]
  return all.some((one) => typeof one === 'string' && sameResource(one, audience))
}

/** The id is made of who, not of the token, so that it is the same after a refresh. undefined: the claims name nobody. */
export function principalOf(issuer: string, claims: Readonly<Record<string, unknown>>): Principal | undefined {
  const client = claims.client_id ?? claims.azp
  const subject = claims.sub ?? client
  if (typeof subject !== 'string' || subject === '') return undefined
  const id = [issuer, subject, ...(typeof client === 'string' ? [client] : [])].map(encodeURIComponent).join(' ')
  return { id, scopes: scopesOf(claims), claims }
}

function scopesOf({ scope, scp }: Readonly<Record<string, unknown>>): string[] {
  const given = scope ?? scp
  if (typeof given === 'string') return given.split(' ').filter((one) => one !== '')
  return Array.isArray(given) ? given.filter((one) => typeof one === 'string') : []
}
