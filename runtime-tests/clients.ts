// The clients that people use, from npm, as they are: each only opened and called, in one shape for the tests.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createMCPClient } from '@ai-sdk/mcp'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export interface Opened {
  listTools(): Promise<string[]>
  /** The text of the tool's one block. `onStep` hears of each progress message when it arrives. */
  call(tool: string, args: Record<string, unknown>, onStep?: (message: string) => void): Promise<string>
  close(): Promise<void>
}

export interface RealClient {
  name: string
  version: string
  /** The revision that it settles on with a server of all revisions. */
  speaks: string
  open(url: string): Promise<Opened>
}

const installed = (name: string) => fileURLToPath(new URL(`./node_modules/${name}`, import.meta.url))
const versionOf = (name: string): string => JSON.parse(readFileSync(`${installed(name)}/package.json`, 'utf8')).version
const info = { name: 'fairlead-test', version: '1.0.0' }

const texts = (result: unknown) => (result as { content: { text: string }[] }).content.map(({ text }) => text).join('')

const v1: RealClient = {
  name: 'official v1',
  version: versionOf('@modelcontextprotocol/sdk'),
  speaks: '2025-11-25',
  async open(url) {
    const client = new ClientV1(info)
    const transport = new TransportV1(new URL(url))
    await client.connect(transport)
    return {
      listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
      async call(name, args, onStep) {
        const onprogress = onStep && (({ message }: { message?: string }) => onStep(message!))
        return texts(await client.callTool({ name, arguments: args }, undefined, { onprogress }))
      },
      async close() {
        await transport.terminateSession()
        await client.close()
      },
    }
  },
}

const v2 = (label: string, speaks: string, mode?: VersionNegotiationMode): RealClient => ({
  name: `official v2 ${label}`,
  version: versionOf('@modelcontextprotocol/client'),
  speaks,
  async open(url) {
    const client = new ClientV2(info, mode && { versionNegotiation: { mode } })
    const transport = new TransportV2(new URL(url))
    await client.connect(transport)
    return {
      listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
      async call(name, args, onStep) {
        const onprogress = onStep && (({ message }: { message?: string }) => onStep(message!))
        return texts(await client.callTool({ name, arguments: args }, { onprogress }))
      },
      async close() {
        if (transport.sessionId) await transport.terminateSession()
        await client.close()
      },
    }
  },
})

/**
 * It has no API for progress and sends no token of its own. Its own `request` takes one, and each notification that
 * then arrives is told to `onUncaughtError`, without its text: so steps are counted here, not read.
 */
const aiSdk: RealClient = {
  name: '@ai-sdk/mcp',
  version: versionOf('@ai-sdk/mcp'),
  speaks: '2026-07-28',
  async open(url) {
    let step: (() => void) | undefined
    const unexpected: unknown[] = []
    const onUncaughtError = (error: unknown) => {
      if (step && String(error).includes('Unsupported message type')) step()
      else unexpected.push(error)
    }
    const client = await createMCPClient({ transport: { type: 'http', url }, onUncaughtError })
    const { request } = client as unknown as {
      request(args: { request: unknown; resultSchema: { parse(result: unknown): unknown } }): Promise<unknown>
    }
    return {
      listTools: async () => Object.keys(await client.tools()),
      async call(name, args, onStep) {
        if (!onStep) return texts(await client.callTool({ name, arguments: args }))
        let steps = 0
        step = () => onStep(`step ${++steps}`)
        const params = { name, arguments: args, _meta: { progressToken: 'steps' } }
        const resultSchema = { parse: (result: unknown) => result }
        const result = await request.call(client, { request: { method: 'tools/call', params }, resultSchema })
        step = undefined
        return texts(result)
      },
      async close() {
        await client.close()
        if (unexpected.length > 0) throw new AggregateError(unexpected, 'the client complained')
      },
    }
  },
}

/** Clients that run in this process. */
export const CLIENTS: readonly RealClient[] = [
  v1,
  v2('default', '2025-11-25'),
  v2('auto', '2026-07-28', 'auto'),
  v2('pinned', '2026-07-28', { pin: '2026-07-28' }),
  aiSdk,
]

export const INSPECTOR_VERSION: string = versionOf('@modelcontextprotocol/inspector')

/** Runs the inspector's CLI once, as a person would; gives the result that it printed. */
export async function inspect(args: readonly string[]): Promise<unknown> {
  const launcher = `${installed('@modelcontextprotocol/inspector')}/clients/launcher/build/index.js`
  // It keeps files of its own at home.
  const home = await mkdtemp(`${tmpdir()}/fairlead-inspector-`)
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [launcher, ...args, '--format', 'json'], {
      env: { ...process.env, HOME: home },
      timeout: 60_000,
    })
    return JSON.parse(stdout).result
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
