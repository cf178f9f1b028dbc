// What the suite is run as, for each revision, and what must come of it.

export type Era = 'legacy' | 'modern'

export interface Run {
  /** The revision that the server speaks in it. */
  readonly revision: string
  readonly era: Era
  /** The suite's own arguments. */
  readonly args: readonly string[]
  /** The suite itself asks for 2025-11-25: something in front must ask for this revision in its place. */
  readonly asks?: string
  /** The scenarios that have skipped checks: exactly these. */
  readonly skipped: readonly string[]
  /** Checks that do not pass, by scenario: exactly these. */
  readonly fails: Readonly<Record<string, readonly string[]>>
  /** Scenarios that the suite itself does not count are not looked at: the server has not what they are about. */
  readonly scoredOnly?: boolean
}

export interface Fixture {
  /** Of its file in `fixtures/`. */
  readonly name: string
  /** Processes over one Redis, behind round robin. Default 1, with the store in memory. */
  readonly nodes?: number
  readonly runs: readonly Run[]
}

/** The suite skips it, whatever a server does. */
const SKIPPED_BY_THE_SUITE = ['tasks-status-notifications']
/** An extension that the server does not declare. */
const SKILLS = ['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest']

const all = (version: string) => ['--suite', 'all', '--spec-version', version]
const required = (version: string) => ['--requirements', version]
const clean = { skipped: [], fails: {} } as const

/** Every run, with nothing that fails. */
const RUNS: readonly Run[] = [
  { revision: '2025-03-26', era: 'legacy', args: all('2025-06-18'), asks: '2025-03-26', ...clean },
  { revision: '2025-06-18', era: 'legacy', args: all('2025-06-18'), asks: '2025-06-18', ...clean },
  { revision: '2025-11-25', era: 'legacy', args: required('2025-11-25'), ...clean },
  { revision: '2025-11-25', era: 'legacy', args: all('2025-11-25'), ...clean },
  { revision: '2026-07-28', era: 'modern', args: required('2026-07-28'), ...clean, skipped: SKIPPED_BY_THE_SUITE },
  { revision: '2026-07-28', era: 'modern', args: all('2026-07-28'), ...clean },
  // The only form that counts tasks. What is new or an extension runs at 2026-07-28, the rest at 2025-11-25.
  {
    revision: '2025-11-25 and 2026-07-28',
    era: 'modern',
    args: ['--suite', 'all'],
    ...clean,
    skipped: [...SKIPPED_BY_THE_SUITE, ...SKILLS],
  },
]

/** A server of the official SDK has no tasks, and is held to what the suite scores. */
const official = (fails: Run['fails']): readonly Run[] => [
  { revision: '2025-11-25', era: 'legacy', args: required('2025-11-25'), ...clean, scoredOnly: true },
  { revision: '2026-07-28', era: 'modern', args: required('2026-07-28'), skipped: [], fails, scoredOnly: true },
]

export const FIXTURES: readonly Fixture[] = [
  { name: 'conformance', runs: RUNS },
  {
    name: 'official-v1',
    nodes: 2,
    runs: official({
      // The suite wants a key of its own choosing, and v1 has no word for keys.
      'input-required-result-basic-elicitation': ['sep-2322-elicitation-incomplete'],
      'input-required-result-ignore-extra-params': ['sep-2322-ignore-unexpected-params'],
    }),
  },
  { name: 'official-v2', nodes: 2, runs: official({}) },
]
