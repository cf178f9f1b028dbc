// McpServer: tools, prompts and resources, written once for every era.
import { CODE, McpError } from '../errors.ts'
import { type ProtocolVersion, REVISIONS, TASKS_EXTENSION } from '../protocol.ts'
import type { Awaitable, Context, Description, ListKind, Result, Route, Server, ServerInfo } from '../server.ts'
import { checkOptions, isObject, SERVER } from './checks.ts'
import { type Completable, complete } from './completion.ts'
import type {
  Cache,
  McpServerOptions,
  Middleware,
  Out,
  PromptConfig,
  PromptReturn,
  Registration,
  ResourceConfig,
  ResourceReturn,
  Schema,
  ToolConfig,
  ToolReturn,
  Variables,
} from './config.ts'
import { fingerprint } from './fingerprint.ts'
import { Listing, type ListingKey, Listings } from './listing.ts'
import { Prompt, type PromptHandler } from './prompts.ts'
import { Registry } from './registry.ts'
import { noResource, Resource, type ResourceRead, UNCACHED, uriOf } from './resources.ts'
import { Tool, type ToolHandler } from './tools.ts'
import { isTemplate } from './uri-template.ts'

const PAGE_SIZE = 1000
const NO_ROUTE: Route = Object.freeze({})

type Call<C> = Parameters<Middleware<C>>[0]
type Item = { [key: string]: unknown }
type Listed = { listed(version: ProtocolVersion): Awaitable<Item> }

/**
 * Tools, prompts and resources, written once for every era. `C` is what the transport's `context` option returns.
 *
 * @example
 * const server = new McpServer({ name: 'hello', version: '1.0.0' })
 * server.tool('greet', { inputSchema: v.object({ name: v.string() }) }, ({ name }) => `Hello, ${name}!`)
 */
