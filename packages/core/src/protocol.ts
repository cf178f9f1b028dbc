// The revisions of MCP and what each of them knows; every name on the wire.

/** Newest first: the order in which they are offered and listed. */
export const VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const

export type ProtocolVersion = (typeof VERSIONS)[number]
export type Era = 'legacy' | 'modern'

/** What a revision knows. One row a revision; code asks for a feature, never for a date. */
export interface Revision {
  readonly era: Era
  /** Batches are legal. */
  readonly batches: boolean
  /** A stream starts with an id and empty data, and may end early with `retry` (D-06, D-07). */
  readonly priming: boolean
  readonly elicitation: 'none' | 'form' | 'form+url'
  /** `structuredContent` and `outputSchema`: objects only, or any value (L-11, L-12). */
  readonly structured: 'none' | 'object' | 'any'
  /** Arguments that fail their schema are an `isError` result. */
  readonly argumentErrorsAsResults: boolean
  /** `title` and `_meta` on listed things, resource links, completion context. */
  readonly titles: boolean
  readonly icons: boolean
  /** The code of a missing resource (P-14). */
  readonly resourceNotFound: number
}

const march2025: Revision = {
  era: 'legacy',
  batches: true,
  priming: false,
  elicitation: 'none',
  structured: 'none',
  argumentErrorsAsResults: false,
  titles: false,
  icons: false,
  resourceNotFound: -32002,
}
const june2025: Revision = { ...march2025, batches: false, elicitation: 'form', structured: 'object', titles: true }
const november2025: Revision = {
  ...june2025,
  priming: true,
  elicitation: 'form+url',
  argumentErrorsAsResults: true,
  icons: true,
}
const july2026: Revision = {
  ...november2025,
  era: 'modern',
  priming: false,
  structured: 'any',
  resourceNotFound: -32602,
}

export const REVISIONS: Readonly<Record<ProtocolVersion, Revision>> = {
  '2025-03-26': march2025,
  '2025-06-18': june2025,
  '2025-11-25': november2025,
  '2026-07-28': july2026,
}

export function isVersion(value: unknown): value is ProtocolVersion {
  return typeof value === 'string' && Object.hasOwn(REVISIONS, value)
}

/** Header names, in the lower case in which they are looked up. */
export const HEADER = {
  version: 'mcp-protocol-version',
  session: 'mcp-session-id',
  method: 'mcp-method',
  name: 'mcp-name',
  paramPrefix: 'mcp-param-',
  lastEventId: 'last-event-id',
} as const

/** Keys of `_meta` that the spec reserves. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The extension of SEP-2663. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** A server's own description, as far as a revision knows its fields (P-22). */
export function infoFor<T extends { name: string; version: string; title?: string }>(
  info: T,
  version: ProtocolVersion,
): Partial<T> {
  const { icons, titles } = REVISIONS[version]
  if (icons) return info
  const { name, version: own, title } = info
  return { name, version: own, ...(titles && title !== undefined ? { title } : {}) } as Partial<T>
}
