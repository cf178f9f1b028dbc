// mcp-lite: sessions through its in-memory adapter, JSON or SSE by the Accept header; no 2026-07-28.
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from 'mcp-lite'
import * as z from 'zod'
import { listenFetch } from './listen-fetch.ts'
import { INFO, type Served, TEXT, text } from './server.ts'

export const uses: readonly string[] = ['mcp-lite', '@hono/node-server']

export async function start(workload: string): Promise<Served | undefined> {
  if (!['legacy-both', 'legacy-json', 'legacy-stateless', 'progress'].includes(workload)) return undefined
  const server = new McpServer({ ...INFO, schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType) })
  server.tool('echo', {
    inputSchema: z.object({ text: z.string() }),
    handler: (args) => text(args.text),
  })
  server.tool('progress', {
    inputSchema: z.object({ n: z.number() }),
    handler: async ({ n }, ctx) => {
      for (let progress = 1; progress <= n; progress++) await ctx.progress?.({ progress, total: n })
      return text(TEXT)
    },
  })
  const transport =
    workload === 'legacy-stateless'
      ? new StreamableHttpTransport()
      : new StreamableHttpTransport({
          sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
          clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: 30_000 }),
        })
  const handle = transport.bind(server)
  const url = await listenFetch((request) => handle(request))
  // It streams whenever the client takes SSE. Without a session the client takes only JSON, its cheaper form; with one it
  // has a workload for each.
  return workload === 'legacy-stateless' ? { url, accept: 'application/json' } : { url }
}
