// The server of official-v2.ts behind our transport, by fromSdk.
import { createTransport, serve } from '@fairlead/node'
import { fromSdk } from '@fairlead/sdk'
import { createServer } from './official-v2.ts'
import { HOSTNAME, type Served } from './server.ts'

export const uses: readonly string[] = ['@fairlead/sdk', '@modelcontextprotocol/server']

export async function start(workload: string): Promise<Served | undefined> {
  if (!['legacy-both', 'legacy-json', 'legacy-stateless', 'modern', 'progress'].includes(workload)) return undefined
  const transport = createTransport(fromSdk(createServer), workload === 'legacy-stateless' ? { sessions: false } : {})
  const { url } = await serve(transport, { port: 0, hostname: HOSTNAME })
  return { url }
}
