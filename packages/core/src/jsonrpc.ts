// JSON-RPC 2.0: message shapes, hand-written guards, and the text of what we send.
import { CODE, type McpError } from './errors.ts'
import type { Json } from './server.ts'

export type RequestId = string | number

export interface JsonRpcRequest {
  jsonrpc: '2.0'
  id: RequestId
  method: string
  params?: Params
}
export interface JsonRpcNotification {
  jsonrpc: '2.0'
  method: string
  params?: Params
}
export interface JsonRpcResponse {
  jsonrpc: '2.0'
  id?: RequestId
  result?: { [key: string]: unknown }
  error?: { code: number; message: string; data?: unknown }
}
export type Params = { [key: string]: unknown }

/** A body that was understood, by its kind; or why it was not, with the id where one could be read. */
export type Parsed =
  | { kind: 'request'; message: JsonRpcRequest }
  | { kind: 'notification'; message: JsonRpcNotification }
  | { kind: 'response'; message: JsonRpcResponse }
  | { kind: 'batch'; members: unknown[] }
  | { kind: 'invalid'; code: number; text: string; id?: RequestId }

/** Integers outside the safe range would be echoed rounded, so they are no ids. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Sorts a body that is JSON into its kind. */
export function parseMessage(value: unknown): Parsed {
  if (Array.isArray(value)) return { kind: 'batch', members: value }
  if (!isObject(value)) return { kind: 'invalid', code: CODE.invalidRequest, text: 'a message must be a JSON object' }
  const { id, method, params } = value
  if (value.jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"', id)
  if (id !== undefined && !isRequestId(id)) return invalid('an id must be a string or a safe integer', undefined)
  if (method === undefined) {
    const { result, error } = value
    if ((result === undefined) === (error === undefined)) {
      return invalid('a message must have a method, or else a result or an error', id)
    }
    if (result !== undefined ? !isObject(result) || id === undefined : !isErrorObject(error)) {
      return invalid('this answer is not a valid JSON-RPC response', id)
    }
    return { kind: 'response', message: value as unknown as JsonRpcResponse }
  }
  if (typeof method !== 'string') return invalid('method must be a string', id)
  if (params !== undefined && !isObject(params)) return invalid('params must be an object', id)
  return id === undefined
    ? { kind: 'notification', message: value as unknown as JsonRpcNotification }
    : { kind: 'request', message: value as unknown as JsonRpcRequest }
}

function isErrorObject(error: unknown): boolean {
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string'
}

function invalid(text: string, id: unknown): Parsed {
  return { kind: 'invalid', code: CODE.invalidRequest, text, ...(isRequestId(id) ? { id } : {}) }
}

/** Deeper than `limit` arrays and objects within one another? Looks at brackets only, and only in texts long enough. */
export function deeperThan(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === 0x5c) i++
      else if (c === 0x22) inString = false
    } else if (c === 0x22) inString = true
    else if (c === 0x7b || c === 0x5b) {
      if (++depth > limit) return true
    } else if (c === 0x7d || c === 0x5d) depth--
  }
  return false
}

/** The same of a value that was parsed elsewhere. */
export function nestedDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  for (const key in value) if (nestedDeeperThan((value as { [key: string]: unknown })[key], limit - 1)) return true
  return false
}

const lineBreaks = /[\u0085\u2028\u2029]/
const everyLineBreak = /[\u0085\u2028\u2029]/g

/** JSON on one line for every parser: some split lines at U+0085, U+2028 and U+2029 too. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value)
  return lineBreaks.test(text) ? text.replace(everyLineBreak, escapeUnit) : text
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function idText(id: RequestId): string {
  return typeof id === 'number' ? String(id) : toJson(id)
}

/** `result` is JSON text already. */
export function resultText(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${result}}`
}

/** An id that could not be read is left out. */
export function errorText(id: RequestId | undefined, code: number, message: string, data?: Json): string {
  const error = toJson(data === undefined ? { code, message } : { code, message, data })
  return id === undefined
    ? `{"jsonrpc":"2.0","error":${error}}`
    : `{"jsonrpc":"2.0","id":${idText(id)},"error":${error}}`
}

export function mcpErrorText(id: RequestId, error: McpError): string {
  return errorText(id, error.code, error.message, error.data)
}

export function notificationText(method: string, params?: unknown): string {
  return toJson(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params })
}
