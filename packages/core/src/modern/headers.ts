// The headers that mirror the body on 2026-07-28, so that gateways can route without reading it (SEP-2243).

import type { Exchange } from '../exchange.ts'
import { isObject, type Params } from '../jsonrpc.ts'
import { HEADER } from '../protocol.ts'
import type { Refusal } from '../refusals.ts'
import * as REFUSE from '../refusals.ts'

/** The member of `params` that `Mcp-Name` mirrors, by method (G-05). */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Those of the tasks extension, whose clients may leave the header out. */
const MAYBE_NAMED: Readonly<Record<string, string>> = {
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

const PRINTABLE = /^[\t\x20-\x7e]*$/
const SENTINEL = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A header's value with the Base64 sentinel undone (G-06); undefined: not a legal value. */
export function decodeValue(raw: string): string | undefined {
  if (!PRINTABLE.test(raw)) return undefined
  const coded = SENTINEL.exec(raw)
  if (!coded) return raw
  const [, base64 = ''] = coded
  if (!BASE64.test(base64)) return undefined
  try {
    return utf8.decode(Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** `Mcp-Method` and `Mcp-Name` against the body. `required`: a request must have them, a notification may. */
export function checkMirrored(
  exchange: Exchange,
  method: string,
  params: Params | undefined,
  required: boolean,
): Refusal | undefined {
  const methodHeader = exchange.header(HEADER.method)
  if (methodHeader === undefined ? required : methodHeader !== method) {
    return REFUSE.header('the header Mcp-Method must equal the method of the body')
  }
  if (!required) return undefined
  const member = Object.hasOwn(NAMED, method)
    ? NAMED[method]
    : Object.hasOwn(MAYBE_NAMED, method)
      ? MAYBE_NAMED[method]
      : undefined
  const nameHeader = exchange.header(HEADER.name)
  if (member === undefined || (nameHeader === undefined && !Object.hasOwn(NAMED, method))) return undefined
  const name = params?.[member]
  // A body without a proper name is for the method itself to refuse.
  if (nameHeader === undefined) return REFUSE.header(`the header Mcp-Name must equal params.${member}`)
  return decodeValue(nameHeader) === name ? undefined : REFUSE.header(`the header Mcp-Name must equal params.${member}`)
}

/** `Mcp-Param-*` against the arguments that they mirror (G-09 to G-12, Q-17). */
export function checkParams(
  exchange: Exchange,
  params: Params | undefined,
  paramHeaders: Readonly<Record<string, readonly string[]>>,
): Refusal | undefined {
  for (const [name, path] of Object.entries(paramHeaders)) {
    const raw = exchange.header(HEADER.paramPrefix + name.toLowerCase())
    const value = at(params?.arguments, path)
    const same =
      value === undefined || value === null ? raw === undefined : raw !== undefined && equals(decodeValue(raw), value)
    if (!same) return REFUSE.header(`the header Mcp-Param-${name} must equal the argument ${path.join('.')}`)
  }
  return undefined
}

function at(value: unknown, path: readonly string[]): unknown {
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Integers compare as numbers (G-11); the rest as their text. */
function equals(header: string | undefined, value: unknown): boolean {
  if (header === undefined) return false
  if (typeof value === 'number') return NUMBER.test(header) && Number(header) === value
  return header === String(value)
}
