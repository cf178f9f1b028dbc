// What we know of the official SDK: what v1 and v2, `McpServer` and `Server` have in common, and how to tell them apart.
import type { Awaitable, Context } from '@fairlead/core'

/** What the servers of the official SDK have in common, v1 and v2, `McpServer` and `Server`. */
export interface SdkServer {
  connect(transport: never): Promise<void>
  close(): Promise<void>
}

/** What a factory may look at: v2 has the same (`McpRequestContext`). A session has one instance, so it is of its first request. */
export interface SdkContext {
  era: 'legacy' | 'modern'
  authInfo?: AuthInfo
  requestInfo?: Request
}

/** Who is asking, in the words of the official SDK. */
export interface AuthInfo {
  /** As it came in the Authorization header; empty where something else has said who it is. */
  token: string
  /** The claim `client_id` or `azp`, else the principal's id. */
  clientId: string
  scopes: string[]
  /** Seconds since the epoch, from the claim `exp`. */
  expiresAt?: number
  resource?: URL
  /** The principal's claims, with its id as `sub`. */
  extra?: Record<string, unknown>
}

export type Factory = (context: SdkContext) => Awaitable<SdkServer>

/** The server proper; of a `McpServer` it is the one inside. */
interface Inner {
  fallbackRequestHandler?: unknown
  /** v2 alone. */
  getNegotiatedProtocolVersion?(): string | undefined
  _requestHandlers?: unknown
  _negotiatedProtocolVersion?: unknown
  _clientCapabilities?: unknown
  _clientVersion?: unknown
}

function innerOf(server: SdkServer): Inner {
  const { server: inner } = server as { server?: Inner }
  return inner ?? (server as Inner)
}

/** It serves 2026-07-28 itself. */
export function isV2(server: SdkServer): boolean {
  return typeof innerOf(server).getNegotiatedProtocolVersion === 'function'
}

/** Has it a handler for a method that is not in the spec? */
export function handles(server: SdkServer, method: string): boolean {
  const { fallbackRequestHandler, _requestHandlers } = innerOf(server)
  return fallbackRequestHandler !== undefined || (_requestHandlers instanceof Map && _requestHandlers.has(method))
}

/**
 * Makes a v2 instance, not connected yet, one of 2026-07-28, as its own `createMcpHandler` does. That has no public
 * door, so what was done is looked at through one.
 */
export function bindModern(
  server: SdkServer,
  { protocolVersion, client }: Pick<Context, 'protocolVersion' | 'client'>,
): void {
  const inner = innerOf(server)
  inner._negotiatedProtocolVersion = protocolVersion
  inner._clientCapabilities = client.capabilities
  inner._clientVersion = client.info
  if (inner.getNegotiatedProtocolVersion?.() === protocolVersion) return
  throw new Error(`fromSdk: this version of @modelcontextprotocol/server can't be made to serve ${protocolVersion}`)
}
