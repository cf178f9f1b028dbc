import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { startVersionProxy } from './version-proxy.ts'

/** A proxy for 2025-03-26 before a server with this listener; gives its URL. */
async function before(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const proxy = await startVersionProxy(target, '2025-03-26')
  onTestFinished(async () => {
    await proxy.close()
    server.close()
    server.closeAllConnections()
  })
  return proxy.url
}

const echo: RequestListener = async (req, res) => {
  const body = await text(req)
  res.writeHead(201, { 'mcp-session-id': 's1', 'content-type': 'text/plain' })
  res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body }))
}
const post = (url: string, body: string) => fetch(url, { method: 'POST', body, headers: { 'x-foo': 'bar' } })

test('the handshake asks for the other revision, and for nothing else', async () => {
  const url = await before(echo)
  const params = { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo: { name: 'é', version: '1' } }
  const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const { body, headers } = await (await post(url, JSON.stringify(message))).json()
  expect(JSON.parse(body)).toEqual({ ...message, params: { ...params, protocolVersion: '2025-03-26' } })
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
})

test.each([
  '{"jsonrpc":"2.0","id":1,  "method":"tools/call","params":{"protocolVersion":"2025-11-25"}}',
  '[]',
  'null',
  'not JSON',
])('a body passes as it is: %s', async (body) => {
  const url = await before(echo)
  const response = await post(url, body)
  expect(response.status).toBe(201)
  expect(response.headers.get('mcp-session-id')).toBe('s1')
  expect(await response.json()).toMatchObject({ method: 'POST', url: '/mcp', body, headers: { 'x-foo': 'bar' } })
})

test('verbs without a body pass too', async () => {
  const url = await before(echo)
  const response = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': 's1' } })
  expect(await response.json()).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 's1' }, body: '' })
})

test('a stream passes while it is under way, and its end at either side reaches the other', async () => {
  const left = Promise.withResolvers<void>()
  const url = await before((_req, res) => {
    res.on('close', left.resolve)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: 1\n\n')
  })
  const leaving = new AbortController()
  const reader = (await fetch(url, { signal: leaving.signal })).body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: 1\n\n')
  leaving.abort()
  await left.promise
})
