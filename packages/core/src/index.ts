export { McpError } from './errors.ts'
export { memoryStore } from './memory-store.ts'
export type { Auth, Observer, OnError, TransportOptions } from './options.ts'
export type { ProtocolVersion } from './protocol.ts'
export * from './server/index.ts'
export type * from './server.ts'
export {
  type Append,
  type Appended,
  type Bus,
  type Entry,
  type Key,
  type Kv,
  type Log,
  type Read,
  type ReadResult,
  type State,
  type Store,
  StoreUnavailable,
  type Subscription,
  type Why,
} from './store.ts'
export { createTransport, type Stats, type Transport } from './transport.ts'
