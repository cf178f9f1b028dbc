// The process that leaks.test.ts watches: a server on real sockets that says what it holds, after a collection.
//   node --expose-gc leaks.ts: prints its URL; then a line of JSON for each line on stdin
import process from 'node:process'
import { createInterface } from 'node:readline'
import { queryObjects } from 'node:v8'
import { createTransport, McpServer, serve } from '@fairlead/node'
import * as v from 'valibot'
import { Call } from '../packages/core/dist/calls.js'
import { Connection } from '../packages/core/dist/connection.js'
import { Reader } from '../packages/core/dist/legacy/reader.js'

export interface Held {
  sessions: number
  connections: number
  inFlight: number
  timers: number
  /** Objects of these classes that something still holds. */
  objects: Record<string, number>
  heapUsed: number
}

const server = new McpServer({ name: 'leaks', version: '1' })
server.tool('echo', { inputSchema: v.object({ text: v.string() }) }, async ({ text }, ctx) => {
  await ctx.progress(1)
  return text
})
const transport = createTransport(server, {
  sessions: { ttlMs: 2000 },
  // What a client may still resume is no leak: it is kept for a short time here.
  streams: { streamAfterMs: 0, maxAgeMs: 100 },
})

function held(): Held {
  globalThis.gc?.()
  const objects = Object.fromEntries(
    [Call, Connection, Reader].map((made) => [made.name, queryObjects(made as never, { format: 'count' }) as number]),
  )
  const { storeCalls: _, ...stats } = transport.stats()
  return { ...stats, objects, heapUsed: process.memoryUsage().heapUsed }
}

const { url, close } = await serve(transport as never, { port: 0 })
console.log(url)
for await (const _ of createInterface(process.stdin)) console.log(JSON.stringify(held()))
await close()
process.exit(0)
