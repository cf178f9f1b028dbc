// A field fixture as a process of its own, on a Redis.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

export interface FieldNode {
  readonly url: string
  readonly pid: number
  /** What it wrote to stderr. */
  readonly log: string
  /** A command of `/_control`. */
  control(command: string, body?: unknown): Promise<{ [key: string]: unknown }>
  stats(): Promise<NodeStats>
  signal(signal: NodeJS.Signals): void
  /** Ends it, and waits for its end. */
  end(signal?: NodeJS.Signals): Promise<void>
}

export interface NodeStats {
  sessions: number
  connections: number
  inFlight: number
  timers: number
  handlerRuns: Record<string, number>
  sideEffects: number
  aborted: number
  finished: number
  uncaught: number
  heapUsed: number
  storeCalls: number
}

export interface NodeOptions {
  redisUrl: string
  prefix: string
  /** More of the command line: `['--ttl-ms', '2000']`. */
  args?: readonly string[]
  /** A checkout that is built; this one by default. */
  root?: string
}

export async function startNode({ redisUrl, prefix, args = [], root = ROOT }: NodeOptions): Promise<FieldNode> {
  const options = ['--store', redisUrl, '--prefix', prefix, ...args]
  const child = spawn(process.execPath, ['--expose-gc', join(root, 'fixtures/field.ts'), ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000)
  })
  const ended = once(child, 'exit')
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  ended.finally(() => process.off('exit', kill))
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error(`a node did not start: ${log}`))),
  ])) as [string]
  ended.catch(() => {})
  const { url, control, pid } = JSON.parse(line) as { url: string; control: string; pid: number }

  const command = async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${control}/${path}`, init)
    const said = (await response.json()) as { [key: string]: unknown }
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(said)}`)
    return said
  }
  return {
    url,
    pid,
    get log() {
      return log
    },
    control: command,
    stats: async () => (await command('stats')) as unknown as NodeStats,
    signal: (signal) => void child.kill(signal),
    async end(signal = 'SIGTERM') {
      if (isOver(child)) return
      child.kill(signal)
      if (signal !== 'SIGKILL') child.kill('SIGCONT') // one that was stopped could not end
      await ended
    },
  }
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
