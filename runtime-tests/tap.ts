// A TCP relay, byte for byte, that notes when what passed: to see what reaches a client that shows only its result.

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface Tap {
  /** The same URL, through the relay. */
  url: string
  /** What the server has sent, by when it passed in ms. */
  seen: { at: number; text: string }[]
  close(): Promise<void>
}

export async function tap(url: string): Promise<Tap> {
  const { port, hostname } = new URL(url)
  const seen: Tap['seen'] = []
  const sockets = new Set<Socket>()
  const relay = createServer((client) => {
    const server = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
    server.on('data', (chunk) => seen.push({ at: performance.now(), text: chunk.toString('latin1') }))
    client.pipe(server).pipe(client)
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const tapped = new URL(url)
  tapped.port = String((relay.address() as AddressInfo).port)
  return {
    url: tapped.href,
    seen,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        relay.close(() => resolve())
      }),
  }
}
