// The result of a tool: from what a handler returns to what a revision knows.
import type { Revision } from '../protocol.ts'
import type { Content, Result } from '../server.ts'
import { isObject } from './checks.ts'
import type { ContentInput, ToolResultInput } from './config.ts'
import { contentFor } from './content.ts'

/** What a handler without an outputSchema has returned. */
export function toToolResult(value: unknown, revision: Revision): Result {
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] }
  if (value === undefined) return { content: [] }
  if (Array.isArray(value)) return { content: contents(value, revision) }
  if (isWhole(value)) return shaped(value, revision)
  if (isObject(value)) return { content: [contentFor(value as unknown as ContentInput, revision)] }
  throw new TypeError('a tool must return text, content or a result with content')
}

/** A result that has `structuredContent` or is an error is whole; anything else is the structured value itself. */
export function isWholeStructured(value: unknown): value is ToolResultInput {
  return isWhole(value) && ('structuredContent' in value || value.isError === true)
}

/** A structured value also goes out as text, for clients that know no other (L-10). */
export function toStructuredResult(
  structured: unknown,
  { content, _meta }: Partial<ToolResultInput>,
  revision: Revision,
): Result {
  return shaped({ content: content ?? [], structuredContent: structured, ...(_meta ? { _meta } : {}) }, revision)
}

export function errorResult(text: string): Result {
  return { content: [{ type: 'text', text }], isError: true }
}

function isWhole(value: unknown): value is ToolResultInput {
  return isObject(value) && (Array.isArray(value.content) || ('structuredContent' in value && !('type' in value)))
}

/** The fields that a result has, as far as the revision knows them (L-11, L-12, L-13, Q-29). */
export function shaped(result: ToolResultInput, revision: Revision): Result {
  const { content: given = [], structuredContent, isError, _meta } = result
  const content = contents(given, revision)
  const made: { [key: string]: unknown } = { content }
  // null is a value, so what counts is whether it is there.
  if ('structuredContent' in result) {
    if (content.length === 0) content.push({ type: 'text', text: JSON.stringify(structuredContent) ?? 'null' })
    const { structured } = revision
    if (structured === 'any' || (structured === 'object' && isObject(structuredContent))) {
      made.structuredContent = structuredContent
    }
  }
  if (isError !== undefined) made.isError = isError
  if (_meta !== undefined) made._meta = _meta
  return made
}

function contents(given: readonly ContentInput[], revision: Revision): Content[] {
  return given.map((block) => contentFor(block, revision))
}
