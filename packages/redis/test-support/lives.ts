// Looks at every key again and again: none may be without a life, at any moment.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'

/** Between two looks: the cases need the processor too. */
const PAUSE_MS = 5

export interface LifeWatch {
  /** How often a key was looked at so far. */
  readonly looks: number
  /** Keys that had no life. */
  stop(): Promise<string[]>
}

export function watchLives(servers: Redis[], prefix: string): LifeWatch {
  const eternal = new Set<string>()
  let looks = 0
  let isOver = false

  async function watch(server: Redis): Promise<void> {
    for (let cursor = '0'; !isOver; ) {
      const [next, keys] = await server.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000)
      cursor = next
      const lives = await Promise.all(keys.map((key) => server.pttl(key)))
      looks += keys.length
      for (const [i, key] of keys.entries()) if (lives[i] === -1) eternal.add(key)
      await sleep(PAUSE_MS)
    }
    server.disconnect()
  }
  const watching = Promise.all(servers.map(watch))
  return {
    get looks() {
      return looks
    },
    async stop() {
      isOver = true
      await watching
      return [...eternal]
    },
  }
}
