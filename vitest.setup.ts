// Every message that a server sends in any test is checked against the schema of its revision, at the answer.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, inject, vi } from 'vitest'
import type * as ExchangeModule from './packages/core/src/exchange.ts'
import type * as TransportModule from './packages/core/src/transport.ts'
import { checked, takeFaults } from './packages/core/test-support/wire.ts'

vi.mock(import('./packages/core/src/exchange.ts'), async (importOriginal) => {
  const { watchedWeb } = await import('./packages/core/test-support/wire-watch.ts')
  return watchedWeb(await importOriginal<typeof ExchangeModule>())
})
vi.mock(import('./packages/core/src/transport.ts'), async (importOriginal) => {
  const { watchedPlain } = await import('./packages/core/test-support/wire-watch.ts')
  return watchedPlain(await importOriginal<typeof TransportModule>())
})

function assertNoFaults(): void {
  const faults = takeFaults()
  if (faults.length > 0) throw new Error(`on the wire: ${faults.join('\n')}`)
}

afterEach(assertNoFaults)
afterAll(() => {
  appendFileSync(join(inject('wireCounts'), String(process.pid)), `${JSON.stringify(checked)}\n`)
  for (const revision of Object.keys(checked) as (keyof typeof checked)[]) checked[revision] = 0
  assertNoFaults()
})
