// Asks as requests to the client: on the call's own stream, or on the standalone one; an answer is taken once.
import { nanoid } from 'nanoid'
import type { Call } from '../calls.ts'
import type { Asks, ElicitLink } from '../context.ts'
import { McpError } from '../errors.ts'
import { isNodeId } from '../fleet.ts'
import { elicited, formSchema } from '../form.ts'
import { isObject, type JsonRpcResponse, notificationText, toJson } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { REVISIONS } from '../protocol.ts'
import { checkSampling } from '../sampling.ts'
import type { Content, Context, Json } from '../server.ts'
import type { Timer } from '../timers.ts'
import type { SessionRecord, SessionRef } from './session.ts'
import type { Standalone } from './standalone.ts'

/** A person may be asked, so it is long; nothing waits for ever (E-20). */
const ASK_MS = 300_000
const ID = /^([\w-]{12})-[\w-]{22}$/

interface Pending {
  readonly sessionId: string
  readonly principalId: string | undefined
  settle(answer: JsonRpcResponse): void
}

export interface LegacyAsks {
  readonly asks: Asks
  /** A request outside any call. Rejects at once when nobody is there to receive it. */
  request(
    ref: SessionRef,
    record: SessionRecord,
    method: string,
    params: Json | undefined,
    options?: RequestOptions,
  ): Promise<Json>
  /** An answer has come to this node: taken here, or passed to the node that asked. */
  answered(ref: SessionRef, message: JsonRpcResponse): Promise<void>
  /** The session is over: nobody will answer. */
  drop(sessionId: string): void
}

export interface RequestOptions {
  timeoutMs?: number
  signal?: AbortSignal
}

/** How a request gets to the client; nobody: not at all; unread: it is stored, and nobody reads it now. */
type Way = 'sent' | 'unread' | 'nobody'
type Send = (json: string, deadline: number) => Way | Promise<Way>

