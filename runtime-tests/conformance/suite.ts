// One run of the official suite, as the program that it is: what it said that it would run, and what it left behind.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startNode } from './child.ts'

export interface Check {
  id: string
  name: string
  description: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  errorMessage?: string
  details?: Record<string, unknown>
}

export interface Outcome {
  /** How many scenarios it promised. */
  promised: number
  /** Those that it began, in their order. */
  scenarios: readonly string[]
  /** Those of them that it does not count itself. */
  unscored: ReadonlySet<string>
  /** The checks of each; one that broke down has none. */
  checks: ReadonlyMap<string, readonly Check[]>
  exitCode: number | null
  /** What it printed. */
  output: string
}

const PROGRAM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
/** A run takes seconds; one that hangs is a failure. */
const LIMIT_MS = 300_000

/** @param folder where it puts its files; emptied first */
export async function runSuite(url: string, args: readonly string[], folder: string): Promise<Outcome> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const child = startNode([PROGRAM, 'server', '--url', url, ...args, '-o', folder])
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  clearTimeout(limit)
  return { ...announced(output), checks: checksIn(folder), exitCode, output }
}

/** What it says on its way. */
export function announced(output: string): Pick<Outcome, 'promised' | 'scenarios' | 'unscored'> {
  return {
    promised: Number(/^Running .*\((\d+) scenarios\)/m.exec(output)?.[1] ?? 0),
    scenarios: [...output.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map(([, name]) => name!),
    unscored: new Set([...output.matchAll(/^ {2}[✓✗] (\S+) \([\w -]+\)$/gm)].map(([, name]) => name!)),
  }
}

/** It makes a folder for each scenario, `server-<scenario>-<time>`. */
function checksIn(folder: string): Map<string, Check[]> {
  const found = new Map<string, Check[]>()
  for (const name of readdirSync(folder)) {
    const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
    if (scenario === undefined || !readdirSync(`${folder}/${name}`).includes('checks.json')) continue
    found.set(scenario, JSON.parse(readFileSync(`${folder}/${name}/checks.json`, 'utf8')))
  }
  return found
}
