// The official clients as they are, against two nodes behind a balancer that knows no sessions.
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fleet, startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'

const INFO = { name: 'fleet-test', version: '1.0.0' }
const COUNTER = 'field://counter'
const OPTIONS = {
  reconnectionOptions: {
    initialReconnectionDelay: 50,
    maxReconnectionDelay: 500,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 10,
  },
}

interface Opened {
  call(
    tool: string,
    args?: Record<string, unknown>,
    onprogress?: (step: number) => void,
    signal?: AbortSignal,
  ): Promise<string>
  tools(): Promise<string[]>
  subscribe(uri: string): Promise<unknown>
  /** What the server told of, outside of calls. */
  heard: string[]
  sessionId(): string | undefined
  /** Ends the session too, where there is one. */
  close(): Promise<void>
}

const texts = (result: unknown) => (result as { content: { text: string }[] }).content.map(({ text }) => text).join('')
const accept = () => ({ action: 'accept' as const, content: { name: 'Ada' } })

async function v1(url: string): Promise<Opened> {
  const client = new ClientV1(INFO, { capabilities: { elicitation: {} } })
  const heard: string[] = []
  client.setRequestHandler(ElicitRequestSchema, accept)
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('tools'))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri))
  const transport = new TransportV1(new URL(url), OPTIONS)
  await client.connect(transport)
  return {
    heard,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, args = {}, step, signal) {
      const onprogress = step && (({ progress }: { progress: number }) => step(progress))
      return texts(await client.callTool({ name, arguments: args }, undefined, { onprogress, signal }))
    },
    subscribe: (uri) => client.subscribeResource({ uri }),
    sessionId: () => transport.sessionId,
    async close() {
      await transport.terminateSession()
      await client.close()
    },
  }
}

const v2 =
  (isModern: boolean) =>
  async (url: string): Promise<Opened> => {
    const versionNegotiation = isModern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } as const } : {}
    const client = new ClientV2(INFO, { capabilities: { elicitation: {} }, ...versionNegotiation })
    const heard: string[] = []
    client.setRequestHandler('elicitation/create', accept)
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
    const transport = new TransportV2(new URL(url), OPTIONS)
    await client.connect(transport)
    if (isModern) await client.listen({ toolsListChanged: true, resourceSubscriptions: [COUNTER] })
    return {
      heard,
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      async call(name, args = {}, step, signal) {
        const onprogress = step && (({ progress }: { progress: number }) => step(progress))
        return texts(await client.callTool({ name, arguments: args }, { onprogress, signal }))
      },
      subscribe: async (uri) => isModern || client.subscribeResource({ uri }),
      sessionId: () => transport.sessionId,
      async close() {
        if (transport.sessionId) await transport.terminateSession()
        await client.close()
      },
    }
  }

const CLIENTS = [
  { name: 'official v1', isModern: false, open: v1 },
  { name: 'official v2, legacy', isModern: false, open: v2(false) },
  { name: 'official v2, 2026-07-28', isModern: true, open: v2(true) },
]

describe.each(CLIENTS)('$name, round robin over two nodes', ({ open, isModern }) => {
  let fleet: Fleet
  let client: Opened
  beforeAll(async () => {
    fleet = await startFleet(2, ['--lease-ms', '2000'])
    client = await open(fleet.url)
  })
  afterAll(async () => {
    await client.close()
    await fleet.stop()
  })
  const total = async (pick: 'sideEffects' | 'aborted') => {
    const [a, b] = await Promise.all(fleet.nodes.map((node) => node.stats()))
    return a![pick] + b![pick]
  }

  test('S02 both nodes serve it', async () => {
    const before = [...fleet.balancer.served]
    for (let i = 0; i < 6; i++) expect(await client.call('echo', { text: `${i}` })).toBe(`${i}`)
    expect(await client.tools()).toContain('slow')
    for (const [node, served] of fleet.balancer.served.entries()) expect(served).toBeGreaterThan(before[node]!)
  })

  test('S26 calls at once, answered in another order: none crosses', async () => {
    const sent = Array.from({ length: 20 }, (_, i) => `${i}`)
    const got = await Promise.all(sent.map((text, i) => client.call('slow', { ms: (i * 37) % 200, text })))
    expect(got).toEqual(sent)
  })

  test('S22 asked and answered through whatever node; the effect between two asks happens once', async () => {
    const before = await total('sideEffects')
    for (let i = 0; i < 3; i++) expect(await client.call('ask')).toBe('Ada')
    expect(await client.call('ask_twice')).toBe('Ada Ada')
    expect((await total('sideEffects')) - before).toBe(1)
  })

  // A call of 2026-07-28 can't be resumed: its client sees that it failed.
  const resumable = isModern ? [] : ['every connection is cut while a call runs']
  test.for(resumable)('S16 S18 %s', async () => {
    const seen: number[] = []
    let cuts = 0
    const calling = client.call('progress', { n: 12, ms: 60 }, (step) => {
      seen.push(step)
      if (step === 3 || step === 8) cuts += fleet.balancer.cut()
    })
    expect(await calling).toBe('12 steps')
    expect(cuts).toBeGreaterThan(2)
    expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
  })

  test('W13 R26 cancelled through whatever node', async () => {
    const before = await total('aborted')
    for (let i = 0; i < 2; i++) {
      const gone = new AbortController()
      const calling = client.call('slow', { ms: 30_000, text: 'no' }, undefined, gone.signal)
      const failed = expect(calling).rejects.toThrow()
      await until('it runs', async () => (await runs()) > i)
      gone.abort()
      await failed
      await until('it is stopped', async () => (await total('aborted')) === before + i + 1)
    }
    async function runs() {
      const all = await Promise.all(fleet.nodes.map((node) => node.stats()))
      return all.reduce((sum, { handlerRuns, finished }) => sum + (handlerRuns.slow ?? 0) - finished, 0)
    }
  })

  test('S19 S54 changes on either node are heard, also after every connection was cut', async () => {
    await client.subscribe(COUNTER)
    const expected: string[] = []
    const tell = async (node: number) => {
      await fleet.nodes[node]!.control('notify', { kind: 'tools' })
      await fleet.nodes[node]!.control('notify', { kind: 'resource', uri: COUNTER })
      expected.push('tools', COUNTER)
      await until(`${client.heard} is ${expected}`, () => client.heard.length >= expected.length)
    }
    await tell(0)
    await tell(1)
    if (!isModern) {
      expect(fleet.balancer.cut()).toBeGreaterThan(0)
      // Whether it is back already or not: nothing is lost.
      await tell(0)
      await tell(1)
    }
    expect(client.heard).toEqual(expected)
  })

  test('C-06 the session is over on both nodes when the client has ended it', async () => {
    const other = await open(fleet.url)
    const id = other.sessionId()
    await other.close()
    expect(id === undefined).toBe(isModern)
    for (const { url } of fleet.nodes) {
      const headers = { 'mcp-session-id': id ?? 'x'.repeat(22), accept: 'text/event-stream' }
      expect((await fetch(url, { headers })).status).toBe(404)
    }
  })
})
