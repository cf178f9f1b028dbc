// Runs a call that was admitted: its context, its handler, its answer.
import type { Call } from './calls.ts'
import { CallContext } from './context.ts'
import type { Reply } from './exchange.ts'
import type { Settings } from './options.ts'
import type { Refusal } from './refusals.ts'
import * as REFUSE from './refusals.ts'
import type { Route } from './server.ts'

/** What a route asks for that must be known before the handler runs, since it has an HTTP status. */
export function missingScopes(call: Call, route: Route): Reply | undefined {
  const { scopes } = route
  const held = call.principal?.scopes
  if (!scopes?.length || scopes.every((scope) => held?.includes(scope))) return undefined
  const challenge = call.node.settings.auth?.challenge?.(call.exchange.request(), scopes)
  return { response: challenge ?? new Response(null, { status: 403 }) }
}

/** Client capabilities that the route requires and the client did not declare. */
export function missingCapabilities(call: Call, route: Route): Refusal | undefined {
  const missing = route.requires?.filter((capability) => call.client.capabilities[capability] === undefined)
  return missing?.length ? REFUSE.capability(Object.fromEntries(missing.map((name) => [name, {}]))) : undefined
}

/** Hands the call to the server. The reply is there when its form is decided: JSON, or the head of a stream. */
export function dispatch(call: Call): Reply | Promise<Reply> {
  const { context } = call.node.settings
  if (!context) {
    runHandler(call)
    return call.answer.reply()
  }
  const reply = call.answer.reply()
  void runWithContext(call, context)
  return reply
}

async function runWithContext(call: Call, make: NonNullable<Settings['context']>): Promise<void> {
  const { principal, exchange } = call
  try {
    call.context = await make(exchange.request(), { principal, platform: exchange.platform })
  } catch (error) {
    call.failed(error)
    return
  }
  runHandler(call)
}

/** Whatever becomes of it: the call's answer, or its task's. */
export function runHandler(call: Call): void {
  if (call.answer.ended && !call.task) return // cancelled while it waited
  const { method, params } = call.message
  try {
    const outcome = call.node.server.call(method, params ?? {}, new CallContext(call))
    if (outcome instanceof Promise) {
      outcome.then(
        (result) => call.returned(result),
        (error) => call.failed(error),
      )
    } else call.returned(outcome)
  } catch (error) {
    call.failed(error)
  }
}
