// McpError, and the error codes on the wire.
import type { Json } from './server.ts'

/** JSON-RPC 2.0 and MCP error codes that the transport uses. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const

/** A JSON-RPC error of the caller's choosing; any other error is -32603 without its text. */
export class McpError extends Error {
  readonly code: number
  readonly data?: Json
  constructor(code: number, message: string, data?: Json) {
    super(message)
    this.name = 'McpError'
    this.code = code
    if (data !== undefined) this.data = data
  }
}
