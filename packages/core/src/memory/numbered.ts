// Numbered entries, oldest first: what a log and a topic have in common.
import type { Entry } from '../store.ts'

/** A repeat of a step is recognised by its token for so many entries. */
const TOKENS_KEPT = 64

interface Item extends Entry {
  token: string | undefined
}

export interface Numbered {
  items: Item[]
  last: number
  /** Nothing above this number is missing. */
  floor: number
  /** Bytes of the texts. */
  bytes: number
}

const WIDE = /[\u0100-\uffff]/

/** One byte a character, or two, as engines hold strings. The test costs nothing where all are of one byte. */
export function sizeOf(text: string): number {
  return WIDE.test(text) ? text.length * 2 : text.length
}

export function push(run: Numbered, n: number, text: string, token: string | undefined): void {
  // A literal has room for one item, where a push to an empty array makes room for 17.
  if (run.items.length === 0) run.items = [{ n, text, token }]
  else run.items.push({ n, text, token })
  run.bytes += sizeOf(text)
  run.last = n
}

/** Drops the oldest beyond either limit, never the last one. */
export function trim(run: Numbered, entries: number, bytes: number): void {
  const { items } = run
  let gone = 0
  while (gone < items.length - 1 && (items.length - gone > entries || run.bytes > bytes)) {
    run.bytes -= sizeOf(items[gone++]!.text)
  }
  dropFirst(run, gone)
}

/** Drops those up to n, but not the last of them all that tokens are looked for in. */
export function trimHandled(run: Numbered, n: number): void {
  const gone = Math.min(indexAfter(run, n), run.items.length - TOKENS_KEPT)
  for (let i = 0; i < gone; i++) run.bytes -= sizeOf(run.items[i]!.text)
  dropFirst(run, gone)
}

function dropFirst(run: Numbered, count: number): void {
  if (count <= 0) return
  run.floor = Math.max(run.floor, run.items[count - 1]!.n)
  run.items.splice(0, count)
}

export function entriesAfter(run: Numbered, after: number, max: number): Entry[] {
  const start = indexAfter(run, after)
  return run.items.slice(start, start + max).map(({ n, text }) => ({ n, text }))
}

/** The number of the entry that the step with this token wrote, if it is among the newest. */
export function numberOf(run: Numbered, token: string): number | undefined {
  const { items } = run
  for (let i = items.length - 1; i >= 0 && i >= items.length - TOKENS_KEPT; i--) {
    if (items[i]!.token === token) return items[i]!.n
  }
  return undefined
}

/** Numbers ascend, but may leave some out. */
function indexAfter({ items }: Numbered, after: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (items[middle]!.n > after) high = middle
    else low = middle + 1
  }
  return low
}
