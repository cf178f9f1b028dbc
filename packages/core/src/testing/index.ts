// The contract of a store, as cases for any test runner.
import type { Store } from '../store.ts'
import { appendCases } from './append-cases.ts'
import { busCases } from './bus-cases.ts'
import { closeCases } from './close-cases.ts'
import { kvCases } from './kv-cases.ts'
import { readCases } from './read-cases.ts'
import { scene } from './scene.ts'

/**
 * What every store must do, as named cases for any test runner. `open` gives two views of one store, as two nodes have;
 * it is called once for each case, which closes both at its end. Cases use names of their own (and the topic `events`),
 * so that they can share one database and run at once. A case that fails rejects with an Error that says what is wrong.
 *
 * @example
 * for (const { name, run } of storeContract(async () => [myStore(url), myStore(url)])) test(name, run)
 */
export function storeContract(
  open: () => Promise<readonly [Store, Store]>,
): readonly { name: string; run(): Promise<void> }[] {
  return [...kvCases, ...appendCases, ...readCases, ...busCases, ...closeCases].map(({ name, run }) => ({
    name,
    async run() {
      const [a, b] = await open()
      try {
        await run(scene(a, b))
      } finally {
        await Promise.all([a.close(), b.close()])
      }
    },
  }))
}
