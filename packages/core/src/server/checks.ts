// What is checked when something is registered: names, icons, annotations, `_meta` keys, caching.
import { isObject } from '../jsonrpc.ts'
import type { Annotations, Cache, Icon } from './config.ts'

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/
const META_PREFIX = /^(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/
const META_NAME = /^(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)?$/
/** Prefixes of the spec's own. */
const RESERVED_LABELS = new Set(['mcp', 'modelcontextprotocol'])

export function checkToolName(name: string): void {
  if (!TOOL_NAME.test(name)) {
    throw new TypeError(`tool ${JSON.stringify(name)}: a name has 1 to 128 of A-Z a-z 0-9 _ - . (L-07)`)
  }
}

export function checkIcons(where: string, icons: readonly Icon[] | undefined): void {
  for (const { src } of icons ?? []) {
    if (!/^(?:https:\/\/|data:image\/)/i.test(src)) {
      throw new TypeError(`${where}: option icons: ${JSON.stringify(src.slice(0, 40))} is no https URL or data URI`)
    }
  }
}

export function checkAnnotations(where: string, annotations: Annotations | undefined): void {
  if (!annotations) return
  const { priority, lastModified } = annotations
  if (priority !== undefined && !(priority >= 0 && priority <= 1)) {
    throw new TypeError(`${where}: option annotations.priority must be from 0 to 1`)
  }
  if (
    lastModified !== undefined &&
    !(/^\d{4}-\d\d-\d\d/.test(lastModified) && Number.isFinite(Date.parse(lastModified)))
  ) {
    throw new TypeError(`${where}: option annotations.lastModified must be an ISO 8601 time`)
  }
}

export function checkMeta(where: string, meta: Readonly<Record<string, unknown>> | undefined): void {
  for (const key of Object.keys(meta ?? {})) {
    const slash = key.indexOf('/')
    const prefix = slash === -1 ? undefined : key.slice(0, slash)
    if ((prefix !== undefined && !META_PREFIX.test(prefix)) || !META_NAME.test(key.slice(slash + 1))) {
      throw new TypeError(`${where}: ${JSON.stringify(key)} is no legal key of _meta`)
    }
    // The rule of 2025-11-25 is on the second label, the one of 2025-06-18 on the last but one: neither is taken.
    const labels = prefix?.split('.') ?? []
    if (
      labels.length > 0 &&
      (RESERVED_LABELS.has(labels[1] ?? '') ||
        RESERVED_LABELS.has(labels.at(-2) ?? '') ||
        RESERVED_LABELS.has(labels[0]!))
    ) {
      throw new TypeError(`${where}: the prefix of ${JSON.stringify(key)} is kept for MCP`)
    }
  }
}

export function checkCache(where: string, cache: Cache | undefined): void {
  if (!cache) return
  if (!Number.isInteger(cache.ttlMs) || cache.ttlMs < 0)
    throw new TypeError(`${where}: option cache.ttlMs must be a whole number from 0 (H-04)`)
  if (cache.scope !== 'public' && cache.scope !== 'private')
    throw new TypeError(`${where}: option cache.scope must be public or private`)
}

export function checkCount(where: string, name: string, value: number | undefined): void {
  if (value !== undefined && (!Number.isInteger(value) || value < 1)) {
    throw new TypeError(`${where}: option ${name} must be a whole number from 1`)
  }
}

/** RFC 3986, as far as a URL parser goes. */
export function checkUri(uri: string): void {
  if (!URL.canParse(uri) || /[\s<>"{}|\\^`]/.test(uri))
    throw new TypeError(`resource ${JSON.stringify(uri)}: not a URI (L-28)`)
}

export function isPlainSchema(schema: object): schema is { [key: string]: unknown } {
  return isObject(schema) && !('~standard' in schema)
}
