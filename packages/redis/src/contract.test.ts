import { storeContract } from '@fairlead/core/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unreliable } from '../../core/src/testing/unreliable.ts'
import { flavours, newPrefix, RUN_PREFIX } from '../test-support/flavours.ts'
import { type LifeWatch, watchLives } from '../test-support/lives.ts'
import { redisStore } from './redis-store.ts'

// S61: on the cluster, a step whose keys are not of one slot fails with CROSSSLOT, and so does the case.
describe.each(flavours)('the contract: redisStore on $name', ({ up, connection, servers }) => {
  let lives: LifeWatch
  beforeAll(async () => {
    await up()
    lives = watchLives(servers(), RUN_PREFIX)
  })
  afterAll(async () => {
    expect(await lives.stop(), 'S57 keys that had no life').toEqual([])
    expect(lives.looks).toBeGreaterThan(1000)
  })

  const open = () => {
    const prefix = newPrefix()
    return [redisStore(connection(), { prefix }), redisStore(connection(), { prefix })] as const
  }
  for (const { name, run } of storeContract(async () => open())) it.concurrent(name, run)

  describe('replies lost', () => {
    const cases = storeContract(async () => {
      const [a, b] = open()
      return [unreliable(a), unreliable(b, { seed: 3 })]
    })
    for (const { name, run } of cases) it.concurrent(name, run)
  })
})
