// The store's clock, as seen from here: ours, and how far it is off.

/** A clock that was set back by more than this is believed; less is waited out, so that time never goes back. */
const SET_BACK_MS = 1000
/** A measurement stays the best for so long. */
const FRESH_MS = 60_000

export interface Clock {
  now(): number
  /** The server said that it was `server` at some time between `sent` and now. */
  measured(server: number, sent: number): void
}

/** Until it is first measured, it is this machine's. */
export function createClock(): Clock {
  let offset = 0
  let last = 0
  let best = { at: 0, uncertainty: Number.POSITIVE_INFINITY }

  return {
    now() {
      last = Math.max(last, Date.now() + offset)
      return last
    },
    measured(server, sent) {
      const at = Date.now()
      const uncertainty = (at - sent) / 2
      const isFirst = best.at === 0
      // A slow reply says less than a quick one did.
      if (uncertainty > best.uncertainty + 1 && at - best.at < FRESH_MS) return
      best = { at, uncertainty }
      offset = Math.round(server - sent - uncertainty)
      if (isFirst || at + offset < last - SET_BACK_MS) last = at + offset
    },
  }
}
