// Redis for tests: a server of our own, or three masters as a cluster, on free ports; nothing is kept on disk.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const HOST = '127.0.0.1'
const START_MS = 15_000
const SLOTS = 16_384

export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Its process, to be stopped and continued. */
  readonly child: ChildProcess
  /** Kills it: what it held is lost. */
  stop(): Promise<void>
}

export interface RedisCluster {
  /** One for each master. */
  readonly urls: readonly string[]
  /** Resolves when it serves all slots. */
  readonly up: Promise<void>
  stop(): Promise<void>
}

let binary: string | undefined

/** The server's program; installed where it is missing and may be. Throws an Error that says what to do. */
function redisBinary(): string {
  binary ??= onPath('redis-server') ?? onPath('valkey-server') ?? install()
  return binary
}

function onPath(program: string): string | undefined {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return program
  } catch {
    return undefined
  }
}

function install(): string {
  const apt = ['apt-get', 'install', '-y', '--no-install-recommends', 'redis-server']
  const [command, ...args] = process.getuid?.() === 0 ? apt : ['sudo', '-n', ...apt]
  try {
    execFileSync(command!, args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  } catch {
    // What follows says it.
  }
  if (onPath('redis-server')) return 'redis-server'
  throw new Error('tests need Redis 7: install redis-server or valkey-server, so that it is on PATH')
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** The first chunk of a server's reply to a command of plain words. */
function ask(port: number, ...words: (string | number)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST, () => socket.write(`${words.join(' ')}\r\n`))
    socket.setEncoding('utf8').once('data', (reply: string) => {
      socket.destroy()
      if (reply.startsWith('-')) reject(new Error(`${words.join(' ')}: ${reply}`))
      else resolve(reply)
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(`no reply on port ${port}`)))
  })
}

async function pings(port: number): Promise<boolean> {
  return (await ask(port, 'PING')).startsWith('+PONG')
}

async function until(what: string, isSo: () => Promise<boolean>, stopped?: AbortSignal): Promise<void> {
  const deadline = Date.now() + START_MS
  while (!(await isSo().catch(() => false))) {
    stopped?.throwIfAborted()
    if (Date.now() > deadline) throw new Error(`${what}: not within ${START_MS} ms`)
    await sleep(20)
  }
}

/** A server of one's own. `args` as on its command line, `--rename-command CLIENT x` say. */
export async function startRedis(settings: { port?: number; args?: readonly string[] } = {}): Promise<RedisServer> {
  const port = settings.port ?? (await freePort())
  const server = launch(port, settings.args ?? [])
  try {
    await until(`Redis on port ${port}`, () => pings(port))
  } catch (error) {
    await server.stop()
    throw new Error(`${(error as Error).message}\n${server.output()}`)
  }
  return server
}

function launch(port: number, args: readonly string[]): RedisServer & { output(): string } {
  return run(port, (folder) => [
    ...['--port', `${port}`, '--bind', HOST, '--dir', folder, '--save', '', '--appendonly', 'no'],
    ...args,
  ])
}

function run(port: number, argsIn: (folder: string) => readonly string[]): RedisServer & { output(): string } {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-redis-'))
  const child = spawn(redisBinary(), argsIn(folder), { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000)
    })
  }
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
  // Not left behind by a run that ends early.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  return {
    port,
    url: `redis://${HOST}:${port}`,
    child,
    output: () => output,
    async stop() {
      process.off('exit', kill)
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A sentinel that watches the master on a port by the name of `main`, and makes a replica of it master when told to. */
export async function startSentinel(masterPort: number): Promise<RedisServer> {
  const port = await freePort()
  const sentinel = run(port, (folder) => {
    const config = join(folder, 'sentinel.conf')
    const lines = [
      `port ${port}`,
      `bind ${HOST}`,
      `dir ${folder}`,
      `sentinel monitor main ${HOST} ${masterPort} 1`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 3000',
    ]
    writeFileSync(config, `${lines.join('\n')}\n`)
    return [config, '--sentinel']
  })
  await until(`the sentinel on port ${port}`, () => pings(port))
  return sentinel
}

/** Three masters, each with a third of the slots. Resolves before they are up. */
export async function startCluster(): Promise<RedisCluster> {
  const ports = await Promise.all([0, 1, 2].map(async () => [await freePort(), await freePort()] as const))
  const servers = ports.map(([port, bus]) =>
    launch(port, ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, '--cluster-node-timeout', '2000']),
  )
  const stopping = new AbortController()
  async function join(): Promise<void> {
    for (const [i, [port]] of ports.entries()) {
      await until(`Redis on port ${port}`, () => pings(port), stopping.signal)
      const [from, to] = [Math.ceil((SLOTS * i) / 3), Math.ceil((SLOTS * (i + 1)) / 3) - 1]
      await ask(port, 'CLUSTER', 'ADDSLOTSRANGE', from, to)
      await ask(port, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
    }
    for (const [port, bus] of ports.slice(1)) await ask(ports[0]![0], 'CLUSTER', 'MEET', HOST, port, bus)
    for (const [port] of ports) await clusterIsUp(port, stopping.signal)
  }
  const up = join()
  up.catch(() => {}) // told to those who wait for it
  return {
    urls: servers.map(({ url }) => url),
    up,
    async stop() {
      stopping.abort()
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/** Resolves when this node of the cluster of three knows the others and serves. */
export async function clusterIsUp(port: number, stopped?: AbortSignal): Promise<void> {
  const isUp = async () => {
    const info = await ask(port, 'CLUSTER', 'INFO')
    return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')
  }
  await until(`the Redis cluster, as port ${port} sees it`, isUp, stopped)
}
