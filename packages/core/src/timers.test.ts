import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTimers } from './timers.ts'

describe('timers', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('runs each at its time, in order of time, whatever the order of setting', () => {
    const timers = createTimers(() => {})
    const ran: string[] = []
    timers.after(300, () => ran.push('300'))
    timers.after(100, () => ran.push('100'))
    timers.after(200, () => ran.push('200'))
    timers.after(100, () => ran.push('100 again'))
    expect(timers.count).toBe(4)
    vi.advanceTimersByTime(99)
    expect(ran).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ran).toEqual(['100', '100 again'])
    vi.advanceTimersByTime(200)
    expect(ran).toEqual(['100', '100 again', '200', '300'])
    expect(timers.count).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('sets one platform timer for many, and leaves none behind when all are cleared', () => {
    const timers = createTimers(() => {})
    const set = Array.from({ length: 1000 }, () => timers.after(100, () => expect.unreachable()))
    expect(vi.getTimerCount()).toBe(1)
    for (const timer of set) timers.clear(timer)
    expect(timers.count).toBe(0)
    vi.advanceTimersByTime(100)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('goes on after a callback that throws, and tells of it', () => {
    const failures: unknown[] = []
    const timers = createTimers((error) => failures.push(error))
    let ran = 0
    timers.after(10, () => {
      throw new Error('mine')
    })
    timers.after(10, () => ran++)
    vi.advanceTimersByTime(10)
    expect(failures).toEqual([new Error('mine')])
    expect(ran).toBe(1)
  })

  it('lets a callback set the next one, sooner than those that wait', () => {
    const timers = createTimers(() => {})
    const ran: string[] = []
    timers.after(1000, () => ran.push('late'))
    timers.after(10, () => timers.after(10, () => ran.push('chained')))
    vi.advanceTimersByTime(20)
    expect(ran).toEqual(['chained'])
    timers.stop()
    vi.advanceTimersByTime(5000)
    expect(ran).toEqual(['chained'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('keeps deadlines that are further away than a platform timer reaches', () => {
    const timers = createTimers(() => {})
    let ran = 0
    timers.after(40 * 86_400_000, () => ran++)
    vi.advanceTimersByTime(39 * 86_400_000)
    expect(ran).toBe(0)
    vi.advanceTimersByTime(86_400_000)
    expect(ran).toBe(1)
  })
})
