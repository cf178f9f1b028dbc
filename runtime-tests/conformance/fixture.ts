// A fixture as a process of its own, or as a fleet of them, for as long as one run takes.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startBalancer } from '../fleet/support/balancer.ts'
import { startRedis } from '../redis/servers.ts'
import { startNode } from './child.ts'

export interface Running {
  url: string
  /** Rejects if it was not there any more, or ends badly. */
  stop(): Promise<void>
}

/**
 * @param name of its file in `fixtures/`
 * @param nodes more than one: over a Redis of their own, behind a balancer that sends each request to the next
 */
export async function startFixture(name: string, nodes = 1): Promise<Running> {
  if (nodes === 1) return startOne(name)
  const started: { stop(): Promise<void> }[] = []
  const stop = async () => {
    for (const one of started.reverse()) await one.stop()
  }
  try {
    const redis = await startRedis()
    started.push(redis)
    const running: Running[] = []
    for (let i = 0; i < nodes; i++) {
      const one = await startOne(name, ['--store', redis.url])
      started.push(one)
      running.push(one)
    }
    const balancer = await startBalancer(running.map(({ url }) => url))
    started.push({ stop: () => balancer.close() })
    return { url: balancer.url, stop }
  } catch (error) {
    await stop().catch(() => {}) // the first error is the one to tell
    throw error
  }
}

async function startOne(name: string, args: readonly string[] = []): Promise<Running> {
  const file = fileURLToPath(new URL(`../../fixtures/${name}.ts`, import.meta.url))
  const child = startNode([file, '--port', '0', ...args])
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
