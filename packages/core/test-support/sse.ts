// Reads answers: whole, or an event stream frame by frame.

export interface Message {
  jsonrpc?: string
  id?: string | number
  method?: string
  params?: { [key: string]: unknown }
  result?: { [key: string]: unknown }
  error?: { code: number; message: string; data?: unknown }
}

/** The text of a tool's result. */
export function textOf({ result }: Message): string | undefined {
  return (result?.content as { text: string }[] | undefined)?.[0]?.text
}

export interface Frame {
  /** As it came, without the blank line. */
  raw: string
  id?: string
  retry?: number
  /** The message of its data. */
  message?: Message
}

/** The frames of an event stream, as they come. */
export class Frames {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #rest = ''
  #ready: Frame[] = []

  constructor(response: Response) {
    this.#reader = response.body!.getReader()
  }

  /** The next frame; undefined: the stream has ended. */
  async next(): Promise<Frame | undefined> {
    while (this.#ready.length === 0) {
      const { done, value } = await this.#reader.read()
      if (done) return undefined
      this.#rest += this.#decoder.decode(value, { stream: true })
      const frames = this.#rest.split('\n\n')
      this.#rest = frames.pop()!
      this.#ready = frames.map(parseFrame)
    }
    return this.#ready.shift()
  }

  /** The next message: comments and anchors are passed over. */
  async message(): Promise<Message | undefined> {
    for (;;) {
      const frame = await this.next()
      if (!frame) return undefined
      if (frame.message) return frame.message
    }
  }

  /** All messages up to the end. */
  async rest(): Promise<Message[]> {
    const messages: Message[] = []
    for (;;) {
      const message = await this.message()
      if (!message) return messages
      messages.push(message)
    }
  }

  /** The client goes away. */
  cancel(): Promise<void> {
    return this.#reader.cancel()
  }
}

export function parseFrame(raw: string): Frame {
  const frame: Frame = { raw }
  for (const line of raw.split('\n')) {
    const [, field, value] = /^([a-z]*): ?(.*)$/s.exec(line) ?? []
    if (field === 'id') frame.id = value!
    if (field === 'retry') frame.retry = Number(value)
    if (field === 'data' && value !== '') frame.message = JSON.parse(value!)
  }
  return frame
}

/** An answer read to its end, in whatever form it came. */
export interface Answer {
  status: number
  headers: Headers
  /** Of the content type; `none` without one. */
  form: 'json' | 'sse' | 'none' | 'other'
  /** The bytes of the body, as text. */
  text: string
  /** Every message in it. */
  messages: Message[]
  /** The last of them: the answer proper. */
  message: Message
}

const FORMS: Readonly<Record<string, Answer['form']>> = { 'application/json': 'json', 'text/event-stream': 'sse' }

export async function read(answered: Response | Promise<Response>): Promise<Answer> {
  const response = await answered
  return answerOf(response.status, response.headers, await response.text())
}

export function answerOf(status: number, headers: Headers, text: string): Answer {
  const type = headers.get('content-type')
  const form = type === null ? 'none' : (FORMS[type] ?? 'other')
  const messages = messagesOf(form, text)
  return { status, headers, form, text, messages, message: messages.at(-1) ?? {} }
}

function messagesOf(form: Answer['form'], text: string): Message[] {
  if (form === 'json' && text !== '') return [JSON.parse(text)].flat()
  if (form !== 'sse') return []
  return text
    .split('\n\n')
    .map((frame) => parseFrame(frame).message)
    .filter((message) => message !== undefined)
}
