// A short text that is the same for the same registrations, on every node and at all times.
import { checksum } from '../canonical.ts'
import type { ServedSchema } from './served-schema.ts'

export function fingerprint(value: unknown): string {
  return checksum(textOf(value, [], new Set()))
}

/** What a fingerprint is made of: never what has to be loaded first, or it would change when that has come. */
export function outline(schema: ServedSchema | undefined): unknown {
  if (!schema) return undefined
  return 'json' in schema.source ? schema.source.json : schema.source.valibot
}

/**
 * Like JSON with sorted keys, for anything: valibot schemas hold patterns, functions and themselves.
 * @param above the objects that this one is in
 * @param getters of the lazy schemas that were followed
 */
function textOf(value: unknown, above: readonly object[], getters: Set<unknown>): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return 'f'
  if (typeof value !== 'object' || value === null) return String(value)
  if (value instanceof RegExp) return String(value)
  if (value instanceof Date) return `date ${value.getTime()}`
  if (above.includes(value)) return 'above'
  const path = [...above, value]
  if (value instanceof Map || value instanceof Set)
    return `${value.constructor.name}${textOf([...value], path, getters)}`
  if (Array.isArray(value)) return `[${value.map((item) => textOf(item, path, getters)).join()}]`
  const { type, getter } = value as { type?: unknown; getter?: unknown }
  if (type === 'lazy' && typeof getter === 'function') {
    if (getters.has(getter)) return 'above'
    getters.add(getter)
    return `lazy ${textOf(getter(undefined), path, getters)}`
  }
  const members = Object.entries(value)
    .filter(([key, member]) => !key.startsWith('~') && typeof member !== 'function' && member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${textOf(member, path, getters)}`)
  return `{${members.join()}}`
}
