// McpServer: tools, prompts and resources, written once for every era.
import { CODE, McpError } from '../errors.ts'
import { isObject } from '../jsonrpc.ts'
import { type ProtocolVersion, REVISIONS, TASKS_EXTENSION } from '../protocol.ts'
import type { Awaitable, Context, Description, ListKind, Result, Route, Server, ServerInfo } from '../server.ts'
import { checkCache, checkCount, checkIcons } from './checks.ts'
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
  Validator,
  Variables,
} from './config.ts'
import { fingerprint, page } from './listing.ts'
import { Prompt } from './prompts.ts'
import { cacheFields, noResource, Resource, uriOf } from './resources.ts'
import { type Handler, Tool } from './tools.ts'

const PRIVATE: Cache = { ttlMs: 0, scope: 'private' }
const NO_ROUTE: Route = Object.freeze({})

/** Registered things of one kind, in the order of their registration; those that are disabled are hidden. */
class Registry<T> {
  readonly #kind: ListKind
  readonly #all = new Map<string, { item: T; enabled: boolean }>()
  readonly #changed: (kind: ListKind) => void
  #enabled: T[] | undefined
  /** Once something was registered the capability stays declared, with an empty list if need be (L-02). */
  used = false

  constructor(kind: ListKind, changed: (kind: ListKind) => void) {
    this.#kind = kind
    this.#changed = changed
  }

