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
}

export interface Fixture {
  /** Of its file in `fixtures/`. */
  readonly name: string
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

export const FIXTURES: readonly Fixture[] = [{ name: 'conformance', runs: RUNS }]
