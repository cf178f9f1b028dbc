// The instances of sessions: so many at most, the one unused for longest closed first, and none while it is at work.
import type { Instance } from './instance.ts'

interface Kept {
  readonly made: Promise<Instance>
  /** Once it is there. */
  instance: Instance | undefined
}

export class Instances {
  readonly #max: number
  /** By session; the longest unused first. */
  readonly #kept = new Map<string, Kept>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#kept.size
  }

  /** The instance of a session, made where there is none. */
  get(sessionId: string, make: () => Promise<Instance>): Instance | Promise<Instance> {
    const known = this.#kept.get(sessionId)
    if (known) this.#kept.delete(sessionId)
    if (known && !known.instance?.link.isClosed) {
      this.#kept.set(sessionId, known)
      return known.instance ?? known.made
    }
    const kept: Kept = { made: make(), instance: undefined }
    this.#kept.set(sessionId, kept)
    kept.made.then(
      (instance) => {
        kept.instance = instance
        if (this.#kept.get(sessionId) !== kept) void closeInstance(instance) // the session has ended meanwhile
      },
      () => {
        if (this.#kept.get(sessionId) === kept) this.#kept.delete(sessionId)
      },
    )
    this.trim()
    return kept.made
  }

  /** Closes that of a session which is over. */
  drop(sessionId: string): void {
    const instance = this.#kept.get(sessionId)?.instance
    this.#kept.delete(sessionId)
    if (instance) void closeInstance(instance)
  }

  /** There may be one too many, and one that has ended its work. */
  trim(): void {
    if (this.#kept.size > this.#max) this.#drop(this.#kept.size - this.#max)
  }

  /** Closes all that are not at work. */
  clear(): void {
    this.#drop(this.#kept.size)
  }

  #drop(count: number): void {
    let left = count
    for (const [sessionId, { instance }] of this.#kept) {
      if (left === 0) return
      if (!instance || instance.link.isBusy) continue
      this.drop(sessionId)
      left--
    }
  }
}

/** Whatever the server does when it is closed. */
export async function closeInstance({ server, link }: Instance): Promise<void> {
  try {
    await server.close()
  } catch (error) {
    link.onerror?.(error as Error)
  }
  await link.close()
}
