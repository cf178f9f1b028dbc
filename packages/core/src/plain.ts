// For the adapters of Fairlead: a transport without Request and Response. Not for apps.
export { canonical, checksum } from './canonical.ts'
export { type Body, type BodyFault, decode, type Exchange, type Reply, type Sink, type Stream } from './exchange.ts'
export { isMountedAt, withoutSlash } from './mount.ts'
export { paramHeadersOf } from './server/param-headers.ts'
export { plainFace } from './transport.ts'

/** The same request with a body that was read already. */
export function bodyText(request: Request, body: string): Request {
  return new Request(request.url, { method: request.method, headers: request.headers, body, signal: request.signal })
}
