// A dumb balancer: each request goes to the next node, whatever session it is of. It can cut what runs through it.
import { once } from 'node:events'
import { Agent, type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Balancer {
  /** The same path as the nodes'. */
  readonly url: string
  /** Requests that went to each node, in the order of the targets. */
  readonly served: readonly number[]
  /** Nothing goes to this node any more. */
  remove(target: string): void
  /** Cuts the exchanges that are not over: both sides see it. Gives their number. */
  cut(): number
  /** Cuts the client's side alone: the node's stays open, unread, and the node does not know. */
  haunt(): number
  close(): Promise<void>
}

interface Passing {
  readonly res: ServerResponse
  readonly there: ClientRequest
  answer?: IncomingMessage
  isGhost: boolean
}

/** `targets` are the URLs of the nodes. */
export async function startBalancer(targets: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const passing = new Set<Passing>()
  const served = targets.map(() => 0)
  const dead = new Set<string>()
  let turn = 0

  const server = createServer((req, res) => {
    const alive = targets.filter((target) => !dead.has(target))
    const target = alive[turn++ % alive.length]!
    served[targets.indexOf(target)]!++
    const { host, hostname, port } = new URL(target)
    const there = request({
      hostname,
      port,
      path: req.url,
      method: req.method,
      headers: { ...req.headers, host },
      agent,
    })
    const one: Passing = { res, there, isGhost: false }
    passing.add(one)
    there.on('response', (answer) => {
      one.answer = answer
      res.writeHead(answer.statusCode!, answer.headers)
      res.flushHeaders()
      answer.pipe(res)
      answer.on('error', () => res.destroy())
      answer.on('end', () => passing.delete(one))
    })
    there.on('error', () => {
      passing.delete(one)
      if (res.headersSent) res.destroy()
      else res.writeHead(502).end()
    })
    req.pipe(there)
    req.on('error', () => {})
    res.on('close', () => {
      if (one.isGhost) return
      passing.delete(one)
      if (!res.writableFinished) there.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(targets[0]!).pathname}`,
    served,
    remove: (target) => void dead.add(target),
    cut() {
      const cut = [...passing].filter(({ isGhost }) => !isGhost)
      for (const { res, there } of cut) {
        res.destroy()
        there.destroy()
      }
      return cut.length
    },
    haunt() {
      const haunted = [...passing].filter(({ isGhost }) => !isGhost)
      for (const one of haunted) {
        one.isGhost = true
        one.answer?.unpipe(one.res)
        one.answer?.pause()
        one.res.destroy()
      }
      return haunted.length
    },
    async close() {
      for (const { res, there } of passing) {
        res.destroy()
        there.destroy()
      }
      agent.destroy()
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
