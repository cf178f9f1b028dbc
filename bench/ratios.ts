// What the rounds say: medians, quartiles and the ratios of each round to its baseline.
import { type Figure, figure } from './stats.ts'
import type { Control } from './workloads/workload.ts'

/** One window's figures by name. */
export type Sample = Readonly<Record<string, number>>

const STEADY = 0.05

export function figures(samples: readonly Sample[]): Record<string, Figure> {
  return summarise(samples, (sample, name) => sample[name]!)
}

/** Of the rounds that both have. */
export function ratios(samples: readonly Sample[], baseline: readonly Sample[]): Record<string, Figure> {
  return summarise(samples, (sample, name, round) => sample[name]! / baseline[round]![name]!)
}

export function control(samples: readonly Sample[], baseline: readonly Sample[]): Record<string, Control> {
  const controls: Record<string, Control> = {}
  for (const [name, ratio] of Object.entries(ratios(samples, baseline))) {
    controls[name] = { ...ratio, resolved: ratio.p25 >= 1 - STEADY && ratio.p75 <= 1 + STEADY }
  }
  return controls
}

function summarise(
  samples: readonly Sample[],
  value: (sample: Sample, name: string, round: number) => number,
): Record<string, Figure> {
  const summary: Record<string, Figure> = {}
  for (const name of Object.keys(samples[0] ?? {})) {
    summary[name] = figure(samples.map((sample, round) => value(sample, name, round)))
  }
  return summary
}
