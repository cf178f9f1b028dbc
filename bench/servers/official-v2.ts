// The official SDK, v2: sessions through its Node transport, as its guide says for sessionful 2025 deployments; stateless
// legacy and modern through createMcpHandler.
import { randomUUID } from 'node:crypto'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { listen } from './listen.ts'
import { BOTH_FORMS, INFO, type Served, TEXT, text } from './server.ts'

export const uses: readonly string[] = ['@modelcontextprotocol/server', '@modelcontextprotocol/node']

const EchoInput = z.object({ text: z.string() })
const ProgressInput = z.object({ n: z.number() })

export function createServer(): McpServer {
  const server = new McpServer(INFO)
  server.registerTool('echo', { inputSchema: EchoInput }, (args) => text(args.text))
  server.registerTool('progress', { inputSchema: ProgressInput }, async ({ n }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (let progress = 1; progress <= n && progressToken !== undefined; progress++) {
      await ctx.mcpReq.notify({
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
    case 'modern':
      return { url: await listen(toNodeHandler(createMcpHandler(createServer))) }
    default:
      return undefined
  }
}

function listenSessions(enableJsonResponse: boolean): Promise<string> {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>()
  return listen(async (req, res) => {
    const id = req.headers['mcp-session-id'] as string | undefined
    let transport = id === undefined ? undefined : transports.get(id)
    if (transport === undefined) {
      const made = new NodeStreamableHTTPServerTransport({
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
