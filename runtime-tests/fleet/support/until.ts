import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 2
const PATIENCE_MS = 15_000

/** Resolves when it is so; rejects when it takes too long. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  patienceMs: number = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${patienceMs} ms: ${what}`)
    await sleep(LOOK_MS)
  }
}
