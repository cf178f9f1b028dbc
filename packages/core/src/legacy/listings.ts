// R28: a session is told when the listings are not those that it knows, as after a deploy.
import { nanoid } from 'nanoid'
import { printOf } from '../changes.ts'
import { notificationText } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { ListKind } from '../server.ts'
import type { SessionRecord, SessionRef, Sessions } from './session.ts'
import type { Standalone } from './standalone.ts'

/** A session is told at most this often, so that a rolling deploy with two kinds of nodes does not tell at every request. */
const TELL_MS = 30_000
const KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources']
/** Fingerprints that this node has had; beyond that it may tell once too often. */
const SEEN = 1000

export interface Listings {
  /** A session begins with these: whatever changes from them is published. */
  know(fingerprints: Readonly<Record<string, string>>): void
  /** At each request of a session: no store call unless something differs, and then behind the request. */
  compare(ref: SessionRef, record: SessionRecord, method: string): void
}

/** The kind that a method lists: who asks for it is given the new one, and need not be told. */
function listedBy(method: string): string | undefined {
  return /^(tools|prompts|resources)\/(?:templates\/)?list$/.exec(method)?.[1]
}

export function createListings(
  { server, store, changes, report }: Node,
  sessions: Sessions,
  standalone: Standalone,
): Listings {
  /** Whoever knows one of these has heard of the change from `events`: this node has published it. */
  const seen = new Set<string>()

  async function tell(
    ref: SessionRef,
    known: SessionRecord,
    method: string,
    changed: ListKind[],
    now: Record<string, string>,
  ): Promise<void> {
    await changes.place()
    const untold = changed.filter((kind) => {
      const print = printOf(kind, known.listings?.[kind] ?? '')
      return !seen.has(print) && !changes.superseded.has(print) && listedBy(method) !== kind
    })
    let won = false
    const toldBy = nanoid(8) // two that see the same make different records of it, so that one of them fails
    await sessions.update(ref, (record) => {
      const isDone = record.toldBy === toldBy
      won = isDone || KINDS.every((kind) => record.listings?.[kind] === known.listings?.[kind])
      if (!won || isDone) return undefined
      return { ...record, listings: now, toldBy, ...(untold.length > 0 ? { toldAt: store.now() } : {}) }
    })
    if (!won) return
    for (const kind of untold) await standalone.send(ref, notificationText(`notifications/${kind}/list_changed`))
  }

  function know(fingerprints: Readonly<Record<string, string>>): void {
    if (seen.size > SEEN) seen.clear()
    for (const kind of KINDS) seen.add(printOf(kind, fingerprints[kind] ?? ''))
  }

  return {
    know,
    compare(ref, record, method) {
      const { fingerprints } = server.describe(record.version)
      let changed: ListKind[] | undefined
      for (const kind of KINDS) {
        if (record.listings?.[kind] === fingerprints[kind]) continue
        changed ??= []
        changed.push(kind)
      }
      know(fingerprints)
      if (!changed) return
      if (record.toldAt !== undefined && store.now() - record.toldAt < TELL_MS) return
      tell(ref, record, method, changed, fingerprints).catch((error) => report(error, 'listings', method, ref.id))
    },
  }
}
