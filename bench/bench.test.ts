import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { markdown, oneLine, problems, type Report } from './report.ts'
import { run } from './run.ts'
import { servers } from './servers/index.ts'
import { workloads } from './workloads/index.ts'
import type { RunOptions } from './workloads/workload.ts'

const TIMEOUT_MS = 90_000
const support = (name: string): string => join(import.meta.dirname, 'test-support', `${name}.ts`)
const out = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
afterAll(() => rmSync(out, { recursive: true }))

const tiny: RunOptions = {
  servers: servers.filter(({ name }) => name === 'bare' || name === 'mcp-lite'),
  connections: 3,
  windowMs: 60,
  warmup: 100,
  rounds: 1,
  maxRounds: 1,
  progress: () => {},
}

const named = (...names: string[]) => workloads.filter(({ name }) => names.includes(name))

function bench(...args: string[]): { child: ChildProcess; output: () => string; error: () => string } {
  const env = { ...process.env, BENCH_PID_FILE: join(out, 'pid') }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bench.ts'), '--out', out, ...args], { env })
  let output = ''
  let error = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    error += chunk
  })
  return { child, output: () => output, error: () => error }
}

test('a tiny run of two servers has figures, ratios and a control for each workload', {
  timeout: TIMEOUT_MS,
}, async () => {
  const report = await run(named('legacy-both', 'modern', 'progress'), tiny)

  expect(Object.keys(report)).toEqual(['commit', 'machine', 'node', 'date', 'settings', 'workloads', 'goals'])
  expect(report.node).toBe(process.versions.node)
  expect(Object.keys(report.workloads)).toEqual(['legacy-both', 'modern', 'progress'])
  expect(report.workloads.modern?.servers['mcp-lite']).toBeNull()
  for (const name of ['legacy-both', 'progress']) {
    const workload = report.workloads[name]!
    expect(workload.failures).toEqual([])
    expect(workload.rounds).toBe(1)
    for (const server of ['bare', 'mcp-lite']) {
      for (const figure of ['cpu', 'rate', 'p50', 'p99']) {
        expect(workload.servers[server]?.figures[figure]?.median).toBeGreaterThan(0)
        expect(workload.servers[server]?.ratios[figure]?.median).toBeGreaterThan(0)
      }
    }
    expect(workload.servers.bare?.ratios.cpu?.median).toBe(1)
    expect(workload.servers['mcp-lite']?.versions['mcp-lite']).toBe('0.10.0')
    expect(workload.control.cpu?.median).toBeGreaterThan(0)
  }
  expect(markdown(report)).toMatch(/\| modern \| (1\.00|~1\.00 unresolved) \| – \|/)
  expect(oneLine(report)).not.toContain('\n')
})

test('the run fails on a server with wrong answers', { timeout: TIMEOUT_MS }, async () => {
  const args = [
    '--only',
    'wrong',
    '--server',
    support('wrong'),
    '--workload',
    'legacy-json',
    '--quick',
    '--rounds',
    '1',
  ]
  const { child, output, error } = bench(...args)
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  expect(error()).toMatch(/bench failed: wrong, legacy-json: the answer to \d{7}, not to \d{7}/)
  expect(output().trimEnd().split('\n').at(-1)).toMatch(/^bench, CPU relative to bare: legacy-json/)
  const report: Report = JSON.parse(readFileSync(join(out, 'latest.json'), 'utf8'))
  expect(report.workloads['legacy-json']?.failures).toHaveLength(1)
  expect(readFileSync(join(out, 'latest.md'), 'utf8')).toContain('**wrong failed**')
})

test('a control that is not steady resolves no figure, and the run fails', async () => {
  const unsteady = { median: 1, p25: 0.5, p75: 1, resolved: false }
  const workload = { title: '', headline: 'cpu', units: {}, rounds: 1, servers: {}, failures: [], loadBusy: 0 }
  const report = (cpu: typeof unsteady): Report => ({
    commit: '',
    machine: '',
    node: '',
    date: '',
    settings: {},
    workloads: { modern: { ...workload, control: { cpu } } },
    goals: [],
  })
  expect(problems(report(unsteady))).toEqual([expect.stringContaining('no figure could be resolved')])
  expect(problems(report({ ...unsteady, p25: 1, resolved: true }))).toEqual([])
})

test('a server that cannot start fails the run, the others are measured', { timeout: TIMEOUT_MS }, async () => {
  const report = await run(named('legacy-json'), {
    ...tiny,
    servers: [...tiny.servers, { name: 'missing', file: support('missing') }],
  })
  expect(problems(report)[0]).toMatch(/^missing, legacy-json: .*(Cannot find module|ERR_MODULE_NOT_FOUND)/)
  expect(report.workloads['legacy-json']?.servers['mcp-lite']).not.toBeNull()
})

test('an interrupted run leaves no server behind', { timeout: TIMEOUT_MS }, async () => {
  const pidFile = join(out, 'pid')
  const { child, error } = bench('--only', 'silent', '--server', support('silent'), '--workload', 'modern', '--quick')
  const closed = once(child, 'close')
  await vi.waitFor(() => expect(error()).toContain('warm-up silent'), { timeout: TIMEOUT_MS, interval: 50 })
  expect(existsSync(pidFile)).toBe(true)
  const pid = Number(readFileSync(pidFile, 'utf8'))
  expect(process.kill(pid, 0)).toBe(true)
  child.kill('SIGINT')
  expect((await closed)[0]).toBe(130)
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: TIMEOUT_MS, interval: 50 })
})
