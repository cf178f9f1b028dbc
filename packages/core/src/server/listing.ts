// A listing in one revision: made once, cut into pages, and from then on the same objects for every request.
import type { ProtocolVersion } from '../protocol.ts'
import type { Awaitable, Result } from '../server.ts'
import { isObject } from './checks.ts'
import { fromCursor, toCursor } from './cursor.ts'

type Item = { readonly [key: string]: unknown }

/** The member of the result, and the member of its items that names them. */
export type ListingKey = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'
const NAMED_BY: Readonly<Record<ListingKey, string>> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
}

export class Listing {
  readonly #key: ListingKey
  readonly #items: readonly Item[]
  readonly #names: readonly string[]
  readonly #pageSize: number
  readonly #fields: Item
  readonly #pages = new Map<number, Result>()

  /** @param fields what each page has beside its items */
  constructor(key: ListingKey, items: readonly Item[], pageSize: number, fields: Item) {
    this.#key = key
    this.#items = items
    this.#names = items.map((item) => item[NAMED_BY[key]] as string)
    this.#pageSize = pageSize
    this.#fields = fields
  }

  /** The page that `params.cursor` asks for. */
  page(params: unknown): Result {
    const cursor = isObject(params) ? params.cursor : undefined
    const start = cursor === undefined ? 0 : fromCursor(this.#key, cursor, this.#names)
    const known = this.#pages.get(start)
    if (known) return known
    const end = start + this.#pageSize
    const page = Object.freeze({
      [this.#key]: Object.freeze(this.#items.slice(start, end)),
      ...(end < this.#items.length ? { nextCursor: toCursor(this.#key, end - 1, this.#names[end - 1]!) } : {}),
      ...this.#fields,
    })
    this.#pages.set(start, page)
    return page
  }
}

/** One listing in each revision, until something of its kind changes. */
export class Listings {
  readonly #made = new Map<ProtocolVersion, Awaitable<Listing>>()

  get(version: ProtocolVersion): Awaitable<Listing> | undefined {
    return this.#made.get(version)
  }

  /** Kept while it is being made, for all who ask in the meantime; not kept if that fails. */
  keep(version: ProtocolVersion, made: Awaitable<Listing>): Awaitable<Listing> {
    this.#made.set(version, made)
    if (made instanceof Promise) {
      const settle = (listing: Listing | undefined) => {
        if (this.#made.get(version) !== made) return
        if (listing) this.#made.set(version, listing)
        else this.#made.delete(version)
      }
      made.then(settle, () => settle(undefined))
    }
    return made
  }

  clear(): void {
    this.#made.clear()
  }
}
