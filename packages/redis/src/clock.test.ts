import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClock } from './clock.ts'

describe('the clock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const reply = (clock: ReturnType<typeof createClock>, ahead: number, tookMs: number) => {
    const sent = Date.now()
    vi.setSystemTime(sent + tookMs)
    clock.measured(sent + tookMs / 2 + ahead, sent)
  }

  it('is this machine’s until it is measured, then the server’s, whichever is ahead', () => {
    for (const ahead of [3_600_000, -3_600_000]) {
      const clock = createClock()
      expect(clock.now()).toBe(Date.now())
      reply(clock, ahead, 10)
      expect(clock.now()).toBe(Date.now() + ahead)
    }
  })

  it('believes a quick reply rather than a slow one, until it is old', () => {
    const clock = createClock()
    reply(clock, 500, 2)
    reply(clock, 800, 400)
    expect(clock.now()).toBe(Date.now() + 500)
    vi.setSystemTime(Date.now() + 61_000)
    reply(clock, 600, 400)
    expect(clock.now()).toBe(Date.now() + 600)
  })

  it('never goes back for a small correction, and does for a clock that was set back', () => {
    const clock = createClock()
    reply(clock, 500, 2)
    const before = clock.now()
    reply(clock, 400, 2)
    expect(clock.now()).toBe(before)
    vi.setSystemTime(Date.now() + 200)
    expect(clock.now()).toBe(Date.now() + 400)
    reply(clock, -5000, 2)
    expect(clock.now()).toBe(Date.now() - 5000)
  })
})
