// One round of calls over all servers.
import type { Expected } from './check.ts'
import type { Entry, RunningServer } from './fleet.ts'
import { Load } from './load.ts'
import type { Sample } from './ratios.ts'
import type { PreparedRequest } from './requests.ts'
import { quantile } from './stats.ts'

/** Calls on fresh connections before the clock starts, for each connection. */
const CALLS_TO_SETTLE = 4
/** A window is measured in slices of about this long. */
const SLICE_MS = 50

/** A server with its requests, one for each connection. */
export interface Target {
  entry: Entry
  server: RunningServer
  requests: readonly PreparedRequest[]
  /** One for each round. */
  samples: Sample[]
}

/** Does the work for a server and settles what follows when it fails. */
export type Attempt = (entry: Entry, work: () => Promise<void>) => Promise<void>

/**
 * One round: a window for each server, cut into slices that alternate between the servers, so that the drift of a shared
 * machine, which is slower than a slice, meets all of them alike. Connections are fresh in each round.
 * Gives the most of its core that the load used.
 */
export async function oneRound(
  targets: readonly Target[],
  round: number,
  expected: Expected,
  windowMs: number,
  attempt: Attempt,
): Promise<number> {
  const windows = new Map<Target, Window>()
  const attemptOrDrop = (target: Target, work: () => Promise<void>): Promise<void> =>
    attempt(target.entry, () =>
      work().catch((error) => {
        windows.get(target)?.load.close()
        windows.delete(target)
        throw error
      }),
    )
  try {
    for (const target of targets) {
      await attemptOrDrop(target, async () => {
        const load = await Load.open(new URL(target.server.served.url), target.requests, expected)
        windows.set(target, { load, latencies: [], cpu: 0, elapsed: 0, busy: 0 })
        await load.calls(CALLS_TO_SETTLE * target.requests.length)
      })
    }
    const slices = Math.max(1, Math.round(windowMs / SLICE_MS))
    for (let slice = 0; slice < slices; slice++) {
      for (const [target, window] of rotate([...windows], round + slice)) {
        await attemptOrDrop(target, () => measureSlice(target.server, window, windowMs / slices))
      }
    }
    let mostBusy = 0
    for (const [target, { latencies, cpu, elapsed, busy }] of windows) {
      const sorted = Float64Array.from(latencies).sort()
      target.samples.push({
        cpu: cpu / latencies.length,
        rate: (latencies.length / elapsed) * 1000,
        p50: quantile(sorted, 0.5),
        p99: quantile(sorted, 0.99),
      })
      mostBusy = Math.max(mostBusy, busy / elapsed)
    }
    return mostBusy
  } finally {
    for (const { load } of windows.values()) load.close()
  }
}

/** A window as it grows: CPU of the server in µs; time and CPU of the load in ms. */
interface Window {
  load: Load
  latencies: number[]
  cpu: number
  elapsed: number
  busy: number
}

async function measureSlice(server: RunningServer, window: Window, ms: number): Promise<void> {
  const cpuBefore = await server.cpu()
  const busyBefore = process.cpuUsage()
  const start = performance.now()
  await window.load.during(ms, window.latencies)
  window.elapsed += performance.now() - start
  const { user, system } = process.cpuUsage(busyBefore)
  window.busy += (user + system) / 1000
  window.cpu += (await server.cpu()) - cpuBefore
}

/** Each turn begins with another server, so that none always follows the same neighbour's heat. */
export function rotate<T>(items: readonly T[], by: number): T[] {
  const at = items.length === 0 ? 0 : by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
