import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { initialize, MODERN } from '../../core/test-support/clients.ts'
import { modernCall, nodeScene, rawHead, rawPost } from '../../core/test-support/node.ts'
import { until } from '../../core/test-support/scene.ts'
import { textOf } from '../../core/test-support/sse.ts'

const CHUNKED = { 'Transfer-Encoding': 'chunked' }
const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
const LAST_CHUNK = '0\r\n\r\n'

describe('bodies', () => {
  test('S35 a body that is split at any byte is the same text', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    const text = 'Café 你好 🙂'
    const { headers, body } = modernCall('echo', { text })
    const bytes = Buffer.from(body)
    for (let at = 1; at < bytes.length; at++) {
      client.write(rawHead({ ...headers, ...CHUNKED }))
      client.write(chunk(bytes.subarray(0, at)))
      client.write(chunk(bytes.subarray(at)))
      client.write(LAST_CHUNK)
      expect(textOf((await client.answer()).message)).toBe(text)
    }
  })

  test('S35 byte by byte', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    const text = 'Café 你好 🙂'
    const { headers, body } = modernCall('echo', { text })
    for (const byte of rawPost(body, headers)) {
      client.write(Uint8Array.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(textOf((await client.answer()).message)).toBe(text)
  })

  test('S29 A-01 bytes that are not UTF-8, and no bytes at all', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    client.write(rawHead({ 'Content-Length': '3' }))
    client.write(Uint8Array.of(0x22, 0xe9, 0x22))
    expect(await client.answer()).toMatchObject({ status: 400, message: { error: { code: -32700 } } })
    expect(await client.post('', {})).toMatchObject({ status: 400, message: { error: { code: -32700 } } })
  })

  test('a connection is kept, and takes requests one behind the other', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    for (const text of ['a', 'b', 'c']) {
      const { headers, body } = modernCall('echo', { text })
      client.write(rawPost(body, headers))
    }
    for (const text of ['a', 'b', 'c']) expect(textOf((await client.answer()).message)).toBe(text)
  })

  test('one that breaks off leaves nothing behind', async () => {
    const { connect, transport } = await nodeScene()
    const client = await connect()
    client.write(rawHead({ 'Content-Length': '1000' }))
    client.write('{"jsonrpc"')
    await until(() => expect(transport.stats().inFlight).toBe(1))
    client.drop()
    await until(() => expect(transport.stats().inFlight).toBe(0))
  })
})

describe('S34 a body that is too large', () => {
  const options = { limits: { bodyBytes: 100_000 } }
  const { headers } = modernCall('echo')
  const refused = { status: 413, form: 'json', message: { error: { code: -32600 } } }

  test('by its length: 413 at once, before it is sent', async () => {
    const { connect } = await nodeScene(options)
    const client = await connect()
    client.write(rawHead({ ...headers, 'Content-Length': '100001' }))
    expect(await client.answer()).toMatchObject(refused)
  })

  test('sent whole: the 413 can be read, and the next request is served', async () => {
    const { connect } = await nodeScene(options)
    const client = await connect()
    client.write(rawPost('x'.repeat(3_000_000), headers))
    expect(await client.answer()).toMatchObject(refused)
    const { headers: others, body } = modernCall('echo', { text: 'x'.repeat(90_000) })
    expect((await (await connect()).post(body, others)).status).toBe(200)
  })

  test('chunked without end: 413, and the server stops reading', async () => {
    const { connect, transport } = await nodeScene(options)
    const client = await connect()
    client.write(rawHead({ ...headers, ...CHUNKED }))
    let answered = false
    const answer = client.answer().finally(() => {
      answered = true
    })
    const piece = chunk(Buffer.alloc(10_000, 0x20))
    while (!answered && !client.socket.destroyed) {
      client.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await answer).toMatchObject(refused)
    await client.closed()
    await until(() => expect(transport.stats().inFlight).toBe(0))
  })

  test('a length that is a lie is the parser’s business: nothing runs', async () => {
    const { connect, server } = await nodeScene(options)
    const client = await connect()
    client.write(rawHead({ ...headers, 'Content-Length': '5', ...CHUNKED }))
    client.write('0\r\n\r\n')
    expect((await client.head()).status).toBe(400)
    expect(server.runs).toEqual({})
  })
})

