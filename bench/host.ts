// A server's own process: `host.ts <server file> <workload>`. It starts the server, says where it listens and answers the
// harness over IPC. When the harness is gone, however it went, so is this.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Served, ServerModule } from './servers/server.ts'

export type HostMessage =
  | { type: 'ready'; served: Served | undefined; versions: Record<string, string> }
  | { type: 'failed'; message: string }
  | { type: 'cpu'; micros: number }

function send(message: HostMessage): void {
  process.send?.(message)
}

function version(name: string): string {
  return JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), 'utf8')).version
}

process.on('disconnect', () => process.exit(0))
process.on('message', (message) => {
  if (message === 'stop') process.exit(0) // an exit of its own, so that --cpu-prof writes its file
  const { user, system } = process.cpuUsage()
  send({ type: 'cpu', micros: user + system })
})

const [file = '', workload = ''] = process.argv.slice(2)
try {
  const module: ServerModule = await import(pathToFileURL(file).href)
  const served = await module.start(workload)
  send({ type: 'ready', served, versions: Object.fromEntries(module.uses.map((name) => [name, version(name)])) })
} catch (error) {
  send({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
}
