// A client that listens to an event stream in the background, and keeps all that comes.
import { expect } from 'vitest'
import type { Client, HeaderChanges } from './clients.ts'
import { until } from './scene.ts'
import { type Frame, Frames, type Message } from './sse.ts'

export class Listener {
  readonly frames: Frame[] = []
  /** Settles when the stream has ended. */
  readonly ended: Promise<void>
  readonly #source: Frames
  #over = false

  constructor(source: Frames) {
    this.#source = source
    this.ended = this.#follow().finally(() => {
      this.#over = true
    })
  }

  get over(): boolean {
    return this.#over
  }

  get messages(): Message[] {
    return this.frames.flatMap(({ message }) => message ?? [])
  }

  /** From which a client would go on. */
  get lastId(): string | undefined {
    return this.frames.findLast(({ id }) => id !== undefined)?.id
  }

  get comments(): number {
    return this.frames.filter(({ raw }) => raw.startsWith(':')).length
  }

  /** Resolves when so many messages are there. */
  async has(count: number): Promise<Message[]> {
    await until(() => expect(this.messages.length).toBeGreaterThanOrEqual(count))
    return this.messages
  }

  /** The client goes away. */
  async leave(): Promise<void> {
    await this.#source.cancel()
    await this.ended
  }

  async #follow(): Promise<void> {
    for (let frame = await this.#source.next(); frame; frame = await this.#source.next()) this.frames.push(frame)
  }
}

/** The standalone stream of a session; or, with an id, the stream that it is of. */
export async function listen(client: Client, lastEventId?: string, headers: HeaderChanges = {}): Promise<Listener> {
  const response = await client.verb('GET', { 'last-event-id': lastEventId, ...headers })
  expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({
    status: 200,
    type: 'text/event-stream',
  })
  return new Listener(new Frames(response))
}
