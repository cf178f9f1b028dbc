// The official SDK, v1: a transport and a server for each session, or for each request when stateless, as its examples do,
// on node:http without Express in front.
import { randomUUID } from 'node:crypto'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import * as z from 'zod'
import { listen } from './listen.ts'
import { BOTH_FORMS, INFO, type Served, TEXT, text } from './server.ts'

export const uses: readonly string[] = ['@modelcontextprotocol/sdk']

export function createServer(): McpServer {
  const server = new McpServer(INFO)
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text))
  server.registerTool('progress', { inputSchema: { n: z.number() } }, async ({ n }, extra) => {
    const progressToken = extra._meta?.progressToken
    for (let progress = 1; progress <= n && progressToken !== undefined; progress++) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: n },
      })
    }
    return text(TEXT)
  })
  return server
}

export async function start(workload: string): Promise<Served | undefined> {
  switch (workload) {
    case 'legacy-both':
    case 'progress':
      return { url: await listenSessions(false) }
    case 'legacy-json': // its JSON mode is the server's choice; the client must accept both forms
      return { url: await listenSessions(true), accept: BOTH_FORMS }
    case 'legacy-stateless':
      return { url: await listenStateless() }
    default:
      return undefined
  }
}

function listenSessions(enableJsonResponse: boolean): Promise<string> {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  return listen(async (req, res) => {
    const id = req.headers['mcp-session-id'] as string | undefined
    let transport = id === undefined ? undefined : transports.get(id)
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse,
        onsessioninitialized: (sessionId) => {
          transports.set(sessionId, made)
        },
      })
      await createServer().connect(made)
      transport = made
    }
    await transport.handleRequest(req, res)
  })
}

function listenStateless(): Promise<string> {
  return listen(async (req, res) => {
    const server = createServer()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    res.on('close', () => {
      void transport.close()
      void server.close()
    })
    await server.connect(transport)
    await transport.handleRequest(req, res)
  })
}
