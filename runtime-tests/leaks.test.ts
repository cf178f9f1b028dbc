// S65: ten thousand calls over streams and five hundred dropped GETs, on real sockets, leave nothing behind.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Held } from './leaks.ts'

const CALLS = 10_000
const GETS = 500
const SIDE_BY_SIDE = 20

const child = spawn(process.execPath, ['--expose-gc', fileURLToPath(new URL('./leaks.ts', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
const agent = new Agent({ keepAlive: true, maxSockets: SIDE_BY_SIDE })
let url: string

async function line(): Promise<string> {
  const { value, done } = await lines.next()
  if (done) throw new Error('the server has ended')
  return value
}

async function held(): Promise<Held> {
  child.stdin.write('\n')
  return JSON.parse(await line()) as Held
}

/** Resolves with the head. */
async function send(method: string, headers: Record<string, string>, body?: object): Promise<IncomingMessage> {
  const all = {
    accept: 'application/json, text/event-stream',
    ...(body ? { 'content-type': 'application/json' } : {}),
    ...headers,
  }
  const sent = request(url, { method, headers: all, agent: method === 'GET' ? false : agent })
  sent.on('error', () => {})
  sent.end(body && JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return response
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

async function session(): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'leaks', version: '1' } }
  const response = await send('POST', {}, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  await textOf(response)
  return { 'mcp-session-id': response.headers['mcp-session-id'] as string, 'mcp-protocol-version': '2025-11-25' }
}

async function sideBySide(count: number, run: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
}

const { heapUsed: _, ...NOTHING } = {
  sessions: 0,
  connections: 0,
  inFlight: 0,
  timers: 0,
  objects: { Call: 0, Connection: 0, Reader: 0 },
  heapUsed: 0,
} satisfies Held

/** Resolves when nothing of it is left; sessions live for two seconds. */
async function nothingLeft(): Promise<void> {
  await expect.poll(held, { timeout: 20_000, interval: 200 }).toMatchObject(NOTHING)
}

beforeAll(async () => {
  url = await line()
})

afterAll(async () => {
  agent.destroy()
  const exited = once(child, 'exit')
  child.stdin.end()
  expect(await exited).toEqual([0, null])
})

describe('S65 R35 B-06', () => {
  test(`${CALLS} calls over streams: all is as it was, and the heap is flat`, { timeout: 180_000 }, async () => {
    await nothingLeft()
    const headers = await session()
    const heaps: number[] = []
    const rounds = 20
    for (let round = 0; round < rounds; round++) {
      await sideBySide(CALLS / rounds, async (i) => {
        const params = { name: 'echo', arguments: { text: `text ${i}` }, _meta: { progressToken: i } }
        const response = await send('POST', headers, { jsonrpc: '2.0', id: i, method: 'tools/call', params })
        expect(response.headers['content-type']).toBe('text/event-stream')
        expect(await textOf(response)).toContain(`text ${i}`)
      })
      // The records of these calls are swept within two seconds.
      await expect.poll(held, { timeout: 20_000 }).toMatchObject({ connections: 0, inFlight: 0, objects: { Call: 0 } })
      if (round >= rounds / 2) heaps.push((await held()).heapUsed)
    }
    const [low, high] = [Math.min(...heaps), Math.max(...heaps)]
    console.log(
      `heap over the last ${CALLS / 2} calls: ${low} to ${high} bytes, ${((high / low - 1) * 100).toFixed(1)} %`,
    )
    expect(high / low).toBeLessThan(1.05)
    await (await send('DELETE', headers)).resume()
    await nothingLeft()
  })

  test(`S03 S12 ${GETS} GETs whose sockets are cut, without DELETE: all is as it was`, {
    timeout: 60_000,
  }, async () => {
    await nothingLeft()
    await sideBySide(GETS, async () => {
      const response = await send('GET', await session())
      expect(response.headers['content-type']).toBe('text/event-stream')
      response.destroy()
    })
    await expect.poll(held, { timeout: 20_000 }).toMatchObject({ connections: 0, inFlight: 0 })
    await nothingLeft()
  })

  test('a call whose socket is cut runs to its end, and leaves nothing', { timeout: 60_000 }, async () => {
    const headers = await session()
    await sideBySide(200, async (i) => {
      const params = { name: 'echo', arguments: { text: 'x' }, _meta: { progressToken: i } }
      const response = await send('POST', headers, { jsonrpc: '2.0', id: i, method: 'tools/call', params })
      response.destroy()
    })
    await nothingLeft()
  })
})
