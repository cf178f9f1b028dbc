// A store whose calls take their time and whose replies get lost, as those of a store across a network do.
import type { Entry, Store, Why } from '../store.ts'

export interface Unreliability {
  /** Each call, each reply and each delivery takes up to this long, in ms. Default 2. */
  delayMs?: number
  /** Every so-manieth reply is lost, by count of calls. */
  loseEvery?: number
  /** Or each reply is lost with this probability. Default 0.3 without `loseEvery`. */
  probability?: number
  /** The same seed and the same order of calls give the same delays and losses. Default 1. */
  seed?: number
}

/**
 * Delays the calls of a store, and loses replies after their effect. Since a caller repeats a step whose reply was lost,
 * the step is done once more with the same arguments, some time later, and the caller gets the reply to that. An attach
 * is only delayed: nobody repeats it.
 */
export function unreliable(store: Store, options: Unreliability = {}): Store {
  const { delayMs = 2, loseEvery, seed = 1 } = options
  const probability = options.probability ?? (loseEvery === undefined ? 0.3 : 0)
  const random = randomNumbers(seed)
  let calls = 0

  const delay = (part: number) =>
    delayMs > 0 ? new Promise<void>((resolve) => setTimeout(resolve, part * delayMs)) : Promise.resolve()

  async function call<T>(step: () => Promise<T>, repeatable = true): Promise<T> {
    calls++
    // Drawn before any wait, so that they depend on the order of calls alone.
    const [there, back, draw] = [random(), random(), random()]
    const lost = repeatable && (draw < probability || (loseEvery !== undefined && calls % loseEvery === 0))
    await delay(there)
    let reply = await step()
    if (lost) {
      await delay(back)
      await delay(there)
      reply = await step()
    }
    await delay(back)
    return reply
  }

  const { kv, log, bus } = store
  return {
    ...store,
    kv: {
      get: (...args) => call(() => kv.get(...args)),
      add: (...args) => call(() => kv.add(...args)),
      swap: (...args) => call(() => kv.swap(...args)),
      delete: (...args) => call(() => kv.delete(...args)),
      ttl: (...args) => call(() => kv.ttl(...args)),
    },
    log: {
      append: (...args) => call(() => log.append(...args)),
      read: (...args) => call(() => log.read(...args), args[2].take !== 'attach'),
    },
    bus: {
      publish: (...args) => call(() => bus.publish(...args)),
      read: (...args) => call(() => bus.read(...args)),
      async subscribe(topic, settings, on) {
        // Deliveries are late, but in order, and none comes before the place is known.
        let waiting: [entries: Entry[], why: Why][] = []
        let ready = false
        let stopped = false
        const deliver = () => {
          const batches = waiting
          waiting = []
          for (const batch of batches) {
            try {
              if (!stopped) on(...batch)
            } catch {
              // As of any follower.
            }
          }
        }
        const deliverLate = () => void delay(random()).then(deliver)
        // Not repeated, or the follower would hear all twice: finding its place again is a store's own affair.
        const { place, handled, renew, stop } = await call(
          () =>
            bus.subscribe(topic, settings, (entries, why) => {
              if (waiting.push([entries, why]) === 1 && ready) deliverLate()
            }),
          false,
        )
        setTimeout(() => {
          ready = true
          if (waiting.length > 0) deliverLate()
        })
        return {
          place,
          handled,
          renew: () => call(renew),
          stop() {
            stopped = true
            return call(stop)
          },
        }
      },
    },
    now: () => store.now(),
    close: () => store.close(),
  }
}

/** 0 to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
