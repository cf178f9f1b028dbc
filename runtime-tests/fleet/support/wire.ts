// Clients by hand, of either era: the test chooses the node of each request, and streams are followed in the background.
import type { RpcMessage } from '../../../fixtures/raw.ts'
import { until } from './until.ts'

export interface StreamEvent {
  id?: string
  retry?: number
  message?: RpcMessage
}

/** An answer as it comes: an event stream, or JSON as one event. */
export class Answer {
  readonly status: number
  readonly headers: Headers
  readonly events: StreamEvent[] = []
  /** Settles when nothing more comes, however that came about. */
  readonly over: Promise<void>
  /** True if it was ended in good order. */
  complete = false
  #isOver = false
  readonly #gone: AbortController

  constructor(response: Response, gone: AbortController) {
    this.status = response.status
    this.headers = response.headers
    this.#gone = gone
    this.over = this.#follow(response).finally(() => {
      this.#isOver = true
    })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get messages(): RpcMessage[] {
    return this.events.flatMap(({ message }) => message ?? [])
  }

  /** From which a client would go on. */
  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id
  }

  /** Resolves when so many messages are there. */
  async has(count: number): Promise<RpcMessage[]> {
    await until(
      `${count} messages, ${JSON.stringify(this.events)}`,
      () => this.messages.length >= count || this.#isOver,
    )
    return this.messages
  }

  /** The client goes away. */
  async leave(): Promise<void> {
    this.#gone.abort()
    await this.over
  }

  async #follow(response: Response): Promise<void> {
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    const utf8 = new TextDecoder()
    let rest = ''
    try {
      for await (const bytes of response.body ?? []) {
        rest += utf8.decode(bytes, { stream: true })
        if (!isStream) continue
        const frames = rest.split('\n\n')
        rest = frames.pop()!
        for (const frame of frames) this.events.push(eventOf(frame))
      }
      this.complete = true
    } catch {
      // It was cut, by whoever.
    }
    if (!isStream && this.complete && rest !== '') this.events.push({ message: JSON.parse(rest) as RpcMessage })
  }
}

function eventOf(frame: string): StreamEvent {
  const event: StreamEvent = {}
  for (const line of frame.split('\n')) {
    const [, field, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? []
    if (field === 'id') event.id = value!
    if (field === 'retry') event.retry = Number(value)
    if (field === 'data' && value !== '') event.message = JSON.parse(value!) as RpcMessage
  }
  return event
}

const FORMS = 'application/json, text/event-stream'

/** Any request. Resolves with the head of the answer. */
export async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  message?: unknown,
): Promise<Answer> {
  const gone = new AbortController()
  const body = message === undefined ? {} : { body: JSON.stringify(message) }
  const form: Record<string, string> = message === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(url, {
    method,
    headers: { accept: FORMS, ...form, ...headers },
    signal: gone.signal,
    ...body,
  })
  return new Answer(response, gone)
}

/** A legacy session: each method takes the URL of the node that it goes to. */
export interface Session {
  readonly id: string
  readonly headers: Record<string, string>
  /** A request; resolves with the head of the answer. */
  request(url: string, method: string, params?: object, id?: string | number): Promise<Answer>
  /** A request; resolves when it is answered. */
  ask(url: string, method: string, params?: object, id?: string | number): Promise<RpcMessage>
  call(url: string, tool: string, args?: object, id?: string | number): Promise<Answer>
  /** `tools/call` with a progress token. */
  steps(url: string, args: { n: number; ms: number }, id?: string | number): Promise<Answer>
  notify(url: string, method: string, params?: object): Promise<Answer>
  /** An answer to a request of the server. */
  answer(url: string, id: string | number, result: object): Promise<Answer>
  /** GET; the standalone stream, or the one that the id is of. */
  listen(url: string, lastEventId?: string): Promise<Answer>
  end(url: string): Promise<Answer>
}

let ids = 0

export interface SessionOptions {
  version?: string
  capabilities?: object
  headers?: Record<string, string>
  /** Where `notifications/initialized` goes. */
  readyAt?: string
}

export async function openSession(url: string, options: SessionOptions = {}): Promise<Session> {
  const {
    version = '2025-11-25',
    capabilities = { elicitation: {}, sampling: {} },
    headers = {},
    readyAt = url,
  } = options
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'hand', version: '1' } }
  const began = await send(url, 'POST', headers, { jsonrpc: '2.0', id: ++ids, method: 'initialize', params })
  await began.over
  const id = began.headers.get('mcp-session-id')
  if (began.status !== 200 || id === null)
    throw new Error(`initialize: ${began.status} ${JSON.stringify(began.messages)}`)
  const session = sessionOf(id, { ...headers, 'mcp-protocol-version': version })
  const ready = await session.notify(readyAt, 'notifications/initialized')
  if (ready.status !== 202) throw new Error(`notifications/initialized: ${ready.status}`)
  return session
}

function sessionOf(id: string, more: Record<string, string>): Session {
  const headers: Record<string, string> = { ...more, 'mcp-session-id': id }
  const post = (url: string, message: object) => send(url, 'POST', headers, { jsonrpc: '2.0', ...message })
  const request: Session['request'] = (url, method, params, id = ++ids) => post(url, { id, method, params })
  const settled = async (sent: Promise<Answer>) => {
    const answer = await sent
    await answer.over
    return answer
  }
  return {
    id,
    headers,
    request,
    async ask(url, method, params, id) {
      const { status, messages } = await settled(request(url, method, params, id))
      const answer = messages.at(-1)
      if (status !== 200 || !answer) throw new Error(`${method}: ${status} ${JSON.stringify(messages)}`)
      return answer
    },
    call: (url, name, args = {}, id) => request(url, 'tools/call', { name, arguments: args }, id),
    steps: (url, args, id) =>
      request(url, 'tools/call', { name: 'progress', arguments: args, _meta: { progressToken: 'p' } }, id),
    notify: (url, method, params) => settled(post(url, { method, params })),
    answer: (url, id, result) => settled(post(url, { id, result })),
    listen: (url, lastEventId) =>
      send(url, 'GET', {
        ...headers,
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      }),
    end: (url) => settled(send(url, 'DELETE', headers)),
  }
}

const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol/'

export interface ModernOptions {
  capabilities?: object
  headers?: Record<string, string>
  name?: string
}

/** A request of 2026-07-28. */
export function modern(url: string, method: string, params: object = {}, options: ModernOptions = {}): Promise<Answer> {
  const { capabilities = { elicitation: {} }, headers = {}, name } = options
  const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: capabilities }
  const mirrored = { 'mcp-protocol-version': VERSION, 'mcp-method': method, ...(name ? { 'mcp-name': name } : {}) }
  const message = { jsonrpc: '2.0', id: ++ids, method, params: { ...params, _meta } }
  return send(url, 'POST', { ...mirrored, ...headers }, message)
}

/** A call of 2026-07-28, answered. */
export async function modernAsk(
  url: string,
  tool: string,
  args: Record<string, unknown> = {},
  more: object = {},
  capabilities: object = { elicitation: {} },
): Promise<{ status: number; message: RpcMessage | undefined }> {
  const answer = await modern(url, 'tools/call', { name: tool, arguments: args, ...more }, { name: tool, capabilities })
  await answer.over
  return { status: answer.status, message: answer.messages.at(-1) }
}

/** `subscriptions/listen`; resolves when it is acknowledged. */
export async function listenModern(url: string, notifications: object): Promise<Answer> {
  const answer = await modern(url, 'subscriptions/listen', { notifications })
  await answer.has(1)
  return answer
}
