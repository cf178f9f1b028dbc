// Names for the asks of a v1 server, which gives them none: by what they ask, and counted where it is asked twice.
import type { Json } from '@fairlead/core'
import { canonical, checksum } from '@fairlead/core/plain'

const KIND: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicit',
  'sampling/createMessage': 'sample',
  'roots/list': 'roots',
}

/** The same ask has the same key in every run of its call, whatever else is asked before it or beside it. */
export class AskKeys {
  readonly #used = new Map<string, number>()

  next(method: string, params: Json | undefined): string {
    const key = `${KIND[method] ?? 'ask'}-${checksum(canonical(params ?? null))}`
    const count = (this.#used.get(key) ?? 0) + 1
    this.#used.set(key, count)
    return count === 1 ? key : `${key}-${count}`
  }
}
