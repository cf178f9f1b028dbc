// Runs a module under workerd, the runtime of Workers: a real process with a real socket.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** The binary itself: it is what has to be stopped, not a shim. */
const WORKERD = fileURLToPath(new URL('../node_modules/workerd/bin/workerd', import.meta.url))

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-07-28",
  compatibilityFlags = ["enable_request_signal"],
);
`

export interface Workerd {
  url: string
  /** What it wrote on stderr so far: exceptions that nobody caught, above all. */
  errors(): string
  stop(): Promise<void>
}

/** @param folder has worker.js, one ES module */
export async function startWorkerd(folder: string): Promise<Workerd> {
  await writeFile(`${folder}/config.capnp`, CONFIG)
  const child = spawn(WORKERD, ['serve', `${folder}/config.capnp`, '--control-fd=3'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const port = await listening(child).catch((error) => {
    throw new Error(`${error.message}: ${errors}`)
  })
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    errors: () => errors,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function listening(child: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number }
    if (event === 'listen') return port
  }
  throw new Error('workerd ended before it listened')
}
