// What is wrong with a run. The suite itself lets much pass: warnings, skipped checks, scenarios that saw nothing.
import type { Run } from './runs.ts'
import type { Check, Outcome } from './suite.ts'

export type Status = Check['status']

export interface Verdict {
  counts: Record<Status, number>
  /** A line for each thing that is not as it must be. */
  problems: string[]
}

/** Scenarios that pass without having seen anything, and the check that is there only when they have. */
const MUST_SEE: Readonly<Record<string, string>> = {
  // The stream was closed before the answer, and a GET brought it.
  'server-sse-polling': 'server-sse-disconnect-resume',
  // There was a session, and it is gone after DELETE.
  'server-session-lifecycle': 'server-session-terminated-returns-404',
}

export function judge(
  { skipped, fails, scoredOnly }: Pick<Run, 'skipped' | 'fails' | 'scoredOnly'>,
  outcome: Outcome,
): Verdict {
  const { unscored, checks, promised, exitCode } = outcome
  const counts: Verdict['counts'] = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0, INFO: 0 }
  const problems: string[] = []
  if (promised === 0 || outcome.scenarios.length !== promised) {
    problems.push(`${promised} scenarios were promised, ${outcome.scenarios.length} were run`)
  }
  const scenarios = outcome.scenarios.filter((scenario) => !scoredOnly || !unscored.has(scenario))
  const skippers = new Set<string>()
  for (const scenario of scenarios) {
    const own = checks.get(scenario)
    if (!own?.length) {
      problems.push(`FAILURE ${scenario}: left no checks`)
      continue
    }
    const failed = new Set<string>()
    for (const { id, status, errorMessage, description } of own) {
      counts[status]++
      if (status === 'SKIPPED') skippers.add(scenario)
      if (status !== 'FAILURE' && status !== 'WARNING') continue
      failed.add(id)
      if (!fails[scenario]?.includes(id)) problems.push(`${status} ${scenario}, ${id}: ${errorMessage ?? description}`)
    }
    for (const id of fails[scenario] ?? []) {
      if (!failed.has(id)) problems.push(`${scenario}, ${id}: was to fail, and does not`)
    }
    const sight = MUST_SEE[scenario]
    if (sight !== undefined && !own.some(({ id, status }) => id === sight && status === 'SUCCESS')) {
      problems.push(`FAILURE ${scenario}: passed without ${sight}`)
    }
  }
  for (const scenario of skippers) {
    if (!skipped.includes(scenario)) problems.push(`SKIPPED ${scenario}: was not to be skipped`)
  }
  for (const scenario of skipped) {
    if (!skippers.has(scenario)) problems.push(`${scenario}: was to be skipped, and is not`)
  }
  if (exitCode !== 0 && problems.length === 0 && Object.keys(fails).length === 0) {
    problems.push(`the suite ended with ${exitCode}`)
  }
  return { counts, problems }
}
