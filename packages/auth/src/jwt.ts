// JWT access tokens (RFC 9068), checked against the keys of their issuer.
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { Verify } from './bearer.ts'
import { isFor, principalOf } from './principal.ts'

export interface JwtOptions {
  issuer: string
  /** The canonical URI of this MCP server. */
  audience: string
  /** Default: what the issuer's metadata says. */
  jwksUri?: string
  /** Default: 5. */
  clockToleranceSeconds?: number
}

const CLOCK_TOLERANCE_SECONDS = 5
const DISCOVERY_MS = 5000
/** No shared secrets: the issuer alone can sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** Checks signature, issuer, audience and time. Keys are fetched when first needed, kept, and fetched again when they rotate. */
export function jwt({
  issuer,
  audience,
  jwksUri,
  clockToleranceSeconds = CLOCK_TOLERANCE_SECONDS,
}: JwtOptions): Verify {
  let keys: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined

  function keySet(): Promise<ReturnType<typeof createRemoteJWKSet>> {
    keys ??= (jwksUri === undefined ? discover(issuer) : Promise.resolve(jwksUri)).then(
      (uri) => createRemoteJWKSet(new URL(uri)),
      (error) => {
        keys = undefined
        throw error
      },
    )
    return keys
  }

  return async (token) => {
    const set = await keySet()
    try {
      const { payload } = await jwtVerify(token, set, {
        issuer,
        algorithms: ALGORITHMS,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['exp'],
      })
      return isFor(audience, payload.aud) ? principalOf(issuer, payload) : undefined
    } catch (error) {
      // That the keys can't be had says nothing about the token.
      if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError)) throw error
      return undefined
    }
  }
}

/** The issuer's metadata: RFC 8414, or OpenID Connect's, with its path inserted or appended. */
async function discover(issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/+$/, '')
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  for (const place of new Set(places)) {
    const response = await fetch(place, { signal: AbortSignal.timeout(DISCOVERY_MS) })
    if (!response.ok) {
      await response.body?.cancel()
      continue
    }
    const metadata = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown }
    if (metadata.issuer === issuer && typeof metadata.jwks_uri === 'string') return metadata.jwks_uri
  }
  throw new Error(`${issuer} has no metadata with a jwks_uri: give jwt the option jwksUri`)
}
