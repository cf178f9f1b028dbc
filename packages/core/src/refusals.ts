// Every error that the transport itself answers with: status, code and text, in one place.
import { CODE } from './errors.ts'
import type { Json } from './server.ts'

/** An error answer that ends an exchange before anything was dispatched. */
export interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: Json
  readonly headers?: Readonly<Record<string, string>>
}

/** Seconds after which a client may try again what was refused for now. */
const RETRY_AFTER_SECONDS = '1'

const unavailable = (message: string): Refusal => ({
  status: 503,
  code: CODE.internal,
  message,
  headers: { 'retry-after': RETRY_AFTER_SECONDS },
})

const invalid = (status: number, message: string): Refusal => ({ status, code: CODE.invalidRequest, message })
const mismatch = (message: string, data?: Json): Refusal => ({ status: 400, code: CODE.headerMismatch, message, data })

export const host = (host: string): Refusal =>
  invalid(
    403,
    `Host ${show(host)} is not served here: list it in the option hosts (hosts: 'any' where a proxy checks it)`,
  )
export const origin = (origin: string): Refusal =>
  invalid(403, `Origin ${show(origin)} is not allowed here: list it in the option origins`)
export const verb = (allow: string): Refusal => ({
  ...invalid(405, `this endpoint takes ${allow}`),
  headers: { allow },
})
export const contentType: Refusal = invalid(415, 'the body must be application/json')
export const accept: Refusal = invalid(406, 'no acceptable form: accept application/json or text/event-stream')
export const acceptStream: Refusal = invalid(406, 'a GET opens an event stream: accept text/event-stream')
export const tooLarge = (limit: number): Refusal => invalid(413, `the body is larger than ${limit} bytes`)
export const consumed: Refusal = {
  status: 500,
  code: CODE.internal,
  message: 'the body was read before it came here: hand over the request unread, or with what was parsed',
}
export const notUtf8: Refusal = { status: 400, code: CODE.parse, message: 'the body is not valid UTF-8' }
export const notJson: Refusal = { status: 400, code: CODE.parse, message: 'the body is not valid JSON' }
export const tooDeep = (limit: number): Refusal => invalid(400, `the body is nested deeper than ${limit} levels`)
export const message = (code: number, text: string): Refusal => ({ status: 400, code, message: text })
export const busy: Refusal = unavailable('too many requests are running here: try again')
export const draining: Refusal = unavailable('this server is about to stop: try again')
export const storeAway: Refusal = unavailable('the session store is out of reach: try again')
export const crashed: Refusal = { status: 500, code: CODE.internal, message: 'internal error' }

// Legacy
export const sessionMissing: Refusal = invalid(400, 'the header Mcp-Session-Id is missing: send initialize first')
export const sessionRepeated: Refusal = invalid(400, 'the header Mcp-Session-Id came more than once')
export const sessionUnknown: Refusal = invalid(404, 'no such session: send initialize again')
export const sessionVersion = (served: readonly string[]): Refusal =>
  invalid(400, `this MCP-Protocol-Version is not supported: ${served.join(', ')}`)
export const batch: Refusal = invalid(400, 'one message per body: batches are legal in 2025-03-26 only')
export const emptyBatch: Refusal = invalid(400, 'an empty batch')
export const longBatch = (limit: number): Refusal => invalid(400, `a batch has ${limit} members at most`)
export const initializeInBatch: Refusal = invalid(400, 'initialize must come alone')
export const eventUnknown: Refusal = invalid(400, 'no such event to go on from: open a stream without Last-Event-ID')
export const modernNotServed = (served: readonly string[]): Refusal =>
  invalid(400, `this server speaks ${served.join(', ')}: send initialize`)

// Modern
export const missingMeta = (key: string): Refusal => ({
  status: 400,
  code: CODE.invalidParams,
  message: `params._meta must have ${key}`,
})
export const header = (text: string): Refusal => mismatch(text)
export const noVersionHeader = (served: readonly string[]): Refusal =>
  mismatch(`the header MCP-Protocol-Version is missing: ${served.join(', ')}`, { supported: [...served] })
export const version = (requested: string, served: readonly string[]): Refusal => ({
  status: 400,
  code: CODE.unsupportedVersion,
  message: `protocol version ${show(requested)} is not supported: ${served.join(', ')}`,
  data: { supported: served.filter((version) => version !== requested), requested },
})
export const method = (method: string, served?: readonly string[]): Refusal => ({
  status: 404,
  code: CODE.methodNotFound,
  message: served
    ? `no method ${show(method)} here: this server speaks ${served.join(', ')}`
    : `no method ${show(method)}`,
})
export const capability = (required: { [capability: string]: Json }): Refusal => ({
  status: 400,
  code: CODE.missingCapability,
  message: `this needs client capabilities that were not declared: ${Object.keys(required).join(', ')}`,
  data: { requiredCapabilities: required },
})
export const response: Refusal = invalid(400, 'this revision has no requests to the client, so it takes no responses')

/** What a client sent, short and safe to print. */
function show(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
