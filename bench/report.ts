// The report: JSON for machines, Markdown for people, one line for logs.
import { BASELINE } from './servers/index.ts'
import type { Figure } from './stats.ts'
import type { Outcome, Workload } from './workloads/workload.ts'

export interface WorkloadReport extends Outcome {
  title: string
  headline: string
  units: Readonly<Record<string, string>>
}

export interface Report {
  commit: string
  machine: string
  node: string
  /** ISO 8601. */
  date: string
  settings: Readonly<Record<string, unknown>>
  workloads: Readonly<Record<string, WorkloadReport>>
  goals: readonly { name: string; value: number; goal: number; met: boolean }[]
}

export function workloadReport(workload: Workload, outcome: Outcome): WorkloadReport {
  const { title, headline, units } = workload
  return { title, headline, units, ...outcome }
}

/** What makes the run fail: wrong answers, or not one headline figure with a steady control. */
export function problems(report: Report): string[] {
  const found: string[] = []
  for (const [name, { failures }] of Object.entries(report.workloads)) {
    for (const { server, reason } of failures) found.push(`${server}, ${name}: ${reason}`)
  }
  const steady = Object.values(report.workloads).some(({ control, headline }) => control[headline]?.resolved)
  if (!steady) found.push('no figure could be resolved: the control is not within ±5 % in any workload')
  return found
}

function digits(value: number): string {
  return value >= 100 ? Math.round(value).toString() : value.toPrecision(3)
}

/** `~1.42 unresolved` is a hint, not a result: the control was not steady. */
function ratioCell(figure: Figure, resolved: boolean): string {
  return resolved ? figure.median.toFixed(2) : `~${figure.median.toFixed(2)} unresolved`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function serverNames(report: Report): string[] {
  return [...new Set(Object.values(report.workloads).flatMap((workload) => Object.keys(workload.servers)))]
}

function overview(report: Report): string {
  const names = serverNames(report)
  const rows = Object.entries(report.workloads).map(([name, { servers, control, headline, failures }]) => {
    const twin = control[headline]
    const cells = names.map((server) => {
      if (failures.some((failure) => failure.server === server)) return 'failed'
      const ratio = servers[server]?.ratios[headline]
      return ratio === undefined ? '–' : ratioCell(ratio, twin?.resolved ?? false)
    })
    return [name, ...cells, twin ? `${twin.median.toFixed(2)} (${twin.p25.toFixed(2)}–${twin.p75.toFixed(2)})` : '–']
  })
  return table(['workload', ...names, 'control (p25–p75)'], rows)
}

function detail(name: string, { title, servers, control, units, rounds, loadBusy, failures }: WorkloadReport): string {
  const columns = Object.keys(units)
  const head = ['server', ...columns.flatMap((column) => [`${column}, ${units[column]}`, 'ratio'])]
  const rows = Object.entries(servers).map(([server, report]) => [
    server,
    ...columns.flatMap((column) => {
      const value = report?.figures[column]
      const ratio = report?.ratios[column]
      if (value === undefined || ratio === undefined) return ['–', '–']
      return [
        `${digits(value.median)} (${digits(value.p25)}–${digits(value.p75)})`,
        `${ratioCell(ratio, control[column]?.resolved ?? false)} (${ratio.p25.toFixed(2)}–${ratio.p75.toFixed(2)})`,
      ]
    }),
  ])
  const steadiness = Object.entries(control).map(([column, twin]) => {
    return `${column} ${twin.median.toFixed(2)} (${twin.p25.toFixed(2)}–${twin.p75.toFixed(2)})`
  })
  const lines = [`### ${name}: ${title}`, '', table(head, rows), '']
  for (const { server, reason } of failures) lines.push(`- **${server} failed**: ${reason.split('\n')[0]}`)
  lines.push(
    `Medians and p25–p75 of ${rounds} rounds. Control: ${steadiness.join(', ')}. The load generator used at most ` +
      `${Math.round(loadBusy * 100)} % of its core.`,
  )
  return lines.join('\n')
}

function versions(report: Report): string {
  const all = new Map<string, string>()
  for (const { servers } of Object.values(report.workloads)) {
    for (const server of Object.values(servers)) {
      for (const [name, version] of Object.entries(server?.versions ?? {})) all.set(name, version)
    }
  }
  return [...all].map(([name, version]) => `${name} ${version}`).join(', ')
}

export function markdown(report: Report): string {
  const { commit, machine, node, date, settings } = report
  return [
    '# Benchmark',
    '',
    `Commit ${commit}, Node ${node}, ${machine}, ${date}.`,
    `Settings: ${Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}.`,
    `Versions: ${versions(report)}.`,
    '',
    'Server CPU per request relative to bare node:http in the same round, medians. “–”: the server has no such workload.',
    'A figure counts when the control (bare against itself) has its p25–p75 within ±5 %, else it is `unresolved`.',
    '',
    overview(report),
    '',
    ...Object.entries(report.workloads).flatMap(([name, workload]) => [detail(name, workload), '']),
  ].join('\n')
}

/** The last line of stdout. */
export function oneLine(report: Report): string {
  const parts = Object.entries(report.workloads).map(([name, { servers, control, headline }]) => {
    const ratios = Object.entries(servers).flatMap(([server, report]) => {
      const ratio = report?.ratios[headline]
      return ratio === undefined || server === BASELINE ? [] : [`${server} ${ratio.median.toFixed(2)}`]
    })
    const steady = control[headline]?.resolved ? '' : ' (unresolved)'
    return `${name}${steady}: ${ratios.join(' ')}`
  })
  return `bench, CPU relative to bare: ${parts.join('; ')}`
}
