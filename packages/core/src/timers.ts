// One platform timer for all deadlines. Timers of equal length fall due in the order in which they were set, so each
// length has a queue (a Set keeps insertion order), and setting and clearing cost one Set operation.

const LONGEST_SLEEP_MS = 2 ** 31 - 1

export interface Timer {
  readonly due: number
  readonly run: () => void
  readonly queue: Set<Timer>
}

export interface Timers {
  /** Timers set, and not yet due or cleared. */
  readonly count: number
  after(ms: number, run: () => void): Timer
  clear(timer: Timer | undefined): void
  /** Clears all of them. */
  stop(): void
}

/** `failed` hears of what a callback throws; the others still run. */
export function createTimers(failed: (error: unknown) => void): Timers {
  const queues = new Map<number, Set<Timer>>()
  let handle: ReturnType<typeof setTimeout> | undefined
  let wakesAt = Number.POSITIVE_INFINITY

  function sleepUntil(due: number): void {
    if (due >= wakesAt) return
    clearTimeout(handle)
    wakesAt = due
    handle = setTimeout(wake, Math.min(Math.max(due - Date.now(), 0), LONGEST_SLEEP_MS))
    // A deadline alone keeps no process alive: the sockets that it belongs to do.
    ;(handle as unknown as { unref?(): void }).unref?.()
  }

  function wake(): void {
    handle = undefined
    wakesAt = Number.POSITIVE_INFINITY
    const now = Date.now()
    let next = Number.POSITIVE_INFINITY
    for (const [ms, queue] of queues) {
      for (const timer of queue) {
        if (timer.due > now) break
        queue.delete(timer)
        try {
          timer.run()
        } catch (error) {
          failed(error)
        }
      }
      const [first] = queue
      if (first) next = Math.min(next, first.due)
      else queues.delete(ms)
    }
    sleepUntil(next)
  }

  return {
    get count() {
      let count = 0
      for (const queue of queues.values()) count += queue.size
      return count
    },
    after(ms, run) {
      const queue = queues.get(ms) ?? new Set<Timer>()
      queues.set(ms, queue)
      const timer: Timer = { due: Date.now() + ms, run, queue }
      queue.add(timer)
      sleepUntil(timer.due)
      return timer
    },
    clear(timer) {
      timer?.queue.delete(timer)
    },
    stop() {
      for (const queue of queues.values()) queue.clear()
      queues.clear()
      clearTimeout(handle)
      handle = undefined
      wakesAt = Number.POSITIVE_INFINITY
    },
  }
}
