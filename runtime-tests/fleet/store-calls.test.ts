// docs/store-calls.md says what is: it is made again and compared.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startRedis } from '../redis/servers.ts'
import { measure, PAGE, page } from './store-calls.ts'

test('W8 R21 what each operation costs at the store is as promised, and as docs/store-calls.md has it', async () => {
  const redis = await startRedis()
  try {
    const rows = await measure(redis.url)
    const calls = (operation: string) => {
      const found = rows.filter((row) => row.operation.startsWith(operation))
      expect(found, operation).toHaveLength(1)
      return found[0]!.calls
    }
    expect(calls('modern call')).toBe(0)
    expect(calls('legacy call answered with JSON')).toBe(1)
    expect(calls('an idle session')).toBe(0)
    expect(calls('an idle open stream')).toBeLessThanOrEqual(3)
    expect(calls('one message to a session without')).toBe(1)
    expect(calls('one change')).toBe(1)
    expect(rows.find(({ operation }) => operation.startsWith('one change'))!.which).toContain('2 × (delivery)')
    // The session, the record, three steps, the answer.
    expect(calls('the same, later ones')).toBe(1 + 1 + 3 + 1)
    expect(page(rows)).toBe(readFileSync(PAGE, 'utf8'))
  } finally {
    await redis.stop()
  }
}, 60_000)
