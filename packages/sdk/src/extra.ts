// What goes along with a message into an official server: who sent it, and by which HTTP request.
import type { Context, Principal } from '@fairlead/core'
import type { AuthInfo } from './sdk.ts'

/** Made for each call, so that what few handlers look at is made when they do. */
export class CallExtra {
  readonly authInfo: AuthInfo | undefined
  /** v1 */
  readonly requestInfo: RequestInfo
  /** 2025-11-25: the client comes back for the answer. */
  readonly closeSSEStream: (() => void) | undefined
  readonly #ctx: Context

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.authInfo = authInfoOf(ctx.principal, ctx)
    this.requestInfo = new RequestInfo(ctx)
    const polls = ctx.session !== undefined && ctx.protocolVersion === '2025-11-25'
    this.closeSSEStream = polls ? () => void ctx.closeStream() : undefined
  }

  /** v2 */
  get request(): Request {
    return this.#ctx.request as Request
  }
}

class RequestInfo {
  readonly #ctx: Context
  #headers: Record<string, string> | undefined

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  get headers(): Record<string, string> {
    this.#headers ??= Object.fromEntries(this.#ctx.request.headers)
    return this.#headers
  }

  get url(): URL {
    return new URL(this.#ctx.request.url)
  }
}

/** A principal in the words of the official SDK. */
export function authInfoOf(
  principal: Principal | undefined,
  { request }: { readonly request?: { readonly headers: Headers } },
): AuthInfo | undefined {
  if (!principal) return undefined
  const { id, scopes = [], claims = {} } = principal
  const { client_id, azp, exp } = claims
  return {
    token: /^Bearer +(.+)$/i.exec(request?.headers.get('authorization') ?? '')?.[1] ?? '',
    clientId: [client_id, azp].find((claim) => typeof claim === 'string') ?? id,
    scopes: [...scopes],
    ...(typeof exp === 'number' ? { expiresAt: exp } : {}),
    extra: { ...claims, sub: id },
  }
}
