// Verbs that no Request can have, and paths that only look like metadata.
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTransport, McpServer } from '@fairlead/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toNodeHandler } from './handler.ts'

const errors: unknown[] = []
const transport = createTransport(new McpServer({ name: 'verbs', version: '1' }), {
  auth: () => ({ id: 'a' }),
  onError: (error) => errors.push(error),
})
const server = createServer(toNodeHandler(transport))

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  await transport.close()
  server.close()
})

async function status(method: string, path: string): Promise<number | undefined> {
  const { port } = server.address() as AddressInfo
  const sent = request({ host: '127.0.0.1', port, method, path }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  return response.statusCode
}

test('S37 TRACE gets 405 with auth on, and no error', async () => {
  expect(await status('TRACE', '/mcp')).toBe(405)
  expect(errors).toEqual([])
})

test('a query that looks like the path of metadata is no such path', async () => {
  expect(await status('GET', '/mcp?x=/.well-known/')).toBe(400)
  expect(await status('GET', '/.well-known/oauth-protected-resource')).toBe(404)
})
