// The wire check: what a server sends, against the official schema of its revision. Nothing here knows the core.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Ajv, ErrorObject, Options } from 'ajv'

export const REVISIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const
export type Revision = (typeof REVISIONS)[number]

export type Message = { [key: string]: unknown }

/** What a message answers, as far as it is known. */
export interface Answered {
  id?: unknown
  method?: string
}

/** The definition of a method's result; others are checked as `Result`. */
const RESULTS: Readonly<Record<string, string>> = {
  initialize: 'InitializeResult',
  ping: 'EmptyResult',
  'server/discover': 'DiscoverResult',
  'subscriptions/listen': 'SubscriptionsListenResult',
  'tools/list': 'ListToolsResult',
  'tools/call': 'CallToolResult',
  'prompts/list': 'ListPromptsResult',
  'prompts/get': 'GetPromptResult',
  'resources/list': 'ListResourcesResult',
  'resources/templates/list': 'ListResourceTemplatesResult',
  'resources/read': 'ReadResourceResult',
  'resources/subscribe': 'EmptyResult',
  'resources/unsubscribe': 'EmptyResult',
  'completion/complete': 'CompleteResult',
  'logging/setLevel': 'EmptyResult',
}

/** Errors of 2026-07-28 that have a definition of their own, and the only ones of MCP's own range (F-12). */
const MODERN_ERRORS: Readonly<Record<number, string>> = {
  [-32020]: 'HeaderMismatchError',
  [-32021]: 'MissingRequiredClientCapabilityError',
  [-32022]: 'UnsupportedProtocolVersionError',
}

/** Errors for what could not be read, so that the id may be unknown. */
const UNREADABLE = new Set<unknown>([-32700, -32600])

const OPTIONS: Options = {
  strict: false,
  allErrors: false,
  formats: { uri: (text: string) => URL.canParse(text), byte: /^[A-Za-z0-9+/]*={0,2}$/, 'uri-template': true },
}

// Loaded when the first message is checked: most test files send none.
const require = createRequire(import.meta.url)
const compilers = new Map<Revision, { ajv: Ajv; definitions: string }>()

/** One compiler a revision and process; it compiles a definition when that is first asked for. */
function compilerOf(revision: Revision): { ajv: Ajv; definitions: string } {
  const known = compilers.get(revision)
  if (known) return known
  const file = new URL(`../../../fixtures/schema/${revision}/schema.json`, import.meta.url)
  const schema = JSON.parse(readFileSync(file, 'utf8')) as { $defs?: object }
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const { Ajv: Ajv07 } = require('ajv') as typeof import('ajv')
  const ajv = schema.$defs ? new Ajv2020(OPTIONS) : new Ajv07(OPTIONS)
  ajv.addSchema(schema, revision)
  const compiler = { ajv, definitions: schema.$defs ? '$defs' : 'definitions' }
  compilers.set(revision, compiler)
  return compiler
}

/** What is wrong with `value` by one definition of a revision; undefined: nothing. */
export function schemaFault(revision: Revision, definition: string, value: unknown): string | undefined {
  const { ajv, definitions } = compilerOf(revision)
  const validate = ajv.getSchema(`${revision}#/${definitions}/${definition}`)
  if (!validate) return `${revision} has no definition ${definition}`
  if (validate(value)) return undefined
  const faults = (validate.errors ?? []).map(({ instancePath, message }: ErrorObject) => `${instancePath} ${message}`)
  return `${definition}: ${faults.slice(0, 5).join('; ')}`
}

/** What is wrong with a message that a server has sent; undefined: nothing. */
export function messageFault(revision: Revision, message: unknown, answered: Answered = {}): string | undefined {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return 'not a JSON-RPC message'
  const { id, method, result, error } = message as Message
  if (method !== undefined) {
    if (id === undefined) return schemaFault(revision, 'ServerNotification', message)
    return revision === '2026-07-28'
      ? 'a request of the server (F-13)'
      : schemaFault(revision, 'ServerRequest', message)
  }
  if ((result === undefined) === (error === undefined)) return 'neither a result nor an error, or both (A-03)'
  const unread = id === undefined && UNREADABLE.has((error as { code?: unknown } | undefined)?.code)
  if (answered.id !== undefined && id !== answered.id && !unread) return `not the id of the request: ${id} (A-03)`
  return error === undefined
    ? resultFault(revision, message as Message, answered.method)
    : errorFault(revision, message as Message)
}

