// A wire to Redis that can be cut, also between a step and its reply.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface FaultProxy {
  readonly url: string
  /** Connections so far. */
  readonly count: number
  /** Cuts the connection that carries a request with this text, once Redis has answered it: the reply is lost. */
  loseReplyTo(text: string): void
  /** How often a request with this text went by. */
  requests(text: string): number
  /** From now on nothing gets through, and nobody is told. */
  freeze(): void
  /** New connections get through; those that were frozen stay dead. */
  thaw(): void
  close(): Promise<void>
}

export async function startProxy(redisUrl: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(redisUrl)
  const sockets = new Set<Socket>()
  let doomed: string | undefined
  let isFrozen = false
  let seen = ''
  let count = 0

  const server = createServer((near) => {
    count++
    const far = connect(Number(port), hostname)
    let losesReply = false
    let isDead = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.on('data', (chunk) => {
      isDead ||= isFrozen
      if (isDead) return
      const text = chunk.toString('latin1')
      seen += text
      if (doomed !== undefined && text.includes(doomed)) {
        doomed = undefined
        losesReply = true
      }
      far.write(chunk)
    })
    far.on('data', (chunk) => {
      isDead ||= isFrozen
      if (isDead) return
      if (losesReply) near.destroy()
      else near.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `redis://127.0.0.1:${(server.address() as { port: number }).port}`,
    get count() {
      return count
    },
    loseReplyTo(text) {
      doomed = text
    },
    requests: (text) => seen.split(text).length - 1,
    freeze() {
      isFrozen = true
    },
    thaw() {
      isFrozen = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
