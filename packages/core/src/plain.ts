// For the adapters of Fairlead: a transport without Request and Response. Not for apps.
export { type Body, type BodyFault, decode, type Exchange, type Reply, type Sink, type Stream } from './exchange.ts'
export { plainFace } from './transport.ts'
