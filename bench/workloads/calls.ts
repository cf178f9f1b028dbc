// The five call workloads: 32 connections call one tool in a closed loop, and the server says what CPU that took.
import { type Entry, type RunningServer, startServer } from '../fleet.ts'
import { Load } from '../load.ts'
import { control, figures, ratios } from '../ratios.ts'
import { type Attempt, oneRound, type Target } from '../round.ts'
import { expectedOf, FORMS, type Form, prepare } from './forms.ts'
import type { Outcome, RunOptions, ServerReport, Workload } from './workload.ts'

const HEADLINE = 'cpu'

export const calls: readonly Workload[] = FORMS.map((form) => ({
  name: form.name,
  title: form.title,
  headline: HEADLINE,
  units: { cpu: 'µs/request', rate: 'requests/s', p50: 'ms', p99: 'ms' },
  run: (options) => runCalls(form, options),
}))

async function runCalls(form: Form, options: RunOptions): Promise<Outcome> {
  const expected = expectedOf(form)
  const baselineEntry = options.servers[0]!
  const controlEntry: Entry = { ...baselineEntry, name: 'control' }
  const failures: { server: string; reason: string }[] = []
  const servers: Record<string, ServerReport | null> = {}
  for (const { name } of options.servers) servers[name] = null
  const running: RunningServer[] = []
  let targets: Target[] = []
  let loadBusy = 0
  let round = 0

  /** Drops a server that fails; without the baseline there is nothing to say. */
  const attempt: Attempt = async (entry, work) => {
    try {
      await work()
    } catch (error) {
      const reason = (error as Error).message
      if (entry === baselineEntry || entry === controlEntry) throw new Error(`${entry.name}, ${form.name}: ${reason}`)
      failures.push({ server: entry.name, reason })
      targets = targets.filter((target) => target.entry !== entry)
      options.progress(`${form.name}: ${entry.name} FAILED: ${reason}`)
    }
  }

  try {
    for (const entry of [baselineEntry, controlEntry, ...options.servers.slice(1)]) {
      await attempt(entry, async () => {
        const { profile } = options
        const server = await startServer(entry, {
          workload: form.name,
          core: options.cores?.servers,
          profile:
            profile?.name === entry.name
              ? { dir: profile.dir, file: `${entry.name}-${form.name}.cpuprofile` }
              : undefined,
        })
        if (server === undefined) return
        running.push(server)
        const requests = await prepare(form, server.served, options.connections)
        targets.push({ entry, server, requests, samples: [] })
      })
    }
    for (const { entry, server, requests } of targets) {
      options.progress(`${form.name}: warm-up ${entry.name}`)
      await attempt(entry, async () => {
        const load = await Load.open(new URL(server.served.url), requests, expected)
        await load.calls(options.warmup)
        load.close()
      })
    }

    const baseline = targets.find(({ entry }) => entry === baselineEntry)!
    const twin = targets.find(({ entry }) => entry === controlEntry)!
    const steady = (): boolean => control(twin.samples, baseline.samples)[HEADLINE]?.resolved ?? false
    for (; round < options.rounds || (round < options.maxRounds && !steady()); round++) {
      loadBusy = Math.max(loadBusy, await oneRound(targets, round, expected, options.windowMs, attempt))
      const line = targets
        .filter((target) => target !== baseline)
        .map(({ entry, samples }) => {
          return `${entry.name} ${(samples[round]![HEADLINE]! / baseline.samples[round]![HEADLINE]!).toFixed(2)}`
        })
      options.progress(`${form.name}: round ${round + 1}/${Math.max(options.rounds, round + 1)}  ${line.join('  ')}`)
    }

    for (const { entry, server, samples } of targets) {
      if (entry === controlEntry) continue
      servers[entry.name] = {
        versions: server.versions,
        figures: figures(samples),
        ratios: ratios(samples, baseline.samples),
      }
    }
    return { rounds: round, servers, control: control(twin.samples, baseline.samples), failures, loadBusy }
  } finally {
    await Promise.all(running.map((server) => server.stop()))
  }
}
