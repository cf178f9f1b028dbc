// The era table: which era a message belongs to, decided once. The one file that imports both eras.
import type { EraHandler, EraRow } from './eras.ts'
import type { Exchange } from './exchange.ts'
import type { Parsed } from './jsonrpc.ts'
import { legacy } from './legacy/index.ts'
import { modern } from './modern/index.ts'
import type { Node } from './node.ts'
import { REVISIONS } from './protocol.ts'
import type { Session } from './server.ts'

/** In this order each is asked whether a message is of its era; the last takes what nobody claims. */
const ERAS: readonly EraRow[] = [
  modern, // 2026-07-28 and later
  legacy, // 2025-03-26 to 2025-11-25
]

export interface Eras {
  /** The verbs that some served era takes. */
  readonly verbs: readonly string[]
  /** The era of a message, if it is served; else a served one, to say so. */
  of(parsed: Parsed, exchange: Exchange): { handler: EraHandler; served: boolean }
  /** The era that takes this verb beside POST. */
  taking(verb: string): EraHandler | undefined
  session(id: string): Promise<Session | undefined>
  readonly sessions: number
  drain(): void
  close(): Promise<void>
}

export function createEras(node: Node): Eras {
  const { versions } = node.settings
  const handlers = new Map<EraRow, EraHandler>()
  for (const row of ERAS) {
    const own = versions.filter((version) => REVISIONS[version].era === row.name)
    if (own.length > 0) handlers.set(row, row.create(node, own))
  }
  const [first] = handlers.values()
  if (!first) throw new TypeError('createTransport: option versions: none of them is built in')
  const all = [...handlers.values()]
  return {
    verbs: ['POST', ...new Set(all.flatMap(({ verbs }) => verbs))],
    of(parsed, exchange) {
      const row = ERAS.find((one) => one.claims(parsed, exchange)) ?? ERAS.at(-1)!
      const handler = handlers.get(row)
      return handler ? { handler, served: true } : { handler: first, served: false }
    },
    taking: (verb) => all.find(({ verbs }) => verbs.includes(verb)),
    async session(id) {
      for (const handler of all) {
        const session = await handler.session(id)
        if (session) return session
      }
      return undefined
    },
    get sessions() {
      return all.reduce((sum, { sessions }) => sum + sessions, 0)
    },
    drain() {
      for (const handler of all) handler.drain()
    },
    async close() {
      await Promise.all(all.map((handler) => handler.close()))
    },
  }
}
