// What the records are called in Redis.
import type { Key } from '@fairlead/core'

/**
 * The layout of keys, hashes and streams. Fields that a release does not know it leaves alone, so what is only added
 * needs no other number, and two releases share a Redis. A layout that an older release would misread gets the next
 * number: it lies beside this one, and the release that brings it goes on reading this one until the fleet is through.
 */
const LAYOUT = 'v1'

export interface Names {
  /** A kv or log record. */
  record(key: Key): string
  /** A topic: its entries (a stream), and its numbers and tokens (a hash). */
  topic(name: string): TopicKeys
}

export type TopicKeys = readonly [entries: string, state: string]

/** All that lie under one tag have one hash tag, so one slot of a cluster. */
export function namesUnder(prefix: string): Names {
  const start = `${prefix}${LAYOUT}:`
  return {
    record: ({ tag, name }) => `${start}{${inBraces(tag)}}${name}`,
    topic: (name) => {
      const entries = `${start}bus:{${inBraces(name)}}`
      return [entries, `${entries}:state`]
    },
  }
}

/** The default prefix, so that two apps on one Redis never meet. */
export function prefixOf(server: string): string {
  return `fairlead:${encodeURIComponent(server)}:`
}

/** Throws a TypeError where cluster keys of one tag would not lie together. */
export function checkPrefix(prefix: string): void {
  if (prefix.includes('{}')) throw new TypeError('redisStore: the prefix must not contain an empty hash tag, {}')
}

/** A text that is a hash tag as it is: not empty and without braces. Different texts stay different. */
function inBraces(text: string): string {
  if (text === '') return '%'
  return /[{}%]/.test(text) ? text.replace(/[{}%]/g, encodeURIComponent) : text
}
