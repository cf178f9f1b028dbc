// What every server of the bench exports, and the one small server that all of them are: the tool `echo(text)` and the
// tool `progress(n)`, which reports n steps and then returns.

export interface Served {
  /** Where the load goes. */
  url: string
  /** False: knows no sessions, so the load makes up session ids of the same length. */
  handshake?: false
  /** What the client must accept where that differs from the workload's own header. */
  accept?: string
}

/** A server module: `bench/servers/<name>.ts`. It runs in a process of its own, once for each workload. */
export interface ServerModule {
  /** The packages whose versions the report names. */
  uses: readonly string[]
  /** undefined: this server has no such workload, shown as “–”. */
  start(workload: string): Promise<Served | undefined>
}

export const BOTH_FORMS = 'application/json, text/event-stream'
export const HOSTNAME = '127.0.0.1'
export const INFO: { name: string; version: string } = { name: 'bench', version: '1.0.0' }

/** What `echo` is asked to say, and what `progress` says in the end. */
export const TEXT = 'hello from the bench'

export interface Result {
  content: { type: 'text'; text: string }[]
  [key: string]: unknown
}

export function text(value: string): Result {
  return { content: [{ type: 'text', text: value }] }
}
