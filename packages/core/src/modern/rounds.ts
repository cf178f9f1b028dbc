// Asks on 2026-07-28: the call ends with `input_required`, and its retry runs the handler again with the answers.
import { nanoid } from 'nanoid'
import type { Call } from '../calls.ts'
import { canonical, checksum, sha256 } from '../canonical.ts'
import type { Asks } from '../context.ts'
import { CODE, McpError } from '../errors.ts'
import { elicited, formSchema } from '../form.ts'
import { isObject, type Params } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { Content } from '../server.ts'
import { type AskMethod, capabilityMissing, isAnswer } from './ask.ts'
import { createOnce } from './once.ts'
import { createSeal, toBase64Url } from './seal.ts'

/** How long a person may take over one round. */
const STATE_MS = 3_600_000
/** The methods whose results may ask (J-02). */
const ASKING = new Set(['tools/call', 'prompts/get', 'resources/read'])
const NOT_VALID = 'the requestState is not valid'

/** What is sealed. */
interface State {
  /** The chain of rounds that this call is. */
  c: string
  /** Store time of its end. */
  x: number
  /** Asked in the last round: a checksum of the request, and its method. */
  k: Record<string, [string, AskMethod]>
  /** Answered before, each with the checksum of its request. */
  a: Record<string, [string, unknown]>
}

interface Round {
  chain: string
  /** Answers by key; good only for the same request. */
  answers: Record<string, [string, unknown]>
  used: Set<string>
  open: Map<string, { method: AskMethod; params: Promise<Params | undefined>; reject(error: Error): void }>
}

export interface Rounds {
  readonly asks: Asks
  /** Takes up the answers that a retry brings. Throws a McpError where they or the state are not valid. */
  resume(call: Call): Promise<void>
}

/** Is it the retry of a call that asked? */
export function isRetry({ method, params }: Call['message']): boolean {
  if (!ASKING.has(method)) return false
  return (params?.requestState ?? undefined) !== undefined || params?.inputResponses !== undefined
}

/** `startTask`: from here on the call is a task, where its client has tasks. */
export function createRounds(node: Node, startTask: (call: Call) => Promise<void>): Rounds {
  const { store, timers } = node
  const seal = createSeal(node)
  const runOnce = createOnce(node)
  const rounds = new WeakMap<Call, Round>()

  function roundOf(call: Call): Round {
    const known = rounds.get(call)
    if (known) return known
    const round: Round = { chain: nanoid(22), answers: {}, used: new Set(), open: new Map() }
    rounds.set(call, round)
    return round
  }

  /** A state is good for this principal and this very request (J-07). */
  async function boundTo({ message: { method, params }, principal }: Call): Promise<string> {
    const { _meta: _, requestState: __, inputResponses: ___, ...rest } = params ?? {}
    const digest = toBase64Url(new Uint8Array(await sha256(canonical(rest))))
    return JSON.stringify([principal?.id ?? null, method, digest])
  }

  function useKey(round: Round, key: string): void {
    if (round.used.has(key)) throw new Error(`the key ${JSON.stringify(key)} is used twice in one run`)
    round.used.add(key)
  }

  /** The answer of an earlier round; or the promise of one, which ends this round. */
  async function ask(
    call: Call,
    key: string,
    method: AskMethod,
    params: Promise<Params | undefined>,
  ): Promise<unknown> {
    const round = roundOf(call)
    params.catch(() => {}) // heard of where it is awaited
    if (!ASKING.has(call.message.method)) throw new Error(`${call.message.method} can't ask the client for input`)
    useKey(round, key)
    const known = round.answers[key]
    if (known && known[0] === checksum(canonical([method, await params]))) return known[1]
    return new Promise((_resolve, reject) => {
      round.open.set(key, { method, params, reject })
      call.suspend()
      // All asks that are made by the end of this macrotask go out together.
      if (round.open.size === 1) timers.after(0, () => void endRound(call, round))
    })
  }

  async function endRound(call: Call, round: Round): Promise<void> {
    try {
      const inputRequests: Record<string, { method: string; params?: Params }> = {}
      const asked: State['k'] = {}
      for (const [key, { method, params, reject }] of round.open) {
        try {
          const made = await params
          inputRequests[key] = made ? { method, params: made } : { method }
          asked[key] = [checksum(canonical([method, made])), method]
        } catch (error) {
          round.open.delete(key)
          reject(error as Error)
        }
      }
      if (round.open.size === 0) {
        call.unsuspend()
        return
      }
      const state: State = { c: round.chain, x: store.now() + STATE_MS, k: asked, a: round.answers }
      const requestState = await seal.seal(JSON.stringify(state), await boundTo(call))
      call.respond({ resultType: 'input_required', inputRequests, requestState })
    } catch (error) {
      call.unsuspend()
      call.failed(error)
    }
    // So that the handler's `finally` runs; what it does after that is dropped.
    for (const { reject } of round.open.values())
      reject(new DOMException('the round has ended: the call will run again', 'AbortError'))
  }

  function mustHave(call: Call, capability: string, mode?: 'form' | 'url'): void {
    const missing = capabilityMissing(call, capability, mode)
    if (missing) throw missing
  }

  return {
    asks: {
      async elicit(call, key, wanted) {
        if ('schema' in wanted) {
          mustHave(call, 'elicitation', 'form')
          const params = formSchema(wanted.schema).then((requestedSchema) => ({
            mode: 'form',
            message: wanted.message,
            requestedSchema,
          }))
          return elicited(await ask(call, key, 'elicitation/create', params), wanted.schema)
        }
        mustHave(call, 'elicitation', 'url')
        if (!URL.canParse(wanted.url)) throw new TypeError(`elicit: ${JSON.stringify(wanted.url)} is not a URL`)
        const params = Promise.resolve({ mode: 'url', message: wanted.message, url: wanted.url })
        return elicited(await ask(call, key, 'elicitation/create', params), undefined)
      },
      async sample(call, key, params) {
        mustHave(call, 'sampling')
        const answer = await ask(call, key, 'sampling/createMessage', Promise.resolve({ ...params }))
        return answer as { role: string; content: Content; model: string }
      },
      async roots(call, key) {
        mustHave(call, 'roots')
        return ((await ask(call, key, 'roots/list', Promise.resolve(undefined))) as { roots: { uri: string }[] }).roots
      },
      async once(call, key, fn) {
        const round = roundOf(call)
        useKey(round, `once ${key}`)
        return runOnce(round.chain, key, fn)
      },
      startTask: async (call) => startTask(call),
      closeStream: async () => {},
    },
    async resume(call) {
      const { requestState, inputResponses } = call.message.params!
      if (inputResponses !== undefined && !isObject(inputResponses)) {
        throw new McpError(CODE.invalidParams, 'params.inputResponses must be an object')
      }
      // Without a state nothing was asked, so answers answer nothing.
      if (requestState === undefined || requestState === null) return
      const opened = typeof requestState === 'string' ? await seal.open(requestState, await boundTo(call)) : undefined
      const state = opened === undefined ? undefined : (JSON.parse(opened) as State)
      if (!state || state.x < store.now()) throw new McpError(CODE.invalidParams, NOT_VALID)
      const round = roundOf(call)
      round.chain = state.c
      round.answers = state.a
      for (const [key, [sum, method]] of Object.entries(state.k)) {
        if (!inputResponses || !Object.hasOwn(inputResponses, key)) continue
        const answer = inputResponses[key]
        if (!isAnswer(method, answer))
          throw new McpError(CODE.invalidParams, `the answer for ${JSON.stringify(key)} is not valid`)
        round.answers[key] = [sum, answer]
      }
    },
  }
}
