// One kind of listing: items in the order of their registration, pages, and a fingerprint.
import { checksum } from '../canonical.ts'
import { CODE, McpError } from '../errors.ts'
import type { Result } from '../server.ts'

const encoder = new TextEncoder()

/** A cursor names the last item of the page before it: it means the same on every node, and after a restart. */
function toCursor(name: string): string {
  let binary = ''
  for (const byte of encoder.encode(name)) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** The page after a cursor. `nameOf` must be unique within the listing. */
export function page<T>(
  key: string,
  items: readonly T[],
  nameOf: (item: T) => string,
  params: unknown,
  pageSize: number | undefined,
): Result {
  const { cursor } = (params ?? {}) as { cursor?: unknown }
  let start = 0
  if (cursor !== undefined) {
    // an empty one is a cursor like any other.
    const at = items.findIndex((item) => toCursor(nameOf(item)) === cursor)
    if (at === -1) throw new McpError(CODE.invalidParams, 'the cursor is not valid')
    start = at + 1
  }
  const end = pageSize === undefined ? items.length : start + pageSize
  if (start === 0 && end >= items.length) return { [key]: items }
  const shown = items.slice(start, end)
  return end < items.length ? { [key]: shown, nextCursor: toCursor(nameOf(shown.at(-1)!)) } : { [key]: shown }
}

/** The same text for the same listing, on every node that has the same registrations. */
export function fingerprint(items: Iterable<unknown>): string {
  return checksum(JSON.stringify([...items], plain))
}

/** Schemas hold patterns, sets and functions; what is listed of them is in their texts. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof RegExp || typeof value === 'bigint') return String(value)
  if (value instanceof Set || value instanceof Map) return [...value]
  return value
}
