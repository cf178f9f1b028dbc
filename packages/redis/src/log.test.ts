// The log of Redis beside that of memory: the same steps, at random, have the same replies.
import { type Append, type Log, memoryStore, type Read, type ReadResult } from '@fairlead/core'
import { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { newPrefix } from '../test-support/flavours.ts'
import { redisStore } from './redis-store.ts'

const LIFE_MS = 60_000
const SEEDS = process.env.FAIRLEAD_FULL === '1' ? 400 : 40
const STEPS = 60

/** 0 to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

type Step = (log: Log, side: Side) => Promise<unknown>

/** What differs between the two stores: clocks, and so the numbers and tickets made from them. */
interface Side {
  /** Numbers are told as distances from this one: 0 where the one writer numbers. */
  base: number
  tickets: number[]
}

function script(random: () => number): Step[] {
  const upTo = (n: number) => Math.floor(random() * n)
  const oneOf = <T>(...all: T[]): T => all[upTo(all.length)]!
  const numbersFrom = oneOf('writer', 'store', 'both')
  const limit = { entries: oneOf(3, 8, 100), bytes: oneOf(60, 300, 100_000) }
  const key = { tag: 't', name: 'log' }
  let first = 1
  let tokens = 0

  function appendStep(): Step {
    const entries = Array.from({ length: oneOf(0, 1, 1, 1, 2, 5) }, () => 'x'.repeat(upTo(40)) + upTo(10))
    const options: Append = { ttlMs: LIFE_MS, limit, end: random() < 0.02 ? true : undefined }
    if (random() < 0.05) options.needReader = true
    if (random() < 0.3) Object.assign(options, { owner: `o${upTo(3)}`, reader: `r${upTo(3)}` })
    let above: number | undefined
    if (entries.length > 0) {
      if (numbersFrom === 'store' || (numbersFrom === 'both' && random() < 0.2)) {
        // Tokens of entries that have gone may be known or not, so those are not repeated.
        const ago = limit.bytes === 100_000 && limit.entries === 100 ? upTo(10) : 0
        const repeats = tokens > ago && random() < 0.2 && (ago > 0 || numbersFrom === 'store')
        options.token = `t${repeats ? tokens - 1 - ago : tokens++}`
        if (random() < 0.1) above = upTo(200)
      } else {
        first = Math.max(1, first + oneOf(0, 0, 0, -2, 3, -5))
        options.first = first
        first += entries.length
      }
    }
    return async (log, side) => {
      const at = above === undefined ? {} : { above: side.base + above }
      const reply = await log.append(key, entries, { ...options, ...at })
      return { ...reply, last: reply.last === 0 ? 0 : reply.last - side.base }
    }
  }

  function readStep(): Step {
    const take = oneOf<Read['take']>('attach', 'next', 'next', 'leave')
    const ticketAgo = upTo(2)
    const after = random() < 0.7 ? upTo(120) : undefined
    const options = { max: oneOf(0, 1, 5, 1000), note: random() < 0.2 ? `n${upTo(9)}` : undefined }
    const reader = `r${upTo(3)}`
    return async (log, side) => {
      const ticket = side.tickets.at(-1 - ticketAgo)
      const cursor = after === undefined ? undefined : side.base + after
      const result: ReadResult = await log.read(key, reader, { take, ticket, after: cursor, ...options })
      if (take === 'attach' && result.state === 'ok') side.tickets.push(result.ticket)
      return {
        ...result,
        entries: result.entries.map(({ n, text }) => ({ n: n - side.base, text })),
        last: result.last - side.base,
        // 1 where nothing has gone, which says nothing of a clock.
        oldest: result.oldest <= 1 ? result.oldest : result.oldest - side.base,
        ticket: side.tickets.indexOf(result.ticket),
      }
    }
  }
  const steps = Array.from({ length: STEPS }, () => (random() < 0.7 ? appendStep() : readStep()))
  // Both begin with an entry, whose number is the base where the store numbers.
  const opening: Step = async (log, side) => {
    const options: Append = { ttlMs: LIFE_MS, limit: { entries: 100, bytes: 100_000 } }
    if (numbersFrom !== 'store') return log.append(key, ['opening'], { ...options, first: 1 }).then(() => (first = 2))
    side.base = (await log.append(key, ['opening'], { ...options, token: 'opening' })).last
    return 'opened'
  }
  return [opening, ...steps]
}

describe('the log of Redis', () => {
  it(`does as that of memory does, in ${SEEDS} runs of ${STEPS} random steps`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const stores = [memoryStore(), redisStore(inject('redisUrl'), { prefix: newPrefix() })]
      const steps = script(randomNumbers(seed * 7919))
      const [ours, theirs] = await Promise.all(
        stores.map(async ({ log }) => {
          const side: Side = { base: 0, tickets: [] }
          const replies: unknown[] = []
          for (const step of steps) replies.push(await step(log, side))
          return replies
        }),
      )
      for (const [i, reply] of ours!.entries()) expect(theirs![i], `seed ${seed}, step ${i}`).toEqual(reply)
      await Promise.all(stores.map((store) => store.close()))
    }
  })

  it('is one hash, whose fields of other releases are left alone', async () => {
    const prefix = newPrefix()
    const store = redisStore(inject('redisUrl'), { prefix })
    const client = new Redis(inject('redisUrl'))
    const key = { tag: 's', name: 'g' }
    const options: Append = { ttlMs: LIFE_MS, limit: { entries: 2, bytes: 1000 } }
    await store.log.append(key, ['a'], { ...options, token: 'a' })
    const name = `${prefix}v1:{s}g`
    await client.hset(name, 'zz', 'of a later release')
    for (const token of ['b', 'c', 'd']) await store.log.append(key, [token], { ...options, token })
    const { ticket } = await store.log.read(key, 'r', { take: 'attach', max: 10 })
    await store.log.read(key, 'r', { take: 'leave', ticket, max: 0, note: 'n' })
    const fields = await client.hgetall(name)
    expect(fields.zz).toBe('of a later release')
    const last = Number(fields.n)
    expect([fields[last], fields[last - 1], fields[last - 2]]).toEqual(['d', 'c', undefined])
    client.disconnect()
    await store.close()
  })

  it('forgets tokens and entries that have gone: its size is bounded', async () => {
    const prefix = newPrefix()
    const store = redisStore(inject('redisUrl'), { prefix })
    const client = new Redis(inject('redisUrl'))
    const options: Append = { ttlMs: LIFE_MS, limit: { entries: 100, bytes: 100_000 } }
    await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        store.log.append({ tag: 's', name: 'g' }, ['x'], { ...options, token: `${i}` }),
      ),
    )
    // 100 entries, their tokens and the places of those, and what is said of the log.
    expect(await client.hlen(`${prefix}v1:{s}g`)).toBeLessThanOrEqual(100 + 2 * 100 + 10)
    client.disconnect()
    await store.close()
  })

  it('takes little for one small entry', async () => {
    const prefix = newPrefix()
    const store = redisStore(inject('redisUrl'), { prefix })
    const client = new Redis(inject('redisUrl'))
    const options: Append = { ttlMs: LIFE_MS, limit: { entries: 100, bytes: 100_000 } }
    await store.log.append({ tag: 's', name: 'c' }, ['x'.repeat(200)], {
      ...options,
      first: 1,
      owner: 'node-0123456 1',
      reader: 'node-0123456',
    })
    const bytes = Number(await client.call('MEMORY', 'USAGE', `${prefix}v1:{s}c`))
    // A stream would take 4.7 KB.
    expect(bytes).toBeLessThan(1200)
    console.log(`one entry of 200 B: ${bytes} bytes`)
    client.disconnect()
    await store.close()
  })
})
