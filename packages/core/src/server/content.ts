// Content of tools, prompts and resources: checked, and as a revision knows it.
import type { Revision } from '../protocol.ts'
import type { Content } from '../server.ts'
import { isBase64, toBase64 } from './base64.ts'
import { isAnnotations, isIcons, isMimeType, isObject, isUri } from './checks.ts'
import type { ContentInput, LinkInput, ResourceContents } from './config.ts'

/** Throws where it is no content (L-22); leaves out what the revision does not know (L-21, P-22). */
export function contentFor(block: ContentInput, revision: Revision): Content {
  if (!isObject(block)) throw new TypeError('a content block must be an object')
  const { type, annotations, _meta } = block
  if (annotations !== undefined && !isAnnotations(annotations)) throw invalid(type, 'annotations')
  const isOld = !revision.titles && (_meta !== undefined || annotations !== undefined)
  const known = isOld ? withoutNews(block) : block
  switch (known.type) {
    case 'text':
      if (typeof known.text !== 'string') throw invalid(type, 'text')
      return known
    case 'image':
    case 'audio': {
      if (!isMimeType(known.mimeType)) throw invalid(type, 'mimeType')
      const data = base64(known.data)
      if (data === undefined) throw invalid(type, 'data')
      return data === known.data ? (known as Content) : { ...known, data }
    }
    case 'resource':
      return { ...known, resource: contentsFor(known.resource, embeddedType(known.resource), revision) } as Content
    case 'resource_link':
      return linkFor(known, revision)
    default:
      throw new TypeError(`there is no content of type ${String(type)}`)
  }
}

/** One of the contents of a resource. `mimeType`: where it says none itself. */
export function contentsFor(
  contents: ResourceContents,
  mimeType: string | undefined,
  { titles }: Revision,
): { uri: string; mimeType?: string; text?: string; blob?: string } {
  if (!isObject(contents)) throw new TypeError('the contents of a resource must be an object')
  const { uri, mimeType: own = mimeType, text, blob, _meta } = contents
  if (!isUri(uri)) throw invalid('resource', 'uri')
  if (own !== undefined && !isMimeType(own)) throw invalid('resource', 'mimeType')
  const about = { uri, ...(own === undefined ? {} : { mimeType: own }), ...(titles && _meta ? { _meta } : {}) }
  if (typeof text === 'string') return { ...about, text }
  const data = base64(blob)
  if (data === undefined) throw invalid('resource', 'text or blob')
  return { ...about, blob: data }
}

/** An embedded resource says its type, whether the handler did or not (L-22). */
function embeddedType(contents: ResourceContents | undefined): string {
  return typeof contents?.text === 'string' ? 'text/plain' : BYTES
}

/** Of bytes of which nothing is known. */
export const BYTES = 'application/octet-stream'

function linkFor(link: LinkInput, { titles, icons }: Revision): Content {
  const { uri, name, description, title, icons: own, ...rest } = link
  if (!isUri(uri)) throw invalid('resource_link', 'uri')
  if (typeof name !== 'string') throw invalid('resource_link', 'name')
  if (rest.mimeType !== undefined && !isMimeType(rest.mimeType)) throw invalid('resource_link', 'mimeType')
  if (!isIcons(own)) throw invalid('resource_link', 'icons')
  if (!titles) {
    const shown = `${title ?? name}: ${uri}`
    return { ...(rest.annotations ? { annotations: rest.annotations } : {}), type: 'text', text: shown } as Content
  }
  if (own === undefined || icons) return link as Content
  const { icons: _, ...known } = link
  return known as Content
}

/** For a revision that has no `_meta` here, and no `lastModified`. */
function withoutNews(block: ContentInput): ContentInput {
  const { _meta, annotations, ...rest } = block
  const known = annotationsFor(annotations, false)
  return (known ? { ...rest, annotations: known } : rest) as ContentInput
}

export function annotationsFor<T extends { lastModified?: unknown }>(
  annotations: T | undefined,
  titles: boolean,
): Omit<T, 'lastModified'> | undefined {
  if (titles || annotations === undefined) return annotations
  const { lastModified, ...known } = annotations
  return Object.keys(known).length > 0 ? known : undefined
}

/** undefined: neither bytes nor base64. */
function base64(data: unknown): string | undefined {
  if (data instanceof Uint8Array) return toBase64(data)
  return typeof data === 'string' && isBase64(data) ? data : undefined
}

function invalid(type: unknown, field: string): TypeError {
  return new TypeError(`content of type ${String(type)} has no valid ${field}`)
}
