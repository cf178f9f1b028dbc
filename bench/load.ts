// The load: a closed loop over keep-alive connections, each with one call in flight.
import { type Expected, wrongWith } from './check.ts'
import { type Answer, Connection } from './http.ts'
import { nextId, type PreparedRequest, setId } from './requests.ts'

/** Longer than any sane answer takes; a server that is silent for so long has failed. */
const SILENCE_MS = 20_000

export class Load {
  readonly #expected: Expected
  readonly #lanes: readonly { connection: Connection; request: PreparedRequest }[]

  private constructor(expected: Expected, lanes: readonly { connection: Connection; request: PreparedRequest }[]) {
    this.#expected = expected
    this.#lanes = lanes
  }

  /** One connection for each of the requests. */
  static async open(url: URL, requests: readonly PreparedRequest[], expected: Expected): Promise<Load> {
    const lanes = await Promise.all(
      requests.map(async (request) => ({ connection: await Connection.open(url), request })),
    )
    return new Load(expected, lanes)
  }

  /** At least so many calls. */
  async calls(count: number): Promise<void> {
    let left = count
    await this.#run(() => --left > 0)
  }

  /** Calls for a time and notes the latency of each, in ms. Ends when the last answer is there. */
  async during(ms: number, latencies: number[]): Promise<void> {
    const deadline = performance.now() + ms
    await this.#run((now, latency) => {
      latencies.push(latency)
      return now < deadline
    })
  }

  close(): void {
    for (const { connection } of this.#lanes) connection.close()
  }

  /** `more` hears of every answer and says whether that connection calls again. Rejects on the first wrong answer. */
  #run(more: (now: number, latency: number) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let open = this.#lanes.length
      let answers = 0
      let seen = 0
      const watch = setInterval(() => {
        if (answers === seen) fail(new Error(`no answer in ${SILENCE_MS} ms`))
        seen = answers
      }, SILENCE_MS)
      const fail = (error: Error): void => {
        clearInterval(watch)
        this.close()
        reject(error)
      }
      for (const { connection, request } of this.#lanes) {
        let id = 0
        let sent = 0
        const call = (): void => {
          id = nextId()
          setId(request, id)
          sent = performance.now()
          connection.send(request.bytes, answered, fail)
        }
        const answered = (answer: Answer): void => {
          const now = performance.now()
          const wrong = wrongWith(answer, id, this.#expected)
          answers++
          if (wrong !== undefined) {
            fail(new Error(wrong))
          } else if (more(now, now - sent)) {
            call()
          } else if (--open === 0) {
            clearInterval(watch)
            resolve()
          }
        }
        call()
      }
    })
  }
}
