// Resources: fixed ones and templates, listed and read.
import { CODE, McpError } from '../errors.ts'
import { isObject } from '../jsonrpc.ts'
import { type ProtocolVersion, REVISIONS } from '../protocol.ts'
import type { Context, Result } from '../server.ts'
import { checkAnnotations, checkCache, checkIcons, checkMeta, checkUri } from './checks.ts'
import type { Cache, Complete, ResourceConfig, ResourceReturn } from './config.ts'
import { toBase64 } from './content.ts'
import { climbs, isTemplate, type UriTemplate, uriTemplate } from './uri-template.ts'

type Read = (variables: never, ctx: never) => unknown
type Config = ResourceConfig<Record<string, unknown>>

export class Resource {
  /** The URI, or the text of the template. */
  readonly uri: string
  readonly config: Config
  readonly template: UriTemplate | undefined
  readonly #read: Read

  constructor(uri: string, config: Config, read: Read) {
    const where = `resource ${uri}`
    this.template = isTemplate(uri) ? uriTemplate(uri) : undefined
    if (!this.template) checkUri(uri)
    if (!this.template && config.list) throw new TypeError(`${where}: option list is for templates`)
    for (const name of Object.keys(config.complete ?? {})) {
      if (!this.template?.names.includes(name)) throw new TypeError(`${where}: option complete: no variable ${name}`)
    }
    checkIcons(where, config.icons)
    checkMeta(where, config._meta)
    checkAnnotations(where, config.annotations)
    checkCache(where, config.cache)
    this.uri = uri
    this.config = config
    this.#read = read
  }

  get complete(): Readonly<Record<string, Complete | undefined>> {
    return this.config.complete ?? {}
  }

  /** What the listings show of it. */
  listed(version: ProtocolVersion): { [key: string]: unknown } {
    const { titles, icons } = REVISIONS[version]
    const { name = this.uri, title, description, mimeType, size, annotations, icons: own, _meta } = this.config
    return {
      [this.template ? 'uriTemplate' : 'uri']: this.uri,
      name,
      ...(titles && title !== undefined ? { title } : {}),
      ...(description === undefined ? {} : { description }),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(size === undefined || this.template ? {} : { size }),
      ...(annotations ? { annotations } : {}),
      ...(icons && own ? { icons: own } : {}),
      ...(titles && _meta ? { _meta } : {}),
    }
  }

  /** The variables of a URI that this resource answers for. */
  match(uri: string): Record<string, string> | undefined {
    if (!this.template) return uri === this.uri ? {} : undefined
    const variables = this.template.match(uri)
    return variables && !climbs(Object.values(variables)) ? variables : undefined
  }

  async read(uri: string, variables: Record<string, string>, ctx: Context): Promise<Result> {
    const value = (await this.#read(variables as never, Object.assign(ctx, { uri }) as never)) as ResourceReturn
    return { contents: contentsOf(uri, value, this.config) }
  }
}

/** What the session or request may keep of a result, on 2026-07-28. */
export function cacheFields({ ttlMs, scope }: Cache): { ttlMs: number; cacheScope: string } {
  return { ttlMs, cacheScope: scope }
}

function contentsOf(uri: string, value: ResourceReturn, { mimeType, _meta }: Config): unknown[] {
  const about = { uri, ...(mimeType === undefined ? {} : { mimeType }), ...(_meta ? { _meta } : {}) }
  if (typeof value === 'string') return [{ ...about, text: value }]
  if (value instanceof Uint8Array) return [{ ...about, blob: toBase64(value) }]
  if (
    Array.isArray(value) &&
    value.every(
      (one) =>
        isObject(one) && typeof one.uri === 'string' && (typeof one.text === 'string' || typeof one.blob === 'string'),
    )
  ) {
    return value
  }
  throw new TypeError(`resource ${uri}: read must return text, bytes, or contents`)
}

/** The URI of a `resources/read`, checked (L-27). */
export function uriOf(params: unknown): string {
  const uri = isObject(params) ? params.uri : undefined
  if (typeof uri !== 'string') throw new McpError(CODE.invalidParams, 'params.uri must be a string')
  return uri
}

export function noResource(uri: string, version: ProtocolVersion): McpError {
  return new McpError(REVISIONS[version].resourceNotFound, 'no such resource', { uri })
}
