// A server that never answers; it says in a file who it is.
import { writeFileSync } from 'node:fs'
import { listen } from '../servers/listen.ts'
import type { Served } from '../servers/server.ts'

export const uses: readonly string[] = []

export async function start(): Promise<Served> {
  writeFileSync(process.env.BENCH_PID_FILE!, String(process.pid))
  return { url: await listen(() => {}), handshake: false }
}
