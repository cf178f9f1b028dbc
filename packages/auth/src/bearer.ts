// A bearer token on every request: who it is from, the challenges, and the metadata of this resource (RFC 9728).
import type { Auth, Awaitable, Principal } from '@fairlead/core'

/** Whose token it is; undefined: it is not valid. Throws when that can't be found out now. */
export type Verify = (token: string) => Awaitable<Principal | undefined>

export interface BearerAuthOptions {
  /** The canonical URI of this MCP server, the audience of its tokens. */
  resource: string
  /** Issuers whose tokens are taken; at least one. */
  authorizationServers: readonly string[]
  verify: Verify
  /** What every request needs. */
  scopes?: readonly string[]
  /** What a scope includes: `{ admin: ['read', 'write'] }`. */
  implies?: Readonly<Record<string, readonly string[]>>
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const CHALLENGED_BEFORE_2026 = /^2025-/
const TOKEN68 = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * OAuth 2.1 resource server: bearer tokens, RFC 9728 metadata at both well-known paths, challenges.
 *
 * @example
 * const auth = bearerAuth({ resource, authorizationServers: [issuer], verify: jwt({ issuer, audience: resource }) })
 */
export function bearerAuth({
  resource,
  authorizationServers,
  verify,
  scopes = [],
  implies = {},
}: BearerAuthOptions): Auth {
  const { origin, pathname } = new URL(resource)
  if (authorizationServers.length === 0)
    throw new TypeError('bearerAuth: option authorizationServers must name one at least')
  // Without a trailing slash (M-16).
  const path = pathname.replace(/\/+$/, '')
  const metadataUrl = `${origin}${WELL_KNOWN}${path}`
  // Refresh tokens are between the client and its authorization server (M-15).
  const supported = [...new Set([...scopes, ...Object.keys(implies), ...Object.values(implies).flat()])].filter(isOurs)
  const metadata = JSON.stringify({
    resource: `${origin}${path}`,
    authorization_servers: authorizationServers,
    ...(supported.length > 0 ? { scopes_supported: supported } : {}),
    bearer_methods_supported: ['header'],
  })
  const granted = new WeakMap<Request, readonly string[]>()

  function refuse(status: 400 | 401 | 403, fields: Record<string, string>): Response {
    const all = { ...fields, resource_metadata: metadataUrl }
    const challenge = Object.entries(all).map(([name, value]) => `${name}="${value.replace(/["\\]/g, '')}"`)
    const body = { jsonrpc: '2.0', error: { code: -32600, message: TEXT[status] } }
    return new Response(JSON.stringify(body), {
      status,
      headers: { 'content-type': 'application/json', 'www-authenticate': `Bearer ${challenge.join(', ')}` },
    })
  }

  const asked: Record<string, string> = scopes.length > 0 ? { scope: scopes.filter(isOurs).join(' ') } : {}

  function lacking(request: Request, needed: readonly string[]): Response {
    const isLegacy = CHALLENGED_BEFORE_2026.test(request.headers.get('mcp-protocol-version') ?? '2025-')
    // Clients of 2026 add up what they were asked for; those before it ask for just what they are told.
    const held = isLegacy ? (granted.get(request) ?? []) : []
    return refuse(403, {
      error: 'insufficient_scope',
      scope: [...new Set([...held, ...needed])].filter(isOurs).join(' '),
    })
  }

  return {
    async authenticate(request) {
      const header = request.headers.get('authorization')
      if (header === null) return refuse(401, asked)
      const [scheme = '', token = '', ...more] = header.trim().split(/[ \t]+/)
      if (scheme.toLowerCase() !== 'bearer') return refuse(401, asked)
      if (more.length > 0 || !TOKEN68.test(token)) return refuse(400, { error: 'invalid_request' })
      const principal = await verify(token)
      if (!principal) return refuse(401, { error: 'invalid_token', ...asked })
      granted.set(request, principal.scopes ?? [])
      const held = expand(principal.scopes ?? [], implies)
      if (!scopes.every((scope) => held.includes(scope))) return lacking(request, scopes)
      return { ...principal, scopes: held }
    },
    challenge: lacking,
    wellKnown(request) {
      const asks = new URL(request.url).pathname
      if (asks !== WELL_KNOWN && asks !== `${WELL_KNOWN}${path}`) return undefined
      // Anybody may read it, from any page.
      return new Response(metadata, {
        headers: {
          'content-type': 'application/json',
          'cache-control': 'max-age=3600',
          'access-control-allow-origin': '*',
        },
      })
    },
  }
}

const TEXT = {
  400: 'the Authorization header is malformed',
  401: 'a valid bearer token is needed',
  403: 'the token lacks a scope that this needs',
} as const

function isOurs(scope: string): boolean {
  return scope !== 'offline_access'
}

/** A broad scope satisfies the narrow ones that it includes (M-14). */
function expand(scopes: readonly string[], implies: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const all = new Set(scopes)
  // A set is walked to what is added on the way.
  for (const scope of all) for (const included of implies[scope] ?? []) all.add(included)
  return [...all]
}
