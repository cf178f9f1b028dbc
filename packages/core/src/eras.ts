// What an era is to the transport: the shape that both eras have, so that neither knows the other.
import type { Arrival, Exchange, Reply } from './exchange.ts'
import type { Parsed } from './jsonrpc.ts'
import type { Node } from './node.ts'
import type { Era, ProtocolVersion } from './protocol.ts'
import type { Session } from './server.ts'

export interface EraRow {
  readonly name: Era
  /** Is this message of that era? Decided from the body first, then the version header. */
  claims(parsed: Parsed, exchange: Exchange): boolean
  /** `versions`: those of this era that are served, newest first. */
  create(node: Node, versions: readonly ProtocolVersion[]): EraHandler
}

export interface EraHandler {
  /** Beside POST. */
  readonly verbs: readonly string[]
  post(parsed: Parsed, arrival: Arrival): Reply | Promise<Reply>
  verb(arrival: Arrival): Reply | Promise<Reply>
  /** For a message of an era that is not served: an answer from which the client can find one that is (Q-03, S45). */
  decline(parsed: Parsed, exchange: Exchange): Reply
  session(id: string): Promise<Session | undefined>
  /** Sessions that this node keeps track of. */
  readonly sessions: number
  /** Nothing new is taken from now on: streams that only wait are ended, so that their clients go elsewhere. */
  drain(): void
  /** All calls have ended. */
  close(): Promise<void>
}
