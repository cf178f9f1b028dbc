// A request of 2026-07-28 for a v1 server, which knows nothing of that revision: what it is given, and what it gives.
import { type Json, McpError, type Result } from '@fairlead/core'
import { AskKeys } from './ask-keys.ts'
import type { CallContext, Params } from './link.ts'

const URL_ELICITATION_REQUIRED = -32042

/** The same request in every round: the transport has taken up what a retry brings. */
export function paramsForV1(params: Params): Params {
  const { inputResponses: _, requestState: __, ...rest } = params
  return rest
}

/** 2026-07-28 has no such field. */
export function resultOfV1(method: string, result: Result): Result {
  const { tools } = result
  if (method !== 'tools/list' || !Array.isArray(tools)) return result
  return { ...result, tools: tools.map(({ execution: _, ...tool }: Params) => tool) }
}

/** A handler that throws the error -32042 wants URLs to be opened, then the same request again: that is a round. */
export async function askForUrls(error: unknown, ctx: CallContext): Promise<void> {
  if (!(error instanceof McpError) || error.code !== URL_ELICITATION_REQUIRED) return
  const { elicitations = [] } = (error.data ?? {}) as { elicitations?: { message: string; url: string }[] }
  const keys = new AskKeys()
  await Promise.all(
    elicitations.map(({ message, url }) => {
      const params: Json = { mode: 'url', message, url }
      return ctx.ask(keys.next('elicitation/create', params), 'elicitation/create', params)
    }),
  )
}