describe('S50 duplicate headers', () => {
  test.each(['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'])(
    'two lines of %s: 400 -32020, nothing runs',
    async (name) => {
      const { connect, server } = await nodeScene()
      const { headers, body } = modernCall('echo', { text: 'x' })
      for (const second of [headers[name as keyof typeof headers], 'other']) {
        const client = await connect()
        client.write(rawPost(body, { ...headers, [name]: [headers[name as keyof typeof headers], second] }))
        expect(await client.answer()).toMatchObject({ status: 400, message: { id: 1, error: { code: -32020 } } })
      }
      expect(server.runs).toEqual({})
    },
  )

  test('two lines of Mcp-Session-Id: 400', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    const made = await client.post(JSON.stringify(initialize('2025-11-25')), {})
    const id = made.headers.get('mcp-session-id')!
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    expect((await client.post(body, { 'Mcp-Session-Id': id })).status).toBe(200)
    client.write(rawPost(body, { 'Mcp-Session-Id': [id, id] }))
    expect((await client.answer()).status).toBe(400)
  })

  test('two lines of Origin are none that is allowed', async () => {
    const { connect } = await nodeScene()
    const { headers, body } = modernCall('echo', { text: 'x' })
    const client = await connect()
    client.write(rawPost(body, { ...headers, Origin: ['http://localhost', 'http://localhost'] }))
    expect((await client.answer()).status).toBe(403)
  })
})

describe('S43 S48 G-07 G-08 headers as bytes', () => {
  test('names in any case', async () => {
    const { connect } = await nodeScene()
    const { body } = modernCall('echo', { text: 'x' })
    const headers = { 'mCP-pROTOCOL-vERSION': MODERN, 'MCP-METHOD': 'tools/call', 'mcp-name': '  echo\t' }
    expect((await (await connect()).post(body, headers)).status).toBe(200)
  })

  test.each(['\xe6\xb8\xa9', '\xe9', 'echo\xa0'])('raw bytes in Mcp-Name: 400 -32020 with the id: %j', async (name) => {
    const { connect } = await nodeScene()
    const { headers, body } = modernCall('echo')
    const answer = await (await connect()).post(body, { ...headers, 'Mcp-Name': name })
    expect(answer).toMatchObject({ status: 400, message: { id: 1, error: { code: -32020 } } })
  })
})

