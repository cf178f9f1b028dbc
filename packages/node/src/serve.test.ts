import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MODERN, modern, modernMeta } from '../../core/test-support/clients.ts'
import { modernCall, RawClient, rawPost } from '../../core/test-support/node.ts'
import { scene, until } from '../../core/test-support/scene.ts'
import { read, textOf } from '../../core/test-support/sse.ts'
import type { NodePlatform } from './handler.ts'
import type { Transport } from './index.ts'
import { type ServeOptions, serve } from './serve.ts'

async function served(options: ServeOptions = {}, made = scene()) {
  const { url, close } = await serve(made.transport as Transport<NodePlatform>, { port: 0, ...options })
  onTestFinished(close)
  const list = (target: string) =>
    read(
      fetch(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/list' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: modernMeta() } }),
      }),
    )
  return { ...made, url, close, list, port: Number(new URL(url).port) }
}

describe('where it listens', () => {
  test('N-03 on loopback and at /mcp by default', async () => {
    const { url, list } = await served()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect((await list(url)).status).toBe(200)
  })

  test.each([
    ['/mcp', 200],
    ['/mcp/', 200],
    ['/mcp?x=1', 200],
    ['/mcp/?x=1', 200],
    ['/', 404],
    ['/mcp/x', 404],
    ['/mcpx', 404],
    ['/MCP', 404],
    ['/x/mcp', 404],
  ])('%s gets %i', async (path, status) => {
    const { url, list } = await served()
    expect((await list(new URL(path, url).href)).status).toBe(status)
  })

  test.each(['/a/b', '/a/b/', '/'])('at a path of one’s own: %s', async (path) => {
    const { url, list } = await served({ path })
    expect((await list(url)).status).toBe(200)
    expect((await list(new URL('/mcp', url).href)).status).toBe(404)
  })

  test('rejects when the port is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const before = process.listenerCount('SIGTERM')
    const { port } = other.address() as AddressInfo
    const { transport } = scene()
    await expect(serve(transport as Transport<NodePlatform>, { port })).rejects.toThrow('EADDRINUSE')
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })

  test('prints nothing', async () => {
    const prints = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')]
    const { url, list, close } = await served()
    await list(url)
    await close()
    for (const print of prints) {
      expect(print).not.toHaveBeenCalled()
      print.mockRestore()
    }
  })
})

describe('R32 close', () => {
  test('drains: running calls finish, new ones get 503 on the same port, then it is free', async () => {
    const { url, close, list, server, port } = await served()
    const client = await RawClient.connect(port)
    const { body, headers } = modernCall('slow', { text: 'at last' })
    client.write(rawPost(body, headers))
    await server.started('slow')
    const closed = close()
    const refused = await list(url)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    server.gates.open('slow')
    expect((await client.answer()).text).toContain('at last')
    await closed
    await expect(fetch(url)).rejects.toThrow()
  })

  test('twice is once', async () => {
    const { close } = await served()
    await Promise.all([close(), close()])
    await close()
  })

  test('connections that idle do not hold it up', async () => {
    const { close, port } = await served()
    const client = await RawClient.connect(port)
    const { body, headers } = modernCall('echo', { text: 'x' })
    expect(textOf((await client.post(body, headers)).message)).toBe('x')
    await close()
    await client.closed()
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s drains, and its listener goes with it', async (signal) => {
    const before = process.listeners(signal)
    const { transport, close } = await served()
    const [own] = process.listeners(signal).filter((listener) => !before.includes(listener))
    ;(own as () => void)()
    await until(async () => expect((await modern(transport).call('echo')).status).toBe(503))
    await close()
    expect(process.listeners(signal)).toEqual(before)
  })
})
