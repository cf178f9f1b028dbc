// What a workload is to the harness. Each kind has a file of its own beside this one and is listed in index.ts.
import type { Cores } from '../cores.ts'
import type { Entry } from '../fleet.ts'
import type { Figure } from '../stats.ts'

export interface Workload {
  name: string
  /** A line for the report. */
  title: string
  /** The figure whose ratio to the baseline is the headline; it alone decides whether more rounds are needed. */
  headline: string
  /** Figures in the order of the report, with their units. */
  units: Readonly<Record<string, string>>
  run(options: RunOptions): Promise<Outcome>
}

export interface RunOptions {
  /** The first one is the baseline. */
  servers: readonly Entry[]
  cores?: Cores
  connections: number
  windowMs: number
  /** Requests to each server before it is measured. */
  warmup: number
  rounds: number
  /** More rounds, up to so many, while the control is not steady. */
  maxRounds: number
  /** A CPU profile of this server is written to `dir`. */
  profile?: { name: string; dir: string }
  progress(line: string): void
}

export interface ServerReport {
  versions: Readonly<Record<string, string>>
  figures: Readonly<Record<string, Figure>>
  /** To the baseline in the same round. */
  ratios: Readonly<Record<string, Figure>>
}

/** The baseline against itself, another process of the same server. */
export interface Control extends Figure {
  /** Steady: p25 and p75 lie within 5 % of 1, so the figure counts. */
  resolved: boolean
}

export interface Outcome {
  rounds: number
  /** null: the server has no such workload, or failed. */
  servers: Readonly<Record<string, ServerReport | null>>
  control: Readonly<Record<string, Control>>
  /** Servers that could not start, gave a wrong answer or fell silent. */
  failures: readonly { server: string; reason: string }[]
  /** Most of a core that the load generator used in any window; near 1 the rates are its own limit, not the server's. */
  loadBusy: number
}