  add(name: string, item: T): Registration {
    if (this.#all.has(name)) throw new TypeError(`${this.#kind}: ${JSON.stringify(name)} is registered already`)
    const entry = { item, enabled: true }
    this.#all.set(name, entry)
    this.used = true
    this.#touch()
    const set = (enabled: boolean) => {
      if (this.#all.get(name) !== entry || entry.enabled === enabled) return
      entry.enabled = enabled
      this.#touch()
    }
    return {
      enable: () => set(true),
      disable: () => set(false),
      remove: () => {
        if (this.#all.get(name) !== entry) return
        this.#all.delete(name)
        this.#touch()
      },
    }
  }

  get(name: string): T | undefined {
    const entry = this.#all.get(name)
    return entry?.enabled ? entry.item : undefined
  }

  get items(): readonly T[] {
    this.#enabled ??= [...this.#all.values()].filter(({ enabled }) => enabled).map(({ item }) => item)
    return this.#enabled
  }

  #touch(): void {
    this.#enabled = undefined
    this.#changed(this.#kind)
  }
}

/**
 * Tools, prompts and resources, written once for every era. `C` is what the transport's `context` option returns.
 *
 * @example
 * const server = new McpServer({ name: 'hello', version: '1.0.0' })
 * server.tool('greet', { inputSchema: v.object({ name: v.string() }) }, ({ name }) => `Hello, ${name}!`)
 */
export class McpServer<C = unknown> implements Server<C> {
  readonly info: ServerInfo
  readonly #instructions: string | undefined
  readonly #pageSize: number | undefined
  readonly #cache: Cache
  readonly #logging: boolean
  readonly #validator: Validator | undefined
  readonly #tools: Registry<Tool>
  readonly #prompts: Registry<Prompt>
  readonly #resources: Registry<Resource>
  readonly #listeners = new Set<(kind: ListKind) => void>()
  readonly #middleware: Middleware<C>[] = []
  #hasTasks = false
  #completes = false
  /** By revision, until something changes. */
  #descriptions = new Map<ProtocolVersion, Description>()
  #listings = new Map<string, Awaitable<readonly { [key: string]: unknown }[]>>()

  constructor({ instructions, pageSize, cache, logging = true, validator, ...info }: McpServerOptions) {
    if (typeof info.name !== 'string' || info.name === '') throw new TypeError('McpServer: option name must be a text')
    if (typeof info.version !== 'string') throw new TypeError('McpServer: option version must be a text')
    checkCount('McpServer', 'pageSize', pageSize)
    checkCache('McpServer', cache)
    checkIcons('McpServer', info.icons)
    this.info = info
    this.#instructions = instructions
    this.#pageSize = pageSize
    this.#cache = cache ?? PRIVATE
    this.#logging = logging
    this.#validator = validator
    const changed = (kind: ListKind) => this.#changed(kind)
    this.#tools = new Registry('tools', changed)
    this.#prompts = new Registry('prompts', changed)
    this.#resources = new Registry('resources', changed)
  }

  /** A tool for the model to call. Throws where the name, a schema or an option is not legal. */
  tool<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>(
    name: string,
    config: ToolConfig<I, O>,
    handler: (args: Out<I>, ctx: Context<C>) => Awaitable<ToolReturn<O>>,
  ): Registration {
    const tool = new Tool(name, config as ToolConfig<Schema, Schema>, handler as Handler, this.#validator)
    if (tool.route.task) this.#hasTasks = true
    return this.#tools.add(name, tool)
  }

  /** A resource by its URI, or many by a template (RFC 6570, levels 1 to 3). */
  resource<U extends string>(
    uriOrTemplate: U,
    config: ResourceConfig<Variables<U>>,
    read: (variables: Variables<U>, ctx: Context<C> & { uri: string }) => Awaitable<ResourceReturn>,
  ): Registration {
    const resource = new Resource(uriOrTemplate, config as ResourceConfig<Record<string, unknown>>, read as never)
    if (config.complete) this.#completes = true
    return this.#resources.add(uriOrTemplate, resource)
  }

  /** A prompt for the user to pick. */
  prompt<A extends Schema | undefined = undefined>(
    name: string,
    config: PromptConfig<A>,
    handler: (args: Out<A>, ctx: Context<C>) => Awaitable<PromptReturn>,
  ): Registration {
    const prompt = new Prompt(name, config as PromptConfig<Schema>, handler as never, this.#validator)
    if (config.complete) this.#completes = true
    return this.#prompts.add(name, prompt)
  }

  /** Runs around every method, the first one given outermost. */
  use(middleware: Middleware<C>): void {
    this.#middleware.push(middleware)
  }

  describe(version: ProtocolVersion): Description {
    const known = this.#descriptions.get(version)
    if (known) return known
    const isModern = REVISIONS[version].era === 'modern'
    const made: Description = {
      capabilities: {
        ...(this.#tools.used ? { tools: { listChanged: true } } : {}),
        ...(this.#prompts.used ? { prompts: { listChanged: true } } : {}),
        ...(this.#resources.used ? { resources: { subscribe: true, listChanged: true } } : {}),
        ...(this.#completes ? { completions: {} } : {}),
        ...(this.#logging ? { logging: {} } : {}),
        ...(isModern && this.#hasTasks ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
      },
      ...(this.#instructions === undefined ? {} : { instructions: this.#instructions }),
      fingerprints: {
        tools: fingerprint(this.#tools.items.map(({ name, config }) => [name, config])),
        prompts: fingerprint(this.#prompts.items.map(({ name, config }) => [name, config])),
        resources: fingerprint(this.#resources.items.map(({ uri, config }) => [uri, config])),
      },
    }
    this.#descriptions.set(version, made)
    return made
  }

  route(method: string, params: unknown, version: ProtocolVersion): Route | undefined {
    switch (method) {
      case 'tools/call':
        if (!this.#tools.used) return undefined
        return (isObject(params) && typeof params.name === 'string' && this.#tools.get(params.name)?.route) || NO_ROUTE
      case 'tools/list':
        return this.#tools.used ? NO_ROUTE : undefined
      case 'prompts/get':
      case 'prompts/list':
        return this.#prompts.used ? NO_ROUTE : undefined
      case 'resources/read':
      case 'resources/list':
      case 'resources/templates/list':
        return this.#resources.used ? NO_ROUTE : undefined
      case 'completion/complete':
        return this.describe(version).capabilities.completions ? NO_ROUTE : undefined
      default:
        return undefined
    }
  }

  call(method: string, params: unknown, ctx: Context<C>): Awaitable<Result> {
    if (this.#middleware.length === 0) return this.#answer(method, params, ctx)
    const run = async (i: number): Promise<Result> => {
      const middleware = this.#middleware[i]
      return middleware ? middleware({ method, params, ctx }, () => run(i + 1)) : this.#answer(method, params, ctx)
    }
    return run(0)
  }

  onChange(listener: (kind: ListKind) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #answer(method: string, params: unknown, ctx: Context): Awaitable<Result> {
    switch (method) {
      case 'tools/call': {
        const { name, arguments: args } = (params ?? {}) as { name?: unknown; arguments?: unknown }
        if (typeof name !== 'string') throw new McpError(CODE.invalidParams, 'params.name must be a string')
        const tool = this.#tools.get(name)
        if (!tool) throw new McpError(CODE.invalidParams, `no tool ${JSON.stringify(name)}`)
        return tool.call(args, ctx) as unknown as Awaitable<Result>
      }
      case 'tools/list':
        return this.#list('tools', this.#tools.items, 'name', params, ctx)
      case 'prompts/list':
        return this.#list('prompts', this.#prompts.items, 'name', params, ctx)
      case 'prompts/get': {
        const { name, arguments: args } = (params ?? {}) as { name?: unknown; arguments?: unknown }
        const prompt = typeof name === 'string' ? this.#prompts.get(name) : undefined
        if (!prompt) throw new McpError(CODE.invalidParams, `no prompt ${JSON.stringify(name ?? null)}`)
        return prompt.get(args, ctx)
      }
      case 'resources/list':
        return this.#listResources(params, ctx)
      case 'resources/templates/list':
        return this.#list(
          'resourceTemplates',
          this.#resources.items.filter(({ template }) => template),
          'uriTemplate',
          params,
          ctx,
        )
      case 'resources/read':
        return this.#read(uriOf(params), ctx)
      case 'completion/complete':
        return complete(params, ctx, (ref) => this.#completable(ref))
      default:
        throw new McpError(CODE.methodNotFound, 'method not found')
    }
  }

  /** One page of a listing, which is made once for each revision. */
  #list(
    key: string,
    items: readonly { listed(version: ProtocolVersion): Awaitable<{ [key: string]: unknown }> }[],
    id: string,
    params: unknown,
    ctx: Context,
  ): Awaitable<Result> {
    const cacheKey = `${key} ${ctx.protocolVersion}`
    const made = this.#listings.get(cacheKey) ?? this.#makeListing(cacheKey, items, ctx.protocolVersion)
    const pageOf = (listing: readonly { [key: string]: unknown }[]) =>
      this.#cacheable(
        page(key, listing, (item) => item[id] as string, params, this.#pageSize),
        this.#cache,
        ctx,
      )
    return made instanceof Promise ? made.then(pageOf) : pageOf(made)
  }

  #makeListing(
    cacheKey: string,
    items: readonly { listed(version: ProtocolVersion): Awaitable<{ [key: string]: unknown }> }[],
    version: ProtocolVersion,
  ): Awaitable<readonly { [key: string]: unknown }[]> {
    const listed = items.map((item) => item.listed(version))
    const listings = this.#listings
    if (!listed.some((item) => item instanceof Promise)) {
      const done = listed as { [key: string]: unknown }[]
      listings.set(cacheKey, done)
      return done
    }
    const pending = Promise.all(listed)
    listings.set(cacheKey, pending)
    pending.then(
      (done) => listings.set(cacheKey, done),
      () => listings.delete(cacheKey),
    )
    return pending
  }

  /** Fixed ones first, then what the templates list. */
  async #listResources(params: unknown, ctx: Context): Promise<Result> {
    const items: { [key: string]: unknown }[] = []
    for (const resource of this.#resources.items) {
      if (!resource.template) items.push(resource.listed(ctx.protocolVersion))
    }
    for (const { template, config } of this.#resources.items) {
      if (!template || !config.list) continue
      for (const one of await config.list(ctx))
        items.push({ ...(config.mimeType === undefined ? {} : { mimeType: config.mimeType }), ...one })
    }
    return this.#cacheable(
      page('resources', items, ({ uri }) => uri as string, params, this.#pageSize),
      this.#cache,
      ctx,
    )
  }

  async #read(uri: string, ctx: Context): Promise<Result> {
    for (const resource of this.#resources.items) {
      const variables = resource.match(uri)
      if (!variables) continue
      const result = await resource.read(uri, variables, ctx)
      return this.#cacheable(result, resource.config.cache ?? PRIVATE, ctx)
    }
    throw noResource(uri, ctx.protocolVersion)
  }

  #cacheable(result: Result, cache: Cache, { protocolVersion }: Context): Result {
    return REVISIONS[protocolVersion].era === 'modern' ? { ...result, ...cacheFields(cache) } : result
  }

  #completable(ref: { [key: string]: unknown }): Completable | undefined {
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
      const prompt = this.#prompts.get(ref.name)
      return (
        prompt && { complete: prompt.complete, names: async () => (await prompt.arguments()).map(({ name }) => name) }
      )
    }
    if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
      const resource = this.#resources.get(ref.uri)
      return resource?.template && { complete: resource.complete, names: async () => resource.template!.names }
    }
    return undefined
  }

  #changed(kind: ListKind): void {
    this.#descriptions = new Map()
    this.#listings = new Map()
    for (const listener of this.#listeners) listener(kind)
  }
}
