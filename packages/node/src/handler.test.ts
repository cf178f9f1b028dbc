import { connect as connect2, createServer as createServer2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { modernCall, nodeScene, rawPost } from '../../core/test-support/node.ts'
import { type Scene, scene, until } from '../../core/test-support/scene.ts'
import { textOf } from '../../core/test-support/sse.ts'
import { type NodePlatform, toNodeHandler } from './handler.ts'
import type { Transport } from './index.ts'

test('a transport that this core did not make is refused at once', () => {
  expect(() => toNodeHandler({} as Transport<NodePlatform>)).toThrow(TypeError)
})

describe('S51 what the app’s functions see', () => {
  test('all headers, the whole URL, and req and res', async () => {
    const seen: { url: string; foo: string | null; many: string | null; platform: unknown }[] = []
    const { connect } = await nodeScene({
      context: (request, { platform }) => {
        const { headers, url } = request
        seen.push({ url, foo: headers.get('x-foo'), many: headers.get('x-many'), platform })
      },
    })
    const client = await connect()
    const { body, headers } = modernCall('whoami')
    client.write(rawPost(body, { ...headers, 'X-Foo': 'é bar', 'X-Many': ['1', '2'] }))
    const { status, message } = await client.answer()
    expect(status).toBe(200)
    expect(JSON.parse(textOf(message)!)).toMatchObject({ era: 'modern' })
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({ url: 'http://localhost/mcp', many: '1, 2' })
    expect(seen[0]!.platform).toMatchObject({ req: { method: 'POST' }, res: { headersSent: expect.any(Boolean) } })
  })

  test('a framework that mounts it under a path: the URL is the one that was asked for', async () => {
    const urls: string[] = []
    const { connect } = await nodeScene({ context: ({ url }) => void urls.push(url) }, (handler) => (req, res) => {
      Object.assign(req, { originalUrl: req.url, url: '/' })
      handler(req, res)
    })
    const { body, headers } = modernCall('whoami')
    expect((await (await connect()).post(body, headers)).status).toBe(200)
    expect(urls).toEqual(['http://localhost/mcp'])
  })
})

describe('S11 HTTP/2', () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)

  afterEach(() => {
    process.off('warning', note)
  })

  async function h2(made: Scene) {
    process.on('warning', note)
    const server = createServer2(toNodeHandler(made.transport as Transport<NodePlatform>) as never)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const session = connect2(`http://localhost:${(server.address() as AddressInfo).port}`, {
      lookup: (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }] as never),
    })
    onTestFinished(() => {
      session.close()
      server.close()
    })
    return ({ body, headers }: ReturnType<typeof modernCall>) => {
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
      const stream = session.request({
        ':method': 'POST',
        ':path': '/mcp',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...lower,
      })
      stream.setEncoding('utf8').end(body)
      return stream
    }
  }

  test('JSON and streams are served, without a header that HTTP/2 forbids', async () => {
    const made = scene()
    const request = await h2(made)
    made.server.gates.open('step 1')
    for (const [call, type] of [
      [modernCall('echo', { text: 'two' }), 'application/json'],
      [modernCall('steps', { n: 1 }, { progressToken: 1 }), 'text/event-stream'],
    ] as const) {
      const stream = request(call)
      const headers = await new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve))
      expect(headers[':status']).toBe(200)
      expect(headers['content-type']).toBe(type)
      let text = ''
      for await (const piece of stream) text += piece
      expect(text).toContain('"result"')
    }
    expect(warnings).toEqual([])
  })

  test('G-21 a stream that is reset is a client that has gone', async () => {
    const made = scene({ streams: { streamAfterMs: 60_000 } })
    const request = await h2(made)
    const stream = request(modernCall('slow', { text: '' }))
    await made.server.started('slow')
    stream.on('error', () => {})
    stream.close(8)
    await until(() => expect(made.server.aborted).toHaveLength(1))
  })
})
