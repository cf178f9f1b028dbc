// A notification from one node to a client's socket on another, against a bare publish-subscribe on the same Redis.
import { measureNotifications, type Times } from '../notification.ts'
import { control, figures, ratios, type Sample } from '../ratios.ts'
import { quantile } from '../stats.ts'
import type { Outcome, RunOptions, Workload } from './workload.ts'

const MESSAGES = 400
const HEADLINE = 'p50'

export const notification: Workload = {
  name: 'notification',
  title:
    'a message to a session, from node A to the client’s socket on node B; bare is a publish-subscribe on that Redis',
  headline: HEADLINE,
  units: { p50: 'ms', p99: 'ms' },
  run,
}

async function run(options: RunOptions): Promise<Outcome> {
  const samples: Record<keyof Times, Sample[]> = { bare: [], control: [], fairlead: [] }
  for (let round = 0; round < options.rounds; round++) {
    const times = await measureNotifications(MESSAGES)
    for (const name of ['bare', 'control', 'fairlead'] as const) {
      const sorted = Float64Array.from(times[name]).sort()
      samples[name].push({ p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) })
    }
    const [ours, bare] = [samples.fairlead[round]!, samples.bare[round]!]
    options.progress(
      `notification: round ${round + 1}/${options.rounds}  fairlead ${(ours.p50! / bare.p50!).toFixed(2)}`,
    )
  }
  const servers: Outcome['servers'] = Object.fromEntries(
    options.servers.map(({ name }) => {
      if (name !== 'bare' && name !== 'fairlead') return [name, null]
      const report = { versions: {}, figures: figures(samples[name]), ratios: ratios(samples[name], samples.bare) }
      return [name, report]
    }),
  )
  return { rounds: options.rounds, servers, control: control(samples.control, samples.bare), failures: [], loadBusy: 0 }
}
