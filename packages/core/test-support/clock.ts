// Time that a busy machine does not stretch: it goes on only when all that is due has been done.
import { vi } from 'vitest'

/** So long after the body all that it has begun is over. */
const AFTERMATH_MS = 5000

/** Runs `body`, which makes its own scene and waits for what it likes, in fake time that passes by itself. */
export async function inFakeTime(body: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  let over = false
  const work = body().finally(() => {
    over = true
  })
  work.catch(() => {}) // heard below
  try {
    while (!over) await vi.advanceTimersByTimeAsync(1)
    await vi.advanceTimersByTimeAsync(AFTERMATH_MS)
    await work
  } finally {
    vi.useRealTimers()
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
