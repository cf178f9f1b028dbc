// Assertions for cases that run under any test runner, or none.

class CheckFailed extends Error {
  override readonly name = 'CheckFailed'
}

export function check(condition: boolean, what: string): void {
  if (!condition) throw new CheckFailed(what)
}

/** Deep, over what JSON can say; a member that is undefined counts as absent. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [is, wanted] = [canonical(actual), canonical(expected)]
  if (is !== wanted) throw new CheckFailed(`${what}: expected ${shorten(wanted)}, got ${shorten(is)}`)
}

export function between(actual: number, low: number, high: number, what: string): void {
  if (!(actual >= low && actual <= high)) throw new CheckFailed(`${what}: expected ${low} to ${high}, got ${actual}`)
}

/** Looks again until it is so; for what takes its time, such as a life that ends or a message under way. */
export async function eventually(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + EVENTUALLY_MS
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new CheckFailed(`${what}: not within ${EVENTUALLY_MS} ms`)
    await pause(LOOK_AGAIN_MS)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Lets work go on beside a case. What it rejects with is heard where it is awaited, or not at all if the case has failed. */
export function beside<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {})
  return work
}

const EVENTUALLY_MS = 10_000
const LOOK_AGAIN_MS = 5

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}

function shorten(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}… (${text.length} characters)` : text
}
