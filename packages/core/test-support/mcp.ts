// McpServer in tests: a server by its registrations, and what its answers hold.
import { expect } from 'vitest'
import { McpServer, type McpServerOptions } from '../src/server/index.ts'
import type { Client, Params } from './clients.ts'
import type { Answer } from './sse.ts'

export function mcp(options: Partial<McpServerOptions> = {}): McpServer {
  return new McpServer({ name: 'test', version: '1.0.0', ...options })
}

/** The result of an answer that must have one. */
export function resultOf<T = Params>({ message, text }: Answer): T {
  expect(message.result, text).toBeDefined()
  return message.result as T
}

/** The items of a listing, by its method. */
export async function listed<T = Params>(client: Client, method: string, params?: Params): Promise<T[]> {
  const result = resultOf(await client.request(method, params))
  const [items] = Object.values(result).filter((member) => Array.isArray(member))
  return items as T[]
}
