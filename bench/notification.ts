// How long a notification takes from one node to a client's socket on another, and what a bare publish-subscribe takes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { createTransport, McpServer, type Transport } from '@fairlead/core'
import { redisStore } from '@fairlead/redis'
import { Redis } from 'ioredis'
import { type FieldNode, startNode } from '../runtime-tests/fleet/support/node.ts'
import { startRedis } from '../runtime-tests/redis/servers.ts'

/** In ms, one for each message. */
export interface Times {
  /** PUBLISH on this process to the subscriber's `message` on another: the baseline. */
  bare: number[]
  /** The same again, on connections of its own: the control. */
  control: number[]
  /** `session.send` on this node, to the socket of the client, whose stream is on another node. */
  fairlead: number[]
}

interface Line {
  send(text: string): Promise<unknown>
  /** Resolves when this text has arrived, with the time at which it did. */
  arrival(text: string): Promise<number>
  close(): Promise<void>
}

/** One message of each kind in turn, `count` times; `onRound` says how many are done. */
export async function measureNotifications(count: number, warmup = 50): Promise<Times> {
  const redis = await startRedis()
  const times: Times = { bare: [], control: [], fairlead: [] }
  const lines = new Map<keyof Times, Line>()
  try {
    lines.set('bare', await bareLine(redis.url, 'bare'))
    lines.set('control', await bareLine(redis.url, 'control'))
    lines.set('fairlead', await fairleadLine(redis.url))
    for (let round = -warmup; round < count; round++) {
      for (const [name, line] of lines) {
        const text = `${name} ${round}`
        const arrived = line.arrival(text)
        const start = clock()
        const sent = line.send(text)
        const took = (await arrived) - start
        if (round >= 0) times[name].push(took)
        await sent
      }
    }
    return times
  } finally {
    await Promise.all([...lines.values()].map((line) => line.close()))
    await redis.stop()
  }
}

/** The same on all processes of a machine, ms. */
function clock(): number {
  return performance.timeOrigin + performance.now()
}

/** What has arrived is told to whoever waits for it. */
function arrivals(): { heard(text: string, at: number): void; arrival(text: string): Promise<number> } {
  const waiting = new Map<string, (at: number) => void>()
  return {
    heard(text, at) {
      for (const [wanted, resolve] of waiting) {
        if (!text.includes(`"${wanted}"`)) continue
        waiting.delete(wanted)
        resolve(at)
      }
    },
    arrival: (text) => new Promise((resolve) => void waiting.set(text, resolve)),
  }
}

async function bareLine(url: string, channel: string): Promise<Line> {
  const publisher = new Redis(url)
  const subscriber = fork(import.meta.filename, ['subscriber', url, channel])
  const { heard, arrival } = arrivals()
  await once(subscriber, 'message')
  subscriber.on('message', ({ text, at }: { text: string; at: number }) => heard(text, at))
  return {
    send: (text) => publisher.publish(channel, `"${text}"`),
    arrival,
    async close() {
      publisher.disconnect()
      const ended = once(subscriber, 'exit')
      subscriber.kill()
      await ended
    },
  }
}

/** What `bareLine` starts. */
async function subscribe(url: string, channel: string): Promise<void> {
  const redis = new Redis(url)
  redis.on('message', (_channel, text) => process.send!({ text, at: clock() }))
  await redis.subscribe(channel)
  process.once('disconnect', () => process.exit())
  process.send!('ready')
}

async function fairleadLine(redisUrl: string): Promise<Line> {
  const prefix = 'bench:'
  const store = redisStore(redisUrl, { prefix })
  const here: Transport = createTransport(new McpServer({ name: 'bench', version: '1.0.0' }), { store })
  let there: FieldNode | undefined
  let stream: IncomingMessage | undefined
  const close = async () => {
    stream?.destroy()
    await here.close()
    await store.close()
    await there?.end('SIGKILL')
  }
  try {
    there = await startNode({ redisUrl, prefix })
    const version = '2025-11-25'
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
    const response = await fetch(there.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    })
    await response.text()
    const id = response.headers.get('mcp-session-id')!
    const headers = { accept: 'text/event-stream', 'mcp-session-id': id, 'mcp-protocol-version': version }
    const [opened] = (await once(get(there.url, { headers }), 'response')) as [IncomingMessage]
    stream = opened
    const { heard, arrival } = arrivals()
    opened.setEncoding('utf8').on('data', (text: string) => heard(text, clock()))
    opened.on('error', () => {})
    const session = (await here.session(id))!
    return { send: (data) => session.send('notifications/message', { level: 'info', data }), arrival, close }
  } catch (error) {
    await close()
    throw error
  }
}

if (process.argv[2] === 'subscriber') await subscribe(process.argv[3]!, process.argv[4]!)