describe('S62 a body that a framework has read already', () => {
  const { headers, body } = modernCall('echo', { text: 'read before' })

  /** Reads the body as a framework does, then leaves this in `req.body`. */
  const reading = (leave: (text: string) => unknown) => (handler: (req: IncomingMessage, res: never) => void) => {
    return (req: IncomingMessage & { body?: unknown }, res: unknown) => {
      const chunks: Buffer[] = []
      req.on('data', (bytes: Buffer) => chunks.push(bytes))
      req.on('end', () => {
        req.body = leave(Buffer.concat(chunks).toString('utf8'))
        handler(req, res as never)
      })
    }
  }

  test.each<[string, (text: string) => unknown]>([
    ['parsed', (text) => JSON.parse(text)],
    ['as text', (text) => text],
    ['as bytes', (text) => Buffer.from(text)],
  ])('%s: it is served', async (_how, leave) => {
    const { connect } = await nodeScene({}, reading(leave))
    expect(textOf((await (await connect()).post(body, headers)).message)).toBe('read before')
  })

  test('and nothing was left: a prompt, explained error', async () => {
    const { connect } = await nodeScene(
      {},
      reading(() => undefined),
    )
    const answer = await (await connect()).post(body, headers)
    expect(answer).toMatchObject({ status: 500, form: 'json', message: { error: { code: -32603 } } })
    expect(answer.message.error?.message).toMatch(/body/)
  })

  test.each<[string, unknown, number]>([
    ['an id that is a fraction', { ...JSON.parse(body), id: 1.5 }, 400],
    ['no jsonrpc', { ...JSON.parse(body), jsonrpc: undefined }, 400],
    ['an array', [JSON.parse(body)], 400],
    ['a text that is no JSON', '{', 400],
    ['an empty text', '', 400],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xe9, 0x22]), 400],
    ['null', null, 400],
    ['the empty object that some frameworks leave', {}, 400],
  ])('checks still apply: %s', async (_what, left, status) => {
    const { connect, server } = await nodeScene(
      {},
      reading(() => left),
    )
    expect(await (await connect()).post(body, headers)).toMatchObject({ status, form: 'json' })
    expect(server.runs).toEqual({})
  })

  test.each<[string, (text: string) => unknown]>([
    ['parsed', (text) => JSON.parse(text)],
    ['as text', (text) => text],
    ['as bytes', (text) => Buffer.from(text)],
  ])('limits still apply, %s', async (_how, leave) => {
    const { connect } = await nodeScene({ limits: { bodyBytes: 5000, jsonDepth: 10 } }, reading(leave))
    const { body: large } = modernCall('echo', { text: 'x'.repeat(5000) })
    expect((await (await connect()).post(large, headers)).status).toBe(413)
    const deep = '['.repeat(10) + ']'.repeat(10)
    const { body: nested } = modernCall('echo', { deep: JSON.parse(deep) })
    expect((await (await connect()).post(nested, headers)).status).toBe(400)
  })
})

describe('what goes out', () => {
  test('S32 B-02 a 202 has no body and no Content-Type', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/foo' })
    client.write(rawPost(body, { 'MCP-Protocol-Version': MODERN }))
    const { status, headers } = await client.head()
    expect(status).toBe(202)
    expect(headers.get('content-length')).toBe('0')
    expect(headers.has('content-type') || headers.has('transfer-encoding')).toBe(false)
  })

  test('S37 HEAD has no body and opens no stream', async () => {
    const { connect } = await nodeScene()
    const client = await connect()
    client.write('HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n')
    expect((await client.head()).status).toBe(405)
    const { headers, body } = modernCall('echo', { text: 'x' })
    expect((await client.post(body, headers)).status).toBe(200) // nothing of a body came before it
  })

  test('S10 S23 each event goes out when it is said, on one line each', async () => {
    const { connect, server } = await nodeScene()
    const client = await connect()
    const { headers, body } = modernCall('steps', { n: 3 }, { progressToken: 'é' })
    client.write(rawPost(body, headers))
    const head = await client.head()
    expect(head.headers.get('x-accel-buffering')).toBe('no')
    expect(head.headers.get('content-type')).toBe('text/event-stream')
    for (const step of [1, 2, 3]) {
      const text = await client.take(/data: [^\n]*\n\n/)
      expect(text).toContain(`step ${step}`)
      server.gates.open(`step ${step}`)
    }
    expect(await client.take(/0\r\n\r\n$/)).toContain('"result"')
  })

  test('S42 the Response of auth goes out whole, each cookie on a line of its own', async () => {
    const auth = () => {
      const headers = new Headers({ 'www-authenticate': 'Bearer resource_metadata="x"', 'content-type': 'text/plain' })
      headers.append('set-cookie', 'a=1')
      headers.append('set-cookie', 'b=2')
      return new Response('who are you? é', { status: 401, headers })
    }
    const { connect } = await nodeScene({ auth })
    const answer = await (await connect()).post('{}', {})
    expect(answer).toMatchObject({ status: 401, text: 'who are you? é' })
    expect(answer.headers.get('www-authenticate')).toContain('resource_metadata')
    expect(answer.raw.match(/set-cookie: /gi)).toHaveLength(2)
  })
})
