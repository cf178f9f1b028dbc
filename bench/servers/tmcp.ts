// tmcp: every POST is answered over SSE, so it has no JSON workload; both eras on one endpoint.
import { ValibotJsonSchemaAdapter } from '@tmcp/adapter-valibot'
import { HttpTransport } from '@tmcp/transport-http'
import { McpServer } from 'tmcp'
import * as v from 'valibot'
import { listenFetch } from './listen-fetch.ts'
import { INFO, type Served, TEXT, text } from './server.ts'

export const uses: readonly string[] = ['tmcp', '@tmcp/transport-http', '@hono/node-server']

export async function start(workload: string): Promise<Served | undefined> {
  if (!['legacy-both', 'legacy-stateless', 'modern', 'progress'].includes(workload)) return undefined
  const server = new McpServer(
    { ...INFO, description: 'bench' },
    { adapter: new ValibotJsonSchemaAdapter(), capabilities: { tools: {} } },
  )
  server.tool({ name: 'echo', description: 'echo', schema: v.object({ text: v.string() }) }, (args) => text(args.text))
  server.tool({ name: 'progress', description: 'progress', schema: v.object({ n: v.number() }) }, ({ n }) => {
    for (let progress = 1; progress <= n; progress++) server.progress(progress, n)
    return text(TEXT)
  })
  const transport = new HttpTransport(server, { path: '/mcp' })
  const url = await listenFetch(async (request) => {
    return (await transport.respond(request)) ?? new Response(null, { status: 404 })
  })
  return { url }
}
