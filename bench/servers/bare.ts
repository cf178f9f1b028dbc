// The baseline: node:http that reads and parses the body and returns a fixed result.
import { type Call, fixedAnswer, progressFrames } from './fixed.ts'
import { listen } from './listen.ts'
import type { Served } from './server.ts'

export const uses: readonly string[] = []

const WORKLOADS = ['legacy-both', 'legacy-json', 'legacy-stateless', 'modern', 'progress']

export async function start(workload: string): Promise<Served | undefined> {
  if (!WORKLOADS.includes(workload)) return undefined
  const url = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const call: Call = JSON.parse((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString())
      if (workload === 'progress') {
        res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
        for (const frame of progressFrames(call)) res.write(frame)
        res.end()
      } else {
        const body = fixedAnswer(call, workload)
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        res.end(body)
      }
    })
  })
  return { url, handshake: false }
}
