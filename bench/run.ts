// One run: the chosen workloads, one after the other, made into a report.
import { execFileSync } from 'node:child_process'
import { cpus, release } from 'node:os'
import { type Report, type WorkloadReport, workloadReport } from './report.ts'
import type { RunOptions, Workload } from './workloads/workload.ts'

export async function run(workloads: readonly Workload[], options: RunOptions): Promise<Report> {
  const reports: Record<string, WorkloadReport> = {}
  for (const workload of workloads) {
    reports[workload.name] = workloadReport(workload, await workload.run(options))
  }
  const { cores, connections, windowMs, warmup, rounds } = options
  return {
    commit: commit(),
    machine: `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${process.platform} ${release()}`,
    node: process.versions.node,
    date: new Date().toISOString(),
    settings: {
      connections,
      'window ms': windowMs,
      'warm-up requests': warmup,
      rounds: `${rounds} or more`,
      cores: cores ? `server ${cores.servers}, load ${cores.load}` : 'not pinned',
      ...(options.profile ? { profiled: `${options.profile.name} (its figures include the profiler)` } : {}),
    },
    workloads: reports,
    goals: [],
  }
}

function commit(): string {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, {
        cwd: import.meta.dirname,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : ' with changes')
  } catch {
    return 'unknown'
  }
}
