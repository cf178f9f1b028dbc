// A server for the tests of the transport: each method is a line of a table, so that a test can add, change and take out.
import { McpError } from '../src/errors.ts'
import type { Context, Description, ListKind, Result, Route, Server } from '../src/server.ts'
import { Gates } from './gates.ts'

type Params = { [key: string]: unknown }
type Handler = (args: Params, ctx: Context) => Result | Promise<Result>

/** What no error may carry to a client. */
export const PRIVATE = 'private-7f3a'

const text = (value: string): Result => ({ content: [{ type: 'text', text: value }] })

/** The values and errors that `throws` throws, by kind. */
function thrown(kind: unknown): unknown {
  const circular: Params = {}
  circular.self = circular
  const kinds: Params = {
    sync: new Error(PRIVATE),
    'non-error': PRIVATE,
    object: { message: PRIVATE, code: -32000 },
    null: null,
    nothing: undefined,
  }
  return kinds[String(kind)]
}

export class TestServer implements Server {
  readonly info = { name: 'test', version: '1.2.3', title: 'A test server', websiteUrl: 'https://test.example' }
  readonly instructions = 'be kind'
  readonly gates: Gates = new Gates()
  /** How often each method, and each tool by its name, has run. */
  readonly runs: Record<string, number> = {}
  /** Runs of `slow` by how they ended, with the reasons of those that were aborted. */
  finished = 0
  readonly aborted: unknown[] = []
  readonly tools = new Map<string, { handler: Handler; route: Route }>()
  readonly methods = new Map<string, { handler: Handler; route: Route }>()
  readonly #listeners = new Set<(kind: ListKind) => void>()

  constructor() {
    this.on('tools/list', () => ({
      tools: [...this.tools.keys()].map((name) => ({ name, inputSchema: { type: 'object' } })),
    }))
    this.on('resources/list', () => ({ resources: [{ uri: 'test://one', name: 'one' }] }))
    this.on('resources/read', ({ uri }) => ({ contents: [{ uri, text: 'content' }] }))
    this.on('prompts/list', () => ({ prompts: [{ name: 'greet' }] }))
    this.on('prompts/get', () => ({ messages: [] }))

    this.tool('echo', ({ text: value }) => text(String(value)))
    this.tool('slow', async ({ text: value, gate = 'slow' }, { signal }) => {
      try {
        await this.gates.pass(String(gate), signal)
      } catch (reason) {
        this.aborted.push(reason)
        throw reason
      }
      this.finished++
      return text(String(value))
    })
    this.tool('steps', async ({ n }, ctx) => {
      for (let step = 1; step <= Number(n); step++) {
        await ctx.progress(step, Number(n), `step ${step}`)
        await this.gates.pass(`step ${step}`)
      }
      return text('done')
    })
    this.tool('whoami', (_args, ctx) =>
      text(
        JSON.stringify({
          principal: ctx.principal?.id ?? null,
          session: ctx.session?.id ?? null,
          era: ctx.era,
          version: ctx.protocolVersion,
          client: ctx.client,
          foo: ctx.request.headers.get('x-foo'),
          context: ctx.context ?? null,
        }),
      ),
    )
    this.tool('throws', ({ kind }) => {
      if (kind === 'reject') return Promise.reject(new Error(PRIVATE))
      throw thrown(kind)
    })
    this.tool('returns', ({ kind }) => {
      const circular: Params = { content: [] }
      circular.self = circular
      return { undefined: undefined, bigint: { content: [], n: 1n }, circular, null: null, text: PRIVATE }[
        String(kind)
      ] as unknown as Result
    })
    this.tool('log', async ({ level }, ctx) => {
      await ctx.log(level as 'info', { said: level } as never)
      return text('logged')
    })
  }

  /** Adds or replaces a method. */
  on(method: string, handler: Handler, route: Route = {}): this {
    this.methods.set(method, { handler, route })
    return this
  }

  tool(name: string, handler: Handler, route: Route = {}): this {
    this.tools.set(name, { handler, route })
    return this
  }

  /** Takes a method out, with its capability if it was the last of that. */
  without(...methods: string[]): this {
    for (const method of methods) this.methods.delete(method)
    return this
  }

  changed(kind: ListKind): void {
    for (const listener of this.#listeners) listener(kind)
  }

  /** Resolves when a tool runs for the nth time. */
  started(name: string, n = 1): Promise<void> {
    return this.gates.pass(`started ${name} ${n}`)
  }

  describe(): Description {
    const serves = (kind: string) => [...this.methods.keys()].some((method) => method.startsWith(`${kind}/`))
    const kinds = (['tools', 'prompts', 'resources'] as const).filter(serves)
    return {
      capabilities: { ...Object.fromEntries(kinds.map((kind) => [kind, { listChanged: true }])), logging: {} },
      instructions: this.instructions,
      fingerprints: { tools: 'one', prompts: 'one', resources: 'one' },
    }
  }

  route(method: string, params: unknown): Route | undefined {
    if (method === 'tools/call') {
      return this.methods.has('tools/list') ? (this.tools.get(String((params as Params).name))?.route ?? {}) : undefined
    }
    return this.methods.get(method)?.route
  }

  call(method: string, params: unknown, ctx: Context): Result | Promise<Result> {
    const { name, arguments: args } = params as { name?: string; arguments?: Params }
    const isTool = method === 'tools/call'
    const run = isTool ? this.tools.get(String(name)) : this.methods.get(method)
    if (!run) throw new McpError(-32602, 'unknown tool')
    const counted = isTool ? String(name) : method
    this.runs[counted] = (this.runs[counted] ?? 0) + 1
    this.gates.open(`started ${counted} ${this.runs[counted]}`)
    return run.handler((isTool ? (args ?? {}) : params) as Params, ctx)
  }

  onChange(listener: (kind: ListKind) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