function resultFault(revision: Revision, message: Message, method = ''): string | undefined {
  const envelope = revision < '2025-11-25' ? 'JSONRPCResponse' : 'JSONRPCResultResponse'
  const { resultType } = message.result as Message
  const definition =
    resultType === 'input_required' ? 'InputRequiredResult' : resultType === 'task' ? 'Result' : RESULTS[method]
  return schemaFault(revision, envelope, message) ?? schemaFault(revision, definition ?? 'Result', message.result)
}

function errorFault(revision: Revision, message: Message): string | undefined {
  if ('id' in message && message.id === null) return 'an error with id null (Q-24)'
  // The two oldest revisions require an id that may not be known: it is left out in every revision.
  const whole = revision < '2025-11-25' && message.id === undefined ? { ...message, id: 0 } : message
  const { code } = message.error as { code: number }
  if (revision !== '2026-07-28') {
    return schemaFault(revision, revision < '2025-11-25' ? 'JSONRPCError' : 'JSONRPCErrorResponse', whole)
  }
  const own = MODERN_ERRORS[code]
  if (!own && ((code >= -32099 && code <= -32000) || code === -32042)) return `the error code ${code} (F-11, F-12)`
  return schemaFault(revision, 'JSONRPCErrorResponse', message) ?? (own && schemaFault(revision, own, message))
}

/** How many messages were checked in this process. */
export const checked: Record<Revision, number> = { '2025-03-26': 0, '2025-06-18': 0, '2025-11-25': 0, '2026-07-28': 0 }

const faults: string[] = []

/** Checks one message and counts it. What is wrong fails the test that runs. */
export function check(revision: Revision, message: unknown, answered?: Answered): void {
  checked[revision]++
  const fault = messageFault(revision, message, answered)
  if (fault) fail(`${revision} ${fault}\n  ${JSON.stringify(message)?.slice(0, 2000)}`)
}

/** Something on the wire is wrong. */
export function fail(fault: string): void {
  faults.push(fault)
}

/** The faults since the last call. */
export function takeFaults(): string[] {
  return faults.splice(0)
}

/** For the answers of servers in other processes: the text of a body, whole, by its content type. */
export function rawCheck(revision: Revision, contentType: string | null, text: string, answered?: Answered): void {
  if (contentType === 'application/json') checkJson(revision, text, answered)
  if (contentType === 'text/event-stream') new FrameCheck(() => revision, answered).write(text)
}

/** A JSON body: one message, or the answers of a batch. */
export function checkJson(revision: Revision, text: string, answered?: Answered): void {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    fail(`${revision} a body that is not JSON\n  ${text.slice(0, 2000)}`)
    return
  }
  if (Array.isArray(body)) for (const message of body) check(revision, message)
  else check(revision, body, answered)
}

/** Reads event-stream frames as they are written, in whatever pieces. */
export class FrameCheck {
  readonly #revision: () => Revision
  readonly #answered: Answered | undefined
  #rest = ''

  constructor(revision: () => Revision, answered: Answered | undefined) {
    this.#revision = revision
    this.#answered = answered
  }

  write(text: string): void {
    const frames = (this.#rest + text).split('\n\n')
    this.#rest = frames.pop()!
    for (const frame of frames) this.#check(frame)
  }

  #check(frame: string): void {
    const revision = this.#revision()
    const lines = frame.split('\n')
    const data = lines.filter((line) => line.startsWith('data:'))
    const broken = (why: string) => fail(`${revision} ${why}\n  ${JSON.stringify(frame.slice(0, 2000))}`)
    if (lines.some((line) => !/^(?::|data: |id: .|retry: \d+$)/.test(line))) broken('not a line of an event stream')
    if (frame.includes('\r')) broken('a carriage return in an event (S36)')
    if (revision === '2026-07-28' && lines.some((line) => line.startsWith('id:'))) broken('an event id (G-20)')
    if (data.length > 1) broken('more than one data line in an event (Q-49)')
    if (data.length !== 1) return
    const [json] = data.map((line) => line.slice('data: '.length))
    if (json === '') {
      if (revision !== '2025-11-25') broken('an event with empty data (D-06)')
      return
    }
    try {
      const message: unknown = JSON.parse(json!)
      check(revision, message, isAnswer(message) ? this.#answered : undefined)
    } catch {
      broken('data that is not JSON')
    }
  }
}

function isAnswer(message: unknown): boolean {
  return typeof message === 'object' && message !== null && ('result' in message || 'error' in message)
}
