// One instance of an official server, connected to a link of ours and past its handshake.
import { type Context, type Json, McpError, type Notify, type Sender } from '@fairlead/core'
import { AskKeys } from './ask-keys.ts'
import { authInfoOf } from './extra.ts'
import { type CallContext, Link, type Params } from './link.ts'
import { bindModern, type Factory, isV2, type SdkContext, type SdkServer } from './sdk.ts'

/** An ask has the server's own time limit; this one only sees to it that nothing waits for ever. */
const ASK_MS = 3_600_000
/** The revision by which a v1 instance gets to know the client of a request of 2026-07-28. */
const V1_NEWEST = '2025-11-25'
const MISSING_CAPABILITY = -32021

export interface Instance {
  readonly server: SdkServer
  readonly link: Link
}

/** Tells the subscribers of a resource, on every node. */
export type TellUpdated = (notify: Notify, uri: string) => void

const UPDATED = 'notifications/resources/updated'
const LIST_CHANGED = new Map<string, 'toolsChanged' | 'promptsChanged' | 'resourcesChanged'>([
  ['notifications/tools/list_changed', 'toolsChanged'],
  ['notifications/prompts/list_changed', 'promptsChanged'],
  ['notifications/resources/list_changed', 'resourcesChanged'],
])
/** What 2026-07-28 no longer has. */
const LEGACY_ONLY = new Set(['notifications/elicitation/complete', 'notifications/tasks/status'])

/** The instance of a session, which has shaken hands on whatever node. */
export async function sessionInstance(factory: Factory, sender: Sender, updated: TellUpdated): Promise<Instance> {
  const { protocolVersion, client, notify } = sender
  const session = sender.session!
  const link: Link = new Link(
    {
      async request(method, params, ctx, signal) {
        const options = { timeoutMs: ASK_MS, signal }
        if (ctx) return ctx.ask('', method, params as Json, options)
        try {
          return await session.request(method, params as Json, options)
        } catch (error) {
          // Nobody reads the session's own stream; a call of it has one, too.
          const { latest } = link
          if (!latest || signal.aborted || error instanceof McpError) throw error
          return latest.ask('', method, params as Json, options)
        }
      },
      notification(method, params, ctx) {
        if (method === UPDATED) updated(notify, String(params?.uri))
        else if (ctx && !LIST_CHANGED.has(method)) ctx.tell(method, params as Json)
        else session.send(method, params as Json).catch((error) => link.onerror?.(error))
      },
    },
    session.id,
  )
  const server = await connect(factory, sender, 'legacy', link)
  // Before `initialized`, in which a server may look at what the client can do.
  await shakeHands(link, protocolVersion, client)
  link.notify('notifications/initialized')
  return { server, link }
}

/** The instance of one request: a modern one, or a legacy one without a session. */
export async function requestInstance(
  factory: Factory,
  ctx: CallContext,
  method: string,
  updated: TellUpdated,
): Promise<Instance> {
  const { era, notify } = ctx
  const keys = new AskKeys()
  const link: Link = new Link({
    async request(asked, params) {
      const wanted = (era === 'modern' ? withoutElicitationId(params) : params) as Json
      try {
        return await ctx.ask(keys.next(asked, wanted), asked, wanted)
      } catch (error) {
        // The round has ended, or can't be: what the handler makes of that is of no interest.
        if (endsCall(error)) void link.close(error)
        throw error
      }
    },
    notification(told, params) {
      const changed = LIST_CHANGED.get(told)
      if (told === UPDATED) updated(notify, String(params?.uri))
      else if (changed) {
        // One that says so while it is listed would be listed again, by another instance, which says so again.
        if (!method.endsWith('/list')) notify[changed]().catch((error) => link.onerror?.(error))
      } else if (era === 'legacy' || !LEGACY_ONLY.has(told)) ctx.tell(told, params as Json)
    },
  })
  const server = await connect(factory, ctx, era, link)
  // Its handler runs before that of the request which follows.
  if (era === 'modern' && !isV2(server)) void shakeHands(link, V1_NEWEST, ctx.client)
  return { server, link }
}

async function connect(
  factory: Factory,
  sender: Sender & Partial<Pick<Context, 'request'>>,
  era: SdkContext['era'],
  link: Link,
): Promise<SdkServer> {
  const authInfo = authInfoOf(sender.principal, sender)
  const server = await factory({
    era,
    ...(authInfo ? { authInfo } : {}),
    get requestInfo() {
      return sender.request as Request | undefined
    },
  })
  if (era === 'modern' && isV2(server)) bindModern(server, sender)
  await server.connect(link as never)
  return server
}

/** A server that will not shake hands says so, to whoever looks at what it reports. */
async function shakeHands(
  link: Link,
  protocolVersion: string,
  { info, capabilities }: Context['client'],
): Promise<void> {
  const clientInfo = info ?? { name: 'unknown', version: '0' }
  try {
    await link.ask('initialize', { protocolVersion, capabilities, clientInfo })
  } catch (error) {
    if (!link.isClosed) link.onerror?.(error as Error)
  }
}

/** 2026-07-28 has no such id. */
function withoutElicitationId(params: Params | undefined): Params | undefined {
  if (params?.elicitationId === undefined) return params
  const { elicitationId: _, ...rest } = params
  return rest
}

function endsCall(error: unknown): boolean {
  if (error instanceof McpError) return error.code === MISSING_CAPABILITY
  return error instanceof DOMException && error.name === 'AbortError'
}
