// Asks on 2026-07-28: the call ends with `input_required`, and its retry runs the handler again with the answers.
import { nanoid } from 'nanoid'
import type { Call } from '../calls.ts'
import { canonical, checksum, sha256 } from '../canonical.ts'
import type { Asks } from '../context.ts'
import { CODE, McpError } from '../errors.ts'
import { formSchema } from '../form.ts'
import { isObject, type Params } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { Content, Json } from '../server.ts'
import { type AskMethod, answered, askOf, capabilityMissing, isAnswer } from './ask.ts'
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
  answers: Map<string, [string, unknown]>
  used: Set<string>
  open: Map<string, { method: AskMethod; params: Promise<Params | undefined>; reject(error: unknown): void }>
  /** What it can't be told of any more is dropped. */
  isOver: boolean
  /** A fault of the handler, which is not to be hidden by what is asked beside it. */
  fault?: Error
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
    const round: Round = { chain: nanoid(22), answers: new Map(), used: new Set(), open: new Map(), isOver: false }
    rounds.set(call, round)
    return round
  }

  /** A state is good for this principal and this very request (J-07). */
  async function boundTo({ message: { method, params }, principal }: Call): Promise<string> {
    const { _meta: _, requestState: __, inputResponses: ___, ...rest } = params ?? {}
    const digest = toBase64Url(new Uint8Array(await sha256(canonical(rest))))
    return JSON.stringify([principal?.id ?? null, method, digest])
  }

  function useKey(round: Round, use: string, key: string): void {
    if (round.isOver) throw roundOver()
    if (round.used.has(use + key)) {
      round.fault = new Error(`${use}: the key ${JSON.stringify(key)} is used twice in one run`)
      throw round.fault
    }
    round.used.add(use + key)
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
    useKey(round, 'ask', key)
    const known = round.answers.get(key)
    if (known && known[0] === checksum(canonical([method, await params]))) return known[1]
    if (round.isOver) throw roundOver()
    return new Promise((_resolve, reject) => {
      round.open.set(key, { method, params, reject })
      call.suspend()
      // All asks that are made by the end of this macrotask go out together.
      if (round.open.size === 1) timers.after(0, () => void endRound(call, round))
    })
  }

  async function endRound(call: Call, round: Round): Promise<void> {
    const made: [key: string, method: AskMethod, params: Params | undefined][] = []
    const faulty: [reject: (error: unknown) => void, error: unknown][] = []
    for (const [key, { method, params, reject }] of round.open) {
      try {
        made.push([key, method, await params])
      } catch (error) {
        faulty.push([reject, error])
      }
    }
    const open = [...round.open.values()]
    if (made.length === 0) {
      // Nothing to ask: the call is its handler's again.
      round.open.clear()
      call.unsuspend()
    } else {
      round.isOver = true
      await sendRound(call, round, made)
    }
    for (const [reject, error] of faulty) reject(error)
    // So that the handler's `finally` runs; what it does after that is dropped.
    for (const { reject } of open) reject(roundOver())
  }

  async function sendRound(
    call: Call,
    { chain, answers, fault }: Round,
    made: readonly [key: string, method: AskMethod, params: Params | undefined][],
  ): Promise<void> {
    try {
      if (fault) throw fault
      const state: State = {
        c: chain,
        x: store.now() + STATE_MS,
        k: Object.fromEntries(made.map(([key, ...request]) => [key, [checksum(canonical(request)), request[0]]])),
        a: Object.fromEntries(answers),
      }
      const requestState = await seal.seal(JSON.stringify(state), await boundTo(call))
      const requests = made.map(([key, method, params]) => [key, params ? { method, params } : { method }])
      call.respond({ resultType: 'input_required', inputRequests: Object.fromEntries(requests), requestState })
    } catch (error) {
      call.unsuspend()
      if (!call.answer.ended) call.failed(error)
    }
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
          return answered(await ask(call, key, 'elicitation/create', params), wanted.schema)
        }
        mustHave(call, 'elicitation', 'url')
        if (!URL.canParse(wanted.url)) throw new TypeError(`elicit: ${JSON.stringify(wanted.url)} is not a URL`)
        const params = Promise.resolve({ mode: 'url', message: wanted.message, url: wanted.url })
        return answered(await ask(call, key, 'elicitation/create', params), undefined)
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
        useKey(round, 'once', key)
        return runOnce(round.chain, key, fn)
      },
      startTask: async (call) => startTask(call),
      closeStream: async () => {},
      async ask(call, key, method, params) {
        const asked = askOf(method, params)
        mustHave(call, asked.capability, asked.mode)
        return (await ask(call, key, asked.method, Promise.resolve(asked.params))) as Json
      },
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
      for (const [key, answer] of Object.entries(state.a)) round.answers.set(key, answer)
      for (const [key, [sum, method]] of Object.entries(state.k)) {
        if (!inputResponses || !Object.hasOwn(inputResponses, key)) continue
        const answer = inputResponses[key]
        if (!isAnswer(method, answer))
          throw new McpError(CODE.invalidParams, `the answer for ${JSON.stringify(key)} is not valid`)
        round.answers.set(key, [sum, answer])
      }
    },
  }
}

function roundOver(): DOMException {
  return new DOMException('the round has ended: the call will run again', 'AbortError')
}
