// A notification from one node to a client's socket on another, against a bare publish-subscribe in the same run.
import { expect, test } from 'vitest'
import { measureNotifications } from '../../bench/notification.ts'
import { quantile } from '../../bench/stats.ts'

const MESSAGES = 200
/** A busy machine slows three processes more than two: the best of so many runs counts. */
const RUNS = 4
/** Where nothing else runs it is 5; here other tests share the processors. */
const GOAL = 8

test(`R21 by a wake-up, not by polling: p50 is at most ${GOAL} times that of a bare publish-subscribe`, async () => {
  const ratios: number[] = []
  while (ratios.length < RUNS && !ratios.some((ratio) => ratio <= GOAL)) {
    const { bare, fairlead } = await measureNotifications(MESSAGES)
    const [p50, p99] = [0.5, 0.99].map(
      (q) => (times: number[]) =>
        quantile(
          times.toSorted((a, b) => a - b),
          q,
        ),
    )
    const show = (times: number[]) => `p50 ${p50!(times).toFixed(2)} ms, p99 ${p99!(times).toFixed(2)} ms`
    ratios.push(p50!(fairlead) / p50!(bare))
    console.log(
      `notification: ${show(fairlead)}; bare publish-subscribe: ${show(bare)}; ratio ${ratios.at(-1)!.toFixed(2)}`,
    )
  }
  expect(Math.min(...ratios)).toBeLessThanOrEqual(GOAL)
}, 60_000)
