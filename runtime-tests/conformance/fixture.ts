// A fixture as a process of its own, for as long as one run takes.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startNode } from './child.ts'

export interface Running {
  url: string
  /** Rejects if it was not there any more, or ends badly. */
  stop(): Promise<void>
}

/** @param name of its file in `fixtures/` */
export async function startFixture(name: string): Promise<Running> {
  const child = startNode([fileURLToPath(new URL(`../../fixtures/${name}.ts`, import.meta.url)), '--port', '0'])
  child.stderr.pipe(process.stderr)
  const ended = once(child, 'close').then(([code, signal]) => signal ?? code)
  const failed = ended.then((how) => {
    throw new Error(`the fixture ${name} did not start: it ended with ${how}`)
  })
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), failed])
  failed.catch(() => {}) // from now on its end is looked at when it is stopped
  return {
    url: JSON.parse(line).url,
    async stop() {
      child.kill('SIGTERM')
      const how = await ended
      if (how !== 0) throw new Error(`the fixture ${name} ended with ${how}`)
    },
  }
}
