export { McpError } from './errors.ts'
export type { ProtocolVersion } from './protocol.ts'
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
