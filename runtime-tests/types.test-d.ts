// What must infer, and what must not compile, as a user writes it. Compiled by `npm test`, never run.
import { type Context, createTransport, McpServer, memoryStore, ToolError, type Transport } from '@fairlead/core'
import { mcp } from '@fairlead/hono'
import { serve, toNodeHandler } from '@fairlead/node'
import { Hono, type Context as HonoContext } from 'hono'
import * as v from 'valibot'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>) => {}

const s = new McpServer<{ user: string }>({ name: 'x', version: '1' })
const defaulted = { inputSchema: v.object({ n: v.optional(v.number(), 1) }), outputSchema: v.object({ m: v.number() }) }
s.tool('a', defaulted, (args, ctx) => {
  same<typeof args.n, number>(true)
  same<typeof ctx.context.user, string>(true)
  return { m: args.n }
})
s.tool('full', { outputSchema: v.object({ m: v.number() }) }, () => ({ content: [], structuredContent: { m: 1 } }))
// @ts-expect-error wrong structured value
s.tool('b', { outputSchema: v.object({ m: v.number() }) }, () => ({ m: 'no' }))
// @ts-expect-error unknown argument
s.tool('c', { inputSchema: v.object({ n: v.number() }) }, ({ q }) => String(q))
// @ts-expect-error not a task word of the spec
s.tool('d', { task: true }, () => 'x')
s.tool('none', {}, () => {
  throw new ToolError('no such city')
})
s.resource('note://{folder}/{id}', { complete: { id: () => ['1'] } }, ({ folder, id }, ctx) => folder + id + ctx.uri)
// @ts-expect-error no such variable
s.resource('note://{id}', {}, ({ nope }) => nope)
s.resource('note://all', {}, () => new Uint8Array())
s.prompt(
  'p',
  { argsSchema: v.object({ city: v.string() }), complete: { city: (value) => [value] } },
  ({ city }) => city,
)
s.tool('link', {}, async (_args, ctx) => {
  const r = await ctx.elicit('pay', { message: 'Pay', url: 'https://pay.example' })
  same<typeof r.action, 'accept' | 'decline' | 'cancel'>(true)
  return r.action
})

const t = createTransport(s, { context: (request) => ({ user: request.headers.get('x-user') ?? '' }) })
// @ts-expect-error context of the wrong type
createTransport(s, { context: () => ({ user: 1 }) })
const worker = createTransport<{ user: string }, { DB: string }>(s, {
  context: (_r, { platform }) => ({ user: platform.DB }),
})
export default {
  fetch: (request: Request, env: { DB: string }, ctx: { waitUntil(p: Promise<unknown>): void }): Promise<Response> =>
    worker.fetch(request, env, ctx),
}

type E = { Variables: { user: string } }
const app = new Hono<E>()
const withHono = createTransport<{ user: string }, HonoContext<E>>(s, {
  context: (_r, { platform }) => ({ user: platform.get('user') }),
})
app.all('/mcp', mcp(withHono))

await serve(t)
toNodeHandler(t)

await using closing: Transport = createTransport(s, { store: memoryStore(), sessions: false })
const helper = async (ctx: Context) => {
  ctx.log('info', 'x')
  await ctx.session?.set('k', 1)
}
void helper
void closing

/* Not yet there. From ../shared/api/programs/types.test.ts, for issue 7, which brings fromSdk:

const v1: Server = fromSdk(() => new V1({ name: 'a', version: '1' })); fromSdk(() => new V2({ name: 'a', version: '1' }))
*/
