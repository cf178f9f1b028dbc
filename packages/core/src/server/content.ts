// Results of tools: from what a handler returns to what a revision knows.
import { isObject } from '../jsonrpc.ts'
import { type ProtocolVersion, REVISIONS } from '../protocol.ts'
import type { Content, ToolResult } from '../server.ts'

/** What a handler without an outputSchema has returned, as a whole result. */
export function toToolResult(value: unknown): ToolResult {
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] }
  if (value === undefined) return { content: [] }
  if (Array.isArray(value)) return { content: value as Content[] }
  if (isObject(value)) {
    if (Array.isArray(value.content)) return value as unknown as ToolResult
    if (typeof value.type === 'string') return { content: [value as unknown as Content] }
  }
  throw new TypeError('a tool must return text, content or a result with content')
}

/** A structured value also goes out as text, for clients that know no other (L-10). */
export function withText(value: unknown, { content, ...result }: Partial<ToolResult>): ToolResult {
  const texts: Content[] = content?.length ? content : [{ type: 'text', text: JSON.stringify(value) ?? 'null' }]
  return { ...result, content: texts, structuredContent: value }
}

export function errorResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Leaves out what the revision does not know: content kinds (L-21), structured content that it can't take (L-11). */
export function forRevision(result: ToolResult, version: ProtocolVersion): ToolResult {
  const { structured, titles } = REVISIONS[version]
  let shaped = result
  if (
    'structuredContent' in result &&
    structured !== 'any' &&
    !(structured === 'object' && isObject(result.structuredContent))
  ) {
    const { structuredContent: _, ...rest } = result
    shaped = rest
  }
  if (!titles && shaped.content.some(({ type }) => type === 'resource_link')) {
    shaped = { ...shaped, content: shaped.content.map(plainLink) }
  }
  for (const block of shaped.content) checkContent(block)
  return shaped
}

/** Of a prompt's or a tool's content, for a revision that has no links. */
export function plainLink(block: Content): Content {
  return block.type === 'resource_link' ? { type: 'text', text: `${block.name}: ${block.uri}` } : block
}

const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+/

/** L-22: what is no content never goes out. */
export function checkContent(block: Content): void {
  switch (block?.type) {
    case 'text':
      if (typeof block.text === 'string') return
      break
    case 'image':
    case 'audio':
      if (typeof block.data === 'string' && MIME_TYPE.test(block.mimeType)) return
      break
    case 'resource_link':
      if (typeof block.uri === 'string' && typeof block.name === 'string') return
      break
    case 'resource': {
      const { resource } = block
      if (typeof resource?.uri === 'string' && (typeof resource.text === 'string' || typeof resource.blob === 'string'))
        return
      break
    }
    default:
      // A kind of a later revision or of a later part of one (tool_use and the like) is the handler's own doing.
      if (typeof (block as { type?: unknown })?.type === 'string') return
  }
  throw new TypeError(`this is no valid content block: ${String((block as { type?: unknown } | null)?.type)}`)
}

export function toBase64(bytes: Uint8Array): string {
  const native = (bytes as Uint8Array & { toBase64?(): string }).toBase64
  if (native) return native.call(bytes)
  const CHUNK = 0x8000
  let binary = ''
  for (let i = 0; i < bytes.length; i += CHUNK) binary += String.fromCharCode(...bytes.subarray(i, i + CHUNK))
  return btoa(binary)
}
