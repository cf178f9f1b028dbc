// Cursors of listings: opaque to clients, and the same on every node and after a restart.
import { checksum } from '../canonical.ts'
import { CODE, McpError } from '../errors.ts'
import { textFromBase64, toBase64 } from './base64.ts'

const encoder = new TextEncoder()

/** The place after an item: its position, and its name in case the listing has changed. */
export function toCursor(listing: string, position: number, name: string): string {
  const place = `${position} ${name}`
  return toBase64(encoder.encode(`${checksum(`${listing} ${place}`)} ${place}`))
}

/** Where the next page starts. Throws where the cursor is not one of ours (L-05); an empty one is none either (Q-45). */
export function fromCursor(listing: string, cursor: unknown, names: readonly string[]): number {
  const [, sum, position, name] =
    (typeof cursor === 'string' && /^(\S+) (\d+) (.*)$/s.exec(textFromBase64(cursor) ?? '')) || []
  if (name === undefined || sum !== checksum(`${listing} ${position} ${name}`)) {
    throw new McpError(CODE.invalidParams, 'params.cursor is not valid')
  }
  const last = Number(position)
  if (names[last] === name) return last + 1
  const moved = names.indexOf(name)
  // Gone: what came after it stands in its place now.
  return moved === -1 ? Math.min(last, names.length) : moved + 1
}
