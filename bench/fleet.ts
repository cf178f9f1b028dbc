// Server processes: started on their core, asked for their CPU time, and all of them stopped in the end.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { HostMessage } from './host.ts'
import type { Served } from './servers/server.ts'

const HOST = fileURLToPath(new URL('./host.ts', import.meta.url))
const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 10_000
const TAIL_CHARS = 2_000

export interface Entry {
  /** In the report. */
  name: string
  /** Its module. */
  file: string
}

export interface RunningServer {
  readonly name: string
  readonly served: Served
  readonly versions: Readonly<Record<string, string>>
  /** CPU time of the process since it started, user and system, in µs. */
  cpu(): Promise<number>
  stop(): Promise<void>
}

const children = new Set<ChildProcess>()

/** The last resort, for signals and crashes. */
export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

export interface StartOptions {
  workload: string
  /** Pinned to it with taskset. */
  core?: number
  /** Where node writes a CPU profile when the server stops. */
  profile?: { dir: string; file: string }
}

/** Starts a server for one workload; undefined when it has no such workload. Rejects when it can't start. */
export async function startServer(entry: Entry, options: StartOptions): Promise<RunningServer | undefined> {
  const { core, profile } = options
  const flags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile.dir}`, `--cpu-prof-name=${profile.file}`] : []
  const pinned = core === undefined ? undefined : ['-c', String(core), process.execPath, ...flags]
  const child = fork(HOST, [entry.file, options.workload], {
    execPath: pinned ? 'taskset' : process.execPath,
    execArgv: pinned ?? flags,
    env: { ...process.env, NODE_ENV: 'production', NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  let tail = '' // what it printed, shown only when it fails
  const keep = (chunk: Buffer): void => {
    tail = (tail + chunk.toString()).slice(-TAIL_CHARS)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)

  const reply = (): Promise<HostMessage> =>
    new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        child.off('message', answered)
        child.off('exit', ended)
        child.off('error', failed)
      }
      const answered = (message: unknown): void => {
        done()
        resolve(message as HostMessage)
      }
      const failed = (error: Error): void => {
        done()
        reject(new Error(`${entry.name}: ${error.message}`))
      }
      const ended = (code: number | null, signal: string | null): void =>
        failed(new Error(`ended with ${signal ?? code}\n${tail}`))
      const timer = setTimeout(() => failed(new Error(`no word from it in time\n${tail}`)), START_TIMEOUT_MS)
      child.on('message', answered)
      child.on('exit', ended)
      child.on('error', failed)
    })

  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    const exited = once(child, 'exit')
    if (child.connected) child.send('stop')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await exited
    clearTimeout(timer)
  }

  try {
    const message = await reply()
    if (message.type === 'failed') throw new Error(`${entry.name}: ${message.message}`)
    if (message.type !== 'ready') throw new Error(`${entry.name}: spoke out of turn`)
    const { served, versions } = message
    if (served === undefined) {
      await stop()
      return undefined
    }
    return {
      name: entry.name,
      served,
      versions,
      stop,
      cpu: async () => {
        const answer = reply()
        child.send('cpu')
        const message = await answer
        if (message.type !== 'cpu') throw new Error(`${entry.name}: spoke out of turn`)
        return message.micros
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}
