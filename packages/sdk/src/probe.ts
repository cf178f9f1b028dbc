// The instance that stands for the server as such: what it can do and lists is known from it before any session.
import {
  type Description,
  type ListKind,
  McpError,
  type ProtocolVersion,
  type Route,
  type ServerInfo,
} from '@fairlead/core'
import { canonical, checksum, paramHeadersOf } from '@fairlead/core/plain'
import { closeInstance } from './instances.ts'
import { Link } from './link.ts'
import { type Factory, handles, isV2, type SdkServer } from './sdk.ts'

type Members = { [key: string]: unknown }

const PAGES = 100
const TASKS = 'io.modelcontextprotocol/tasks'
const MODERN: ProtocolVersion = '2026-07-28'
const NO_ROUTE: Route = Object.freeze({})
/** v2 makes its own rounds on 2026-07-28. */
const OWN_ROUNDS: Route = Object.freeze({ ownRounds: true })

/** The methods of the spec that a server answers, with the capability that each belongs to. */
const CAPABILITY: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'tools/call': 'tools',
  'prompts/list': 'prompts',
  'prompts/get': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resources',
  'resources/read': 'resources',
  'completion/complete': 'completions',
}
/** Those that 2026-07-28 does not have. */
const LEGACY_ONLY = new Set(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])
const LISTED = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const
const CHANGED = new Map<string, ListKind>([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/prompts/list_changed', 'prompts'],
  ['notifications/resources/list_changed', 'resources'],
])

export class Probe {
  readonly #server: SdkServer
  readonly #link: Link
  readonly #info: ServerInfo
  readonly #capabilities: Members
  readonly #instructions: string | undefined
  readonly #fingerprints: Record<ListKind, string> = { tools: '', prompts: '', resources: '' }
  readonly #descriptions = new Map<ProtocolVersion, Description>()
  readonly #routes = new Map<string, Route>()

  private constructor(server: SdkServer, link: Link, hello: Members) {
    this.#server = server
    this.#link = link
    this.#info = hello.serverInfo as ServerInfo
    this.#capabilities = hello.capabilities as Members
    this.#instructions = hello.instructions as string | undefined
  }

  /** Asks a fresh instance for all that must be known. `changed` is told when it says itself that a listing has changed. */
  static async open(factory: Factory, changed: (kind: ListKind) => void): Promise<Probe> {
    let probe: Probe | undefined
    const link = new Link({
      request: async (method) => {
        throw new McpError(-32601, `${method}: there is no client yet`)
      },
      notification(method) {
        const kind = CHANGED.get(method)
        if (kind && probe) void probe.#list(kind).then(() => changed(kind))
      },
    })
    const server = await factory({ era: 'legacy' })
    await server.connect(link as never)
    const hello = await link.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'fairlead', version: '1' },
    })
    probe = new Probe(server, link, hello)
    for (const kind of ['tools', 'prompts', 'resources'] as const) await probe.#list(kind)
    return probe
  }

  get info(): ServerInfo {
    return this.#info
  }

  describe(version: ProtocolVersion): Description {
    let known = this.#descriptions.get(version)
    if (!known) {
      known = Object.freeze({
        capabilities: withoutTasks(this.#capabilities),
        ...(this.#instructions === undefined ? {} : { instructions: this.#instructions }),
        fingerprints: Object.freeze({ ...this.#fingerprints }),
      })
      this.#descriptions.set(version, known)
    }
    return known
  }

  route(method: string, params: unknown, version: ProtocolVersion): Route | undefined {
    if (!this.#has(method, version)) return undefined
    const isOwn = version === MODERN && isV2(this.#server)
    const known = method === 'tools/call' ? this.#routes.get(String((params as Members).name)) : undefined
    const scopes = this.#link.challenge ? this.#scopes(method, params) : undefined
    if (!known && !scopes) return isOwn ? OWN_ROUNDS : NO_ROUTE
    return { ...known, ...(scopes ? { scopes } : {}), ...(isOwn ? OWN_ROUNDS : {}) }
  }

  async close(): Promise<void> {
    await closeInstance({ server: this.#server, link: this.#link })
  }

  #has(method: string, version: ProtocolVersion): boolean {
    const capability = CAPABILITY[method]
    if (capability !== undefined) return this.#capabilities[capability] !== undefined
    // The experimental tasks of 2025-11-25 are not served.
    if (method.startsWith('tasks/') || (version === MODERN && LEGACY_ONLY.has(method))) return false
    return handles(this.#server, method)
  }

  /** v2: the scopes that somebody with none would be asked for. Scopes that depend on who asks, or come late, are not seen. */
  #scopes(method: string, params: unknown): readonly string[] | undefined {
    const authInfo = { token: '', clientId: '', scopes: [] }
    const challenge = this.#link.challenge!({ request: { jsonrpc: '2.0', id: 0, method, params }, authInfo })
    if (challenge instanceof Promise) {
      challenge.catch(() => {})
      return undefined
    }
    return (challenge as { scopes?: readonly string[] } | undefined)?.scopes
  }

  /** Takes up a listing: its fingerprint, and what of its tools must be known before they are called. */
  async #list(kind: ListKind): Promise<void> {
    if (this.#capabilities[kind] === undefined) return
    const items = kind === 'resources' ? await this.#listResources() : await this.#pages(`${kind}/list`)
    this.#fingerprints[kind] = checksum(canonical(items))
    this.#descriptions.clear()
    if (kind === 'tools') this.#takeUp(items as Members[])
  }

  /** What templates list is data, and differs from time to time and from caller to caller. */
  async #listResources(): Promise<unknown[]> {
    const templates = await this.#pages('resources/templates/list')
    return templates.length > 0 ? templates : this.#pages('resources/list')
  }

  /** All pages; what can't be listed without a client is empty. */
  async #pages(method: keyof typeof LISTED): Promise<unknown[]> {
    const items: unknown[] = []
    try {
      let cursor: unknown
      for (let page = 0; page < PAGES; page++) {
        const result = await this.#link.ask(method, cursor === undefined ? {} : { cursor })
        items.push(...(result[LISTED[method]] as unknown[]))
        cursor = result.nextCursor
        if (cursor === undefined) break
      }
    } catch (error) {
      this.#link.onerror?.(error as Error)
    }
    return items
  }

  #takeUp(tools: readonly Members[]): void {
    this.#routes.clear()
    for (const { name, inputSchema } of tools) {
      try {
        const paramHeaders = paramHeadersOf(`tool ${name}`, { json: inputSchema as Members })
        if (paramHeaders) this.#routes.set(String(name), { paramHeaders })
      } catch (error) {
        this.#link.onerror?.(error as Error)
      }
    }
  }
}

/** Tasks are the transport's own, and no official server has those of 2026. */
function withoutTasks({ tasks: _, extensions, ...rest }: Members): Members {
  if (extensions === undefined) return rest
  const { [TASKS]: __, ...others } = extensions as Members
  return { ...rest, extensions: others }
}
