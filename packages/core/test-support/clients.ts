// Clients of both eras, as plain HTTP: each builds requests with what its revision asks for, and a test changes what it likes.
import { expect } from 'vitest'
import type { Transport } from '../src/transport.ts'
import { type Answer, Frames, read } from './sse.ts'

export const URL = 'http://localhost:3000/mcp'

/** A header's value; undefined takes it out. */
export type HeaderChanges = { [name: string]: string | undefined }

export interface Sent {
  headers?: HeaderChanges
  id?: string | number
  /** Members of `params._meta`. */
  meta?: { [key: string]: unknown }
  signal?: AbortSignal
}

export type Params = { [key: string]: unknown }

/** What every client has in common. */
export interface Client {
  /** Any body, with the client's headers; text goes out as it is. */
  send(body: unknown, headers?: HeaderChanges, signal?: AbortSignal): Promise<Response>
  /** A request, answered to the end. */
  request(method: string, params?: Params, sent?: Sent): Promise<Answer>
  /** The same, unread. */
  open(method: string, params?: Params, sent?: Sent): Promise<Response>
  /** `tools/call`, answered to the end. */
  call(name: string, args?: Params, sent?: Sent): Promise<Answer>
  /** `tools/call`, as an event stream. */
  stream(name: string, args?: Params, sent?: Sent): Promise<Frames>
  notify(method: string, params?: Params, headers?: HeaderChanges): Promise<Answer>
  /** A verb without a body. */
  verb(method: string, headers?: HeaderChanges): Promise<Response>
}

export interface LegacyClient extends Client {
  readonly session: string
}

const POST_HEADERS: HeaderChanges = {
  host: 'localhost:3000',
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
}

export function headersOf(...changes: (HeaderChanges | undefined)[]): Headers {
  const all = Object.assign({}, ...changes) as HeaderChanges
  return new Headers(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** A POST with a body as it is, and no more headers than any client sends. */
export function post(
  transport: Transport,
  body: unknown,
  headers?: HeaderChanges,
  signal?: AbortSignal,
): Promise<Response> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const init: RequestInit = { method: 'POST', headers: headersOf(POST_HEADERS, headers), body: text as BodyInit }
  return transport.handle(new Request(URL, signal ? { ...init, signal } : init))
}

/** A request without a body. */
export function verb(transport: Transport, method: string, headers?: HeaderChanges): Promise<Response> {
  const all = headersOf({ host: 'localhost:3000', accept: 'text/event-stream' }, headers)
  return transport.handle(new Request(URL, { method, headers: all }))
}

let ids = 0

/** How a revision dresses a request. */
type Dress = (
  method: string,
  params: Params | undefined,
  sent: Sent,
) => { params: Params | undefined; headers: HeaderChanges }

function client(transport: Transport, base: HeaderChanges, dress: Dress): Client {
  const send: Client['send'] = (body, headers, signal) => post(transport, body, { ...base, ...headers }, signal)
  const open: Client['open'] = (method, given, sent = {}) => {
    const { params, headers } = dress(method, given, sent)
    return send({ jsonrpc: '2.0', id: sent.id ?? ++ids, method, params }, { ...headers, ...sent.headers }, sent.signal)
  }
  return {
    send,
    open,
    request: (method, params, sent) => read(open(method, params, sent)),
    call: (name, args, sent) => read(open('tools/call', { name, arguments: args ?? {} }, sent)),
    async stream(name, args, sent) {
      const response = await open('tools/call', { name, arguments: args ?? {} }, sent)
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      return new Frames(response)
    },
    notify(method, given, changes) {
      const { params, headers } = dress(method, given, {})
      return read(send({ jsonrpc: '2.0', method, params }, { ...headers, ...changes }))
    },
    verb: (method, headers) => verb(transport, method, { ...base, ...headers }),
  }
}

const withMeta = (params: Params | undefined, meta: Params | undefined): Params | undefined =>
  meta ? { ...params, _meta: meta } : params

/** The handshake of a legacy revision. */
export function initialize(version: string, capabilities: object = {}): object {
  const clientInfo = { name: 'test-client', version: '0.1.0' }
  return {
    jsonrpc: '2.0',
    id: 'init',
    method: 'initialize',
    params: { protocolVersion: version, capabilities, clientInfo },
  }
}

export interface LegacyOptions {
  headers?: HeaderChanges
  capabilities?: object
}

/** A session of a legacy revision, its handshake done. */
export async function legacy(
  transport: Transport,
  version = '2025-11-25',
  { headers, capabilities }: LegacyOptions = {},
): Promise<LegacyClient> {
  const answer = await read(post(transport, initialize(version, capabilities), headers))
  expect(answer, JSON.stringify(answer.message)).toMatchObject({ status: 200, form: 'json' })
  const session = answer.headers.get('mcp-session-id')
  expect(session).toBeTruthy()
  const base: HeaderChanges = { 'mcp-session-id': session!, ...headers }
  if (version !== '2025-03-26') base['mcp-protocol-version'] = version
  const made = client(transport, base, (_method, params, { meta }) => ({ params: withMeta(params, meta), headers: {} }))
  expect((await made.notify('notifications/initialized')).status).toBe(202)
  return { ...made, session: session! }
}

/** A legacy client without a session. */
export function sessionless(transport: Transport, version?: string, headers?: HeaderChanges): Client {
  return client(transport, { 'mcp-protocol-version': version, ...headers }, (_method, params, { meta }) => ({
    params: withMeta(params, meta),
    headers: {},
  }))
}

export const MODERN = '2026-07-28'
export const META = 'io.modelcontextprotocol/'

/** `_meta` of a request of 2026-07-28. */
export function modernMeta(meta: Params = {}, version = MODERN): Params {
  return {
    [`${META}protocolVersion`]: version,
    [`${META}clientCapabilities`]: {},
    [`${META}clientInfo`]: { name: 'test-client', version: '0.1.0' },
    ...meta,
  }
}

/** A client of 2026-07-28. */
export function modern(transport: Transport, base: HeaderChanges = {}): Client {
  return client(transport, { 'mcp-protocol-version': MODERN, ...base }, (method, params, { meta }) => {
    const name = method === 'resources/read' ? params?.uri : params?.name
    const named = ['tools/call', 'prompts/get', 'resources/read'].includes(method) && typeof name === 'string'
    return {
      params: { ...params, _meta: modernMeta(meta) },
      headers: { 'mcp-method': method, ...(named ? { 'mcp-name': name } : {}) },
    }
  })
}

/** A client of either era, for tests that both must pass. */
export async function clientOf(transport: Transport, version: string): Promise<Client> {
  return version === MODERN ? modern(transport) : legacy(transport, version)
}

export const LEGACY_VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
export const ALL_VERSIONS = [...LEGACY_VERSIONS, MODERN] as const