export class McpServer<C = unknown> implements Server<C> {
  readonly info: ServerInfo
  readonly #options: Omit<McpServerOptions, keyof ServerInfo>
  readonly #tools: Registry<Tool> = this.#registry('tools', 'tool')
  readonly #prompts: Registry<Prompt> = this.#registry('prompts', 'prompt')
  readonly #resources: Registry<Resource> = this.#registry('resources', 'resource')
  readonly #templates: Registry<Resource> = this.#registry('resources', 'resource')
  readonly #listings: Record<ListingKey, Listings> = {
    tools: new Listings(),
    prompts: new Listings(),
    resources: new Listings(),
    resourceTemplates: new Listings(),
  }
  readonly #listeners = new Set<(kind: ListKind) => void>()
  readonly #middleware: Middleware<C>[] = []
  #run: ((call: Call<C>) => Awaitable<Result>) | undefined
  /** What is declared stays declared, with an empty list if need be (L-02). */
  readonly #declared: Set<ListKind>
  #completes = false
  #hasTasks = false
  /** Until something changes. */
  readonly #descriptions = new Map<ProtocolVersion, Description>()
  readonly #fingerprints: Partial<Record<ListKind, string>> = {}

  /** Throws a TypeError that names an option that is not legal. */
  constructor(options: McpServerOptions) {
    checkOptions('McpServer', SERVER, options)
    const { name, version, title, websiteUrl, description, icons, ...rest } = options
    const info = { name, version, title, websiteUrl, description, icons }
    this.info = Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined)) as typeof info
    this.#options = rest
    this.#declared = new Set(rest.declare)
  }

  #registry<T>(kind: ListKind, what: string): Registry<T> {
    return new Registry(what, () => this.#changed(kind))
  }

  /** A tool for the model to call. Throws where its name, a schema or an option is not legal. */
  tool<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>(
    name: string,
    config: ToolConfig<I, O>,
    handler: (args: Out<I>, ctx: Context<C>) => Awaitable<ToolReturn<O>>,
  ): Registration {
    const { validator, onWarning = (text) => console.warn(text) } = this.#options
    return this.#tools.add(name, () => {
      const options = { validator, onWarning }
      const tool = new Tool(name, config as ToolConfig<Schema, Schema>, handler as ToolHandler, options)
      this.#hasTasks ||= tool.route.task !== undefined
      return tool
    })
  }

  /** A resource by its URI, or many by a template (RFC 6570, levels 1 to 3). Throws where one or an option is not legal. */
  resource<U extends string>(
    uriOrTemplate: U,
    config: ResourceConfig<Variables<U>>,
    read: (variables: Variables<U>, ctx: Context<C> & { uri: string }) => Awaitable<ResourceReturn>,
  ): Registration {
    const registry = isTemplate(uriOrTemplate) ? this.#templates : this.#resources
    return registry.add(uriOrTemplate, () => {
      const own = config as ResourceConfig<Record<string, string>>
      const resource = new Resource(uriOrTemplate, own, read as ResourceRead)
      this.#completes ||= config.complete !== undefined
      return resource
    })
  }

  /** A prompt for the user to pick. Throws where its name, schema or an option is not legal. */
  prompt<A extends Schema | undefined = undefined>(
    name: string,
    config: PromptConfig<A>,
    handler: (args: Out<A>, ctx: Context<C>) => Awaitable<PromptReturn>,
  ): Registration {
    return this.#prompts.add(name, () => {
      const { validator } = this.#options
      const prompt = new Prompt(name, config as PromptConfig<Schema>, handler as PromptHandler, validator)
      this.#completes ||= config.complete !== undefined
      return prompt
    })
  }

  /** Runs around every method of this server, the one that was given first outermost. */
  use(middleware: Middleware<C>): void {
    if (typeof middleware !== 'function') throw new TypeError('McpServer: use takes a function')
    this.#middleware.push(middleware)
    this.#run = this.#middleware.reduceRight<(call: Call<C>) => Awaitable<Result>>(
      (inner, outer) => (call) => outer(call, async () => inner(call)),
      ({ method, params, ctx }) => this.#answer(method, params, ctx),
    )
  }

  describe(version: ProtocolVersion): Description {
    const known = this.#descriptions.get(version)
    if (known) return known
    const { instructions } = this.#options
    const made = Object.freeze({
      capabilities: Object.freeze(this.#capabilities(version)),
      ...(instructions === undefined ? {} : { instructions }),
      fingerprints: Object.freeze({
        tools: this.#fingerprint('tools', this.#tools.items),
        prompts: this.#fingerprint('prompts', this.#prompts.items),
        resources: this.#fingerprint('resources', [...this.#resources.items, ...this.#templates.items]),
      }),
    })
    this.#descriptions.set(version, made)
    return made
  }

  #capabilities(version: ProtocolVersion): Record<string, unknown> {
    const { logging = true, extensions } = this.#options
    const all = { ...extensions, ...(this.#hasTasks ? { [TASKS_EXTENSION]: {} } : {}) }
    const hasExtensions = REVISIONS[version].era === 'modern' && Object.keys(all).length > 0
    return {
      ...(this.#declared.has('tools') ? { tools: { listChanged: true } } : {}),
      ...(this.#declared.has('prompts') ? { prompts: { listChanged: true } } : {}),
      ...(this.#declared.has('resources') ? { resources: { subscribe: true, listChanged: true } } : {}),
      ...(this.#completes ? { completions: {} } : {}),
      ...(logging ? { logging: {} } : {}),
      ...(hasExtensions ? { extensions: all } : {}),
    }
  }

  /** The same in every revision. */
  #fingerprint(kind: ListKind, items: readonly { readonly fingerprint: string }[]): string {
    this.#fingerprints[kind] ??= fingerprint(items.map((item) => item.fingerprint))
    return this.#fingerprints[kind]
  }

  route(method: string, params: unknown): Route | undefined {
    switch (method) {
      case 'tools/call':
        return this.#declared.has('tools') ? (this.#tools.get(nameOf(params))?.route ?? NO_ROUTE) : undefined
      case 'tools/list':
        return this.#routeOf('tools')
      case 'prompts/get':
      case 'prompts/list':
        return this.#routeOf('prompts')
      case 'resources/read':
      case 'resources/list':
      case 'resources/templates/list':
        return this.#routeOf('resources')
      case 'completion/complete':
        return this.#completes ? NO_ROUTE : undefined
      default:
        return undefined
    }
  }

  /** A method of a kind that is not declared is none (G-14). */
  #routeOf(kind: ListKind): Route | undefined {
    return this.#declared.has(kind) ? NO_ROUTE : undefined
  }

  call(method: string, params: unknown, ctx: Context<C>): Awaitable<Result> {
    return this.#run ? this.#run({ method, params, ctx }) : this.#answer(method, params, ctx)
  }

  onChange(listener: (kind: ListKind) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #answer(method: string, params: unknown, ctx: Context): Awaitable<Result> {
    switch (method) {
      case 'tools/call':
        return found('tool', params, this.#tools).call(argumentsOf(params), ctx)
      case 'tools/list':
        return this.#list('tools', this.#tools.items, params, ctx)
      case 'prompts/list':
        return this.#list('prompts', this.#prompts.items, params, ctx)
      case 'prompts/get':
        return found('prompt', params, this.#prompts).get(argumentsOf(params), ctx)
      case 'resources/list':
        return this.#listResources(params, ctx)
      case 'resources/templates/list':
        return this.#list('resourceTemplates', this.#templates.items, params, ctx)
      case 'resources/read':
        return this.#read(uriOf(params), ctx)
      case 'completion/complete':
        return complete(params, ctx, (ref) => this.#completable(ref))
      default:
        throw new McpError(CODE.methodNotFound, 'there is no such method')
    }
  }

  /** A page of a listing that is made once in each revision. */
  #list(key: ListingKey, items: readonly Listed[], params: unknown, { protocolVersion }: Context): Awaitable<Result> {
    const kept = this.#listings[key]
    const listing = kept.get(protocolVersion) ?? kept.keep(protocolVersion, this.#make(key, items, protocolVersion))
    return listing instanceof Promise ? listing.then((it) => it.page(params)) : listing.page(params)
  }

  #make(key: ListingKey, items: readonly Listed[], version: ProtocolVersion): Awaitable<Listing> {
    const listed = items.map((item) => item.listed(version))
    return listed.some((item) => item instanceof Promise)
      ? Promise.all(listed).then((made) => this.#listing(key, made, version))
      : this.#listing(key, listed as Item[], version)
  }

  #listing(key: ListingKey, items: readonly Item[], version: ProtocolVersion, cache?: Cache): Listing {
    const { pageSize = PAGE_SIZE, cache: own = UNCACHED } = this.#options
    return new Listing(key, items, pageSize, cacheFields(cache ?? own, version))
  }

  /** Fixed ones first, then what the templates list; that can differ from caller to caller, so it is asked each time. */
  #listResources(params: unknown, ctx: Context): Awaitable<Result> {
    const templates = this.#templates.items.filter(({ listsItself }) => listsItself)
    return templates.length === 0
      ? this.#list('resources', this.#resources.items, params, ctx)
      : this.#listTemplates(templates, params, ctx)
  }

  async #listTemplates(templates: readonly Resource[], params: unknown, ctx: Context): Promise<Result> {
    const { protocolVersion } = ctx
    const listed = new Map(this.#resources.items.map((fixed) => [fixed.uri, fixed.listed(protocolVersion)]))
    const caches = [this.#options.cache ?? UNCACHED]
    for (const template of templates) {
      caches.push(template.cache)
      for (const one of await template.list(ctx)) {
        const uri = one.uri as string
        if (!listed.has(uri)) listed.set(uri, one)
      }
    }
    return this.#listing('resources', [...listed.values()], protocolVersion, weakest(caches)).page(params)
  }

  async #read(uri: string, ctx: Context): Promise<Result> {
    const { protocolVersion } = ctx
    const fixed = this.#resources.get(uri)
    const [resource, variables] = fixed ? [fixed, {}] : this.#match(uri)
    if (!resource) throw noResource(uri, protocolVersion)
    return { ...(await resource.read(uri, variables, ctx)), ...cacheFields(resource.cache, protocolVersion) }
  }

  /** The first template that makes this URI. */
  #match(uri: string): [Resource, Record<string, string>] | [undefined, Record<string, string>] {
    for (const resource of this.#templates.items) {
      const variables = resource.match(uri)
      if (variables) return [resource, variables]
    }
    return [undefined, {}]
  }

  #completable({ type, name, uri }: { [key: string]: unknown }): Completable | undefined {
    if (type === 'ref/prompt' && typeof name === 'string') return this.#prompts.get(name)
    if (type === 'ref/resource' && typeof uri === 'string') return this.#templates.get(uri) ?? this.#resources.get(uri)
    return undefined
  }

  #changed(kind: ListKind): void {
    this.#declared.add(kind)
    this.#descriptions.clear()
    this.#listings[kind].clear()
    if (kind === 'resources') this.#listings.resourceTemplates.clear()
    delete this.#fingerprints[kind]
    for (const listener of this.#listeners) listener(kind)
  }
}

function nameOf(params: unknown): string {
  const name = isObject(params) ? params.name : undefined
  return typeof name === 'string' ? name : ''
}

function argumentsOf(params: unknown): unknown {
  return (params as { arguments?: unknown }).arguments
}

/** An unknown one is not an unknown method (L-14, L-29). */
function found<T>(what: string, params: unknown, registry: Registry<T>): T {
  const { name } = isObject(params) ? params : {}
  if (typeof name !== 'string') throw new McpError(CODE.invalidParams, 'params.name must be a text')
  const item = registry.get(name)
  if (!item) throw new McpError(CODE.invalidParams, `there is no ${what} ${JSON.stringify(name)}`)
  return item
}

/** Only 2026-07-28 knows of caching (H-03, Q-46). */
function cacheFields({ ttlMs, scope }: Cache, version: ProtocolVersion): { [key: string]: unknown } {
  return REVISIONS[version].era === 'modern' ? { ttlMs, cacheScope: scope } : {}
}

/** What is put together may be kept as long, and as widely, as every part of it (H-07). */
function weakest(caches: readonly Cache[]): Cache {
  return {
    ttlMs: Math.min(...caches.map(({ ttlMs }) => ttlMs)),
    scope: caches.every(({ scope }) => scope === 'public') ? 'public' : 'private',
  }
}
