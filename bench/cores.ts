// One core for the servers, another for the load, so that neither steals the other's time.
import { execFileSync } from 'node:child_process'

export interface Cores {
  servers: number
  load: number
}

/** Two cores this process may use, or undefined where there are none to spare or no taskset. */
export function chooseCores(): Cores | undefined {
  try {
    const list =
      execFileSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' })
        .split(':')
        .at(-1) ?? ''
    const cores = parseCores(list)
    const [servers] = cores
    const load = cores.at(-1)
    return servers === undefined || load === undefined || servers === load ? undefined : { servers, load }
  } catch {
    return undefined // not Linux, or util-linux is missing
  }
}

/** `0-2,5` is 0, 1, 2 and 5. */
export function parseCores(list: string): number[] {
  return list
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = Number.NaN, last = first] = part.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    })
}

/** Moves this process, with all its threads, to a core. */
export function pinSelf(core: number): void {
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], { stdio: 'ignore' })
}