export function createAsks(
  node: Node,
  standalone: Standalone,
  refOf: (call: Call) => SessionRef | undefined,
  hangUp: (call: Call, retryMs: number | undefined) => Promise<void>,
): LegacyAsks {
  const pending = new Map<string, Pending>()

  node.fleet.receive('answer', ({ session, principal, message }) => {
    take(session as string, principal as string | undefined, message as JsonRpcResponse)
  })

  /** An answer that nobody waits for, or from somebody else, is dropped (S22). */
  function take(sessionId: string, principalId: string | undefined, message: JsonRpcResponse): void {
    const id = String(message.id)
    const waiting = pending.get(id)
    if (!waiting || waiting.sessionId !== sessionId || waiting.principalId !== principalId) return
    pending.delete(id)
    waiting.settle(message)
  }

  function ask(
    ref: SessionRef,
    method: string,
    params: unknown,
    send: Send,
    cancel: (json: string) => void,
    { timeoutMs = ASK_MS, signal }: RequestOptions,
  ): Promise<Json> {
    signal?.throwIfAborted()
    const id = `${node.id}-${nanoid(22)}`
    return new Promise<Json>((resolve, reject) => {
      let timer: Timer | undefined
      const done = () => {
        pending.delete(id)
        node.timers.clear(timer)
        signal?.removeEventListener('abort', aborted)
      }
      const giveUp = (reason: string, error: unknown) => {
        done()
        cancel(notificationText('notifications/cancelled', { requestId: id, reason }))
        reject(error)
      }
      const aborted = () => giveUp('the call was cancelled', signal?.reason)
      pending.set(id, {
        sessionId: ref.id,
        principalId: ref.principal?.id,
        settle({ result, error }) {
          done()
          if (error) reject(new McpError(error.code, error.message, error.data as Json | undefined))
          else resolve(result as Json)
        },
      })
      timer = node.timers.after(timeoutMs, () =>
        giveUp('no answer in time', new Error(`${method}: the client did not answer in ${timeoutMs} ms`)),
      )
      signal?.addEventListener('abort', aborted, { once: true })
      const json = toJson(
        params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params },
      )
      const sending = async () => {
        const way = await send(json, node.store.now() + timeoutMs)
        if (way === 'sent') return
        const error = new Error(`${method}: the client has no stream open on which it could be asked`)
        if (way === 'unread') giveUp('nobody reads', error)
        else throw error
      }
      sending().catch((error) => {
        done()
        reject(error)
      })
    })
  }

  async function viaStandalone(ref: SessionRef, json: string, deadline: number): Promise<Way> {
    const { state, isRead } = await standalone.send(ref, json, { needReader: true, deadline })
    return state === 'ok' ? (isRead ? 'sent' : 'unread') : 'nobody'
  }

  /** Inside a call: on its own stream where it can have one, else on the standalone one (S20, S21). */
  async function askInCall(
    call: Call,
    method: string,
    params: unknown,
    { timeoutMs, signal }: RequestOptions = {},
  ): Promise<Json> {
    const ref = refOf(call)
    if (!ref) throw new Error(`${method}: without a session the client's answer can't come back`)
    await node.fleet.join()
    let say = (json: string): void => void call.answer.message(json, true)
    const send: Send = (json, deadline) => {
      if (call.answer.message(json, true)) return 'sent'
      say = (json) => void standalone.send(ref, json).catch(() => {})
      return viaStandalone(ref, json, deadline)
    }
    const stopped = signal ? AbortSignal.any([call.signal, signal]) : call.signal
    return ask(ref, method, params, send, (json) => say(json), { timeoutMs, signal: stopped })
  }

  /** A bare elicitation capability means forms (E-03). */
  function declared({ capabilities }: Context['client'], capability: string, mode?: string): void {
    const value = capabilities[capability]
    const has =
      isObject(value) &&
      (mode === undefined || value[mode] !== undefined || (mode === 'form' && value.url === undefined))
    if (!has) throw new Error(`the client has not declared the capability ${capability}${mode ? ` (${mode})` : ''}`)
  }

  /** The same for a request of the app's own. */
  function declaredFor(client: Context['client'], method: string, params: Json | undefined): void {
    if (method === 'elicitation/create') {
      declared(client, 'elicitation', isObject(params) && params.mode === 'url' ? 'url' : 'form')
    } else if (method === 'sampling/createMessage') {
      declared(client, 'sampling')
      checkSampling(client.capabilities.sampling, params)
    } else if (method === 'roots/list') declared(client, 'roots')
  }

  return {
    asks: {
      async elicit(call, _key, ask) {
        const modes = REVISIONS[call.version].elicitation
        const isForm = 'schema' in ask
        if (modes === 'none' || (!isForm && modes === 'form'))
          throw new Error(`${call.version} has no such elicitation`)
        declared(call.client, 'elicitation', isForm ? 'form' : 'url')
        const params = isForm
          ? {
              ...(modes === 'form' ? {} : { mode: 'form' }),
              message: ask.message,
              requestedSchema: await formSchema(ask.schema),
            }
          : { mode: 'url', message: ask.message, url: linkOf(ask), elicitationId: nanoid() }
        return elicited(await askInCall(call, 'elicitation/create', params), isForm ? ask.schema : undefined)
      },
      async sample(call, _key, params) {
        declared(call.client, 'sampling')
        checkSampling(call.client.capabilities.sampling, params)
        const sampled = await askInCall(call, 'sampling/createMessage', params)
        return sampled as unknown as { role: string; content: Content; model: string }
      },
      async roots(call) {
        declared(call.client, 'roots')
        const { roots } = (await askInCall(call, 'roots/list', undefined)) as {
          roots: { uri: string; name?: string }[]
        }
        return roots
      },
      // A legacy call runs once: its asks wait for their answers.
      once: async (_call, _key, fn) => fn(),
      startTask: async () => {},
      closeStream: async (call, retryMs) => {
        // Where the call has no stream yet, it gets one now: else there would be nothing to come back to.
        if (REVISIONS[call.version].priming && refOf(call) && call.answer.stream()) await hangUp(call, retryMs)
      },
      async ask(call, _key, method, params, options) {
        declaredFor(call.client, method, params)
        return askInCall(call, method, params, options)
      },
    },
    async request(ref, record, method, params, options = {}) {
      declaredFor(record.client, method, params)
      if (!record.ready && method !== 'ping') throw new Error('the client has not finished its handshake')
      await node.fleet.join()
      const send: Send = (json, deadline) => viaStandalone(ref, json, deadline)
      const cancel = (json: string) => void standalone.send(ref, json).catch(() => {})
      return ask(ref, method, params, send, cancel, options)
    },
    async answered(ref, message) {
      const nodeId = ID.exec(String(message.id))?.[1]
      if (nodeId === undefined || !isNodeId(nodeId)) return
      if (nodeId === node.id) take(ref.id, ref.principal?.id, message)
      else await node.fleet.tell(nodeId, { kind: 'answer', session: ref.id, principal: ref.principal?.id, message })
    },
    drop(sessionId) {
      for (const [id, waiting] of [...pending]) {
        if (waiting.sessionId !== sessionId) continue
        pending.delete(id)
        waiting.settle({ jsonrpc: '2.0', error: { code: -32603, message: 'the session has ended' } })
      }
    },
  }
}

function linkOf({ url }: ElicitLink): string {
  if (!URL.canParse(url)) throw new TypeError(`elicit: ${JSON.stringify(url)} is not a URL`)
  return url
}
