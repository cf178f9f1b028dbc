// Resources: fixed ones and templates, as they are listed and read.
import { CODE, McpError } from '../errors.ts'
import { type ProtocolVersion, REVISIONS, type Revision } from '../protocol.ts'
import type { Awaitable, Context, Result } from '../server.ts'
import { checkOptions, isObject, isUri, RESOURCE, TEMPLATE } from './checks.ts'
import type { Completable, Completes } from './completion.ts'
import type { Cache, ListedResource, ResourceConfig, ResourceContents, ResourceReturn } from './config.ts'
import { annotationsFor, BYTES, contentsFor } from './content.ts'
import { fingerprint } from './fingerprint.ts'
import { climbs, isTemplate, type UriTemplate, uriTemplate } from './uri-template.ts'

export type ResourceRead = (variables: never, ctx: never) => Awaitable<ResourceReturn>
type Config = ResourceConfig<Record<string, string>>

/** What may be kept of a result, unless something says otherwise: nothing (H-07). */
export const UNCACHED: Cache = { ttlMs: 0, scope: 'private' }

export class Resource implements Completable {
  /** The URI, or the text of the template. */
  readonly uri: string
  readonly #config: Config
  readonly #template: UriTemplate | undefined
  readonly #read: ResourceRead
  #fingerprint: string | undefined

  constructor(uri: string, config: Config, read: ResourceRead) {
    if (typeof uri !== 'string') throw new TypeError('a resource must have a URI')
    const where = `resource ${uri}`
    this.#template = isTemplate(uri) ? uriTemplate(uri) : undefined
    if (!this.#template && !isUri(uri)) throw new TypeError(`resource ${JSON.stringify(uri)}: not a URI`)
    checkOptions(where, this.#template ? TEMPLATE : RESOURCE, config)
    if (typeof read !== 'function') throw new TypeError(`${where}: read must be a function`)
    for (const name of Object.keys(config.complete ?? {})) {
      if (this.#template?.names.includes(name)) continue
      throw new TypeError(`${where}: option complete.${name}: there is no such variable`)
    }
    this.uri = uri
    this.#config = config
    this.#read = read
  }

  get fingerprint(): string {
    const { list, complete, ...shown } = this.#config
    this.#fingerprint ??= fingerprint([this.uri, shown])
    return this.#fingerprint
  }

  get completes(): Completes {
    return this.#config.complete ?? {}
  }

  names(): readonly string[] {
    return this.#template?.names ?? []
  }

  get cache(): Cache {
    return this.#config.cache ?? UNCACHED
  }

  get listsItself(): boolean {
    return this.#config.list !== undefined
  }

  /** What the listings show of it. */
  listed(version: ProtocolVersion): { [key: string]: unknown } {
    const { name = this.uri, size } = this.#config
    return {
      [this.#template ? 'uriTemplate' : 'uri']: this.uri,
      name,
      ...about(this.#config, REVISIONS[version]),
      ...(size === undefined ? {} : { size }),
    }
  }

  /** What `resources/list` shows of a template. */
  async list(ctx: Context): Promise<{ [key: string]: unknown }[]> {
    const { list, mimeType } = this.#config
    const found = (await list?.(ctx)) ?? []
    return found.map((one) => {
      if (!isUri(one.uri) || typeof one.name !== 'string') {
        throw new TypeError(`resource ${this.uri}: list must return resources with a uri and a name`)
      }
      const { uri, name, size } = one
      const more = about({ ...one, mimeType: one.mimeType ?? mimeType }, REVISIONS[ctx.protocolVersion])
      return { uri, name, ...more, ...(size === undefined ? {} : { size }) }
    })
  }

  /** The variables of a URI that this template answers for (L-27). */
  match(uri: string): Record<string, string> | undefined {
    const variables = this.#template?.match(uri)
    return variables && !climbs([uri, ...Object.values(variables)]) ? variables : undefined
  }

  async read(uri: string, variables: Record<string, string>, ctx: Context): Promise<Result> {
    // The transport's own ctx: one that is derived from it would lose its private parts.
    const returned = await this.#read(variables as never, Object.assign(ctx, { uri }) as never)
    const contents = toContents(uri, returned)
    if (contents.length === 0) throw noResource(uri, ctx.protocolVersion) // L-26
    const revision = REVISIONS[ctx.protocolVersion]
    return { contents: contents.map((one) => contentsFor(one, this.#typeOf(one, uri), revision)) }
  }

  /** Of contents that say none themselves: what was declared is of this resource, not of others that come along. */
  #typeOf(contents: ResourceContents, uri: string): string | undefined {
    const declared = contents?.uri === uri ? this.#config.mimeType : undefined
    return declared ?? (contents?.text === undefined ? BYTES : undefined)
  }
}

function toContents(uri: string, returned: ResourceReturn): readonly ResourceContents[] {
  if (returned === undefined) return []
  if (typeof returned === 'string') return [{ uri, text: returned }]
  if (returned instanceof Uint8Array) return [{ uri, blob: returned }]
  if (Array.isArray(returned)) return returned
  throw new TypeError(`resource ${uri}: read must return text, bytes, contents or undefined`)
}

/** The members that all listed resources have in common, as far as the revision knows them (P-22). */
function about(
  { title, description, mimeType, annotations, icons: own, _meta }: Partial<ListedResource>,
  { titles, icons }: Revision,
): { [key: string]: unknown } {
  const known = annotationsFor(annotations, titles)
  return {
    ...(titles && title !== undefined ? { title } : {}),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(known ? { annotations: known } : {}),
    ...(icons && own ? { icons: own } : {}),
    ...(titles && _meta ? { _meta } : {}),
  }
}

export function uriOf(params: unknown): string {
  const uri = isObject(params) ? params.uri : undefined
  if (!isUri(uri)) throw new McpError(CODE.invalidParams, 'params.uri must be a URI')
  return uri
}

export function noResource(uri: string, version: ProtocolVersion): McpError {
  return new McpError(REVISIONS[version].resourceNotFound, 'there is no such resource', { uri })
}
