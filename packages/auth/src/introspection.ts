// Opaque tokens, asked for at their issuer (RFC 7662).
import type { Verify } from './bearer.ts'
import { isFor, principalOf } from './principal.ts'

export interface IntrospectionOptions {
  endpoint: string
  clientId: string
  clientSecret: string
  /** The canonical URI of this MCP server. */
  audience: string
}

const ASK_MS = 5000

/** Asks for each token, so that one that was revoked is refused at once. */
export function introspection({ endpoint, clientId, clientSecret, audience }: IntrospectionOptions): Verify {
  const credentials = btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)
  return async (token) => {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}`, accept: 'application/json' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      signal: AbortSignal.timeout(ASK_MS),
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`the introspection endpoint answered ${response.status}`)
    }
    const claims = (await response.json()) as Record<string, unknown>
    if (claims.active !== true || !isFor(audience, claims.aud)) return undefined
    return principalOf(typeof claims.iss === 'string' ? claims.iss : endpoint, claims)
  }
}
