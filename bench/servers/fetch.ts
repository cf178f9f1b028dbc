// A bare fetch handler behind @hono/node-server: what Request and Response alone cost on Node.
import { type Call, fixedAnswer, progressFrames } from './fixed.ts'
import { listenFetch } from './listen-fetch.ts'
import type { Served } from './server.ts'

export const uses: readonly string[] = ['@hono/node-server']

const WORKLOADS = ['legacy-both', 'legacy-json', 'legacy-stateless', 'modern', 'progress']
const encoder = new TextEncoder()

function stream(call: Call): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const frame of progressFrames(call)) controller.enqueue(encoder.encode(frame))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } })
}

export async function start(workload: string): Promise<Served | undefined> {
  if (!WORKLOADS.includes(workload)) return undefined
  const url = await listenFetch(async (request) => {
    const call = (await request.json()) as Call
    if (workload === 'progress') return stream(call)
    return new Response(fixedAnswer(call, workload), { headers: { 'content-type': 'application/json' } })
  })
  return { url, handshake: false }
}
