// Ours: one transport for every workload with all its checks on; stateless legacy is an option of it.
import { createTransport, McpServer, serve } from '@fairlead/node'
import * as v from 'valibot'
import { HOSTNAME, INFO, type Served, TEXT } from './server.ts'

export const uses: readonly string[] = ['@fairlead/node']

export async function start(workload: string): Promise<Served | undefined> {
  if (!['legacy-both', 'legacy-json', 'legacy-stateless', 'modern', 'progress'].includes(workload)) return undefined
  const server = new McpServer(INFO)
  server.tool('echo', { inputSchema: v.object({ text: v.string() }) }, ({ text }) => text)
  server.tool('progress', { inputSchema: v.object({ n: v.number() }) }, async ({ n }, ctx) => {
    for (let step = 1; step <= n; step++) await ctx.progress(step, n)
    return TEXT
  })
  const transport = createTransport(server, workload === 'legacy-stateless' ? { sessions: false } : {})
  const { url } = await serve(transport, { port: 0, hostname: HOSTNAME })
  return { url }
}
