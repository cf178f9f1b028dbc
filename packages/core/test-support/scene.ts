// A transport for one test, and the proof that nothing of it is left when the test is over.
import { expect, onTestFinished, vi } from 'vitest'
import type { TransportOptions } from '../src/options.ts'
import type { Server } from '../src/server.ts'
import { createTransport, type Transport } from '../src/transport.ts'
import { TestServer } from './server.ts'

/** What `onError` was told. */
export interface Reported {
  error: unknown
  where: { phase: string; method?: string; sessionId?: string }
}

export interface Scene<S = TestServer> {
  server: S
  transport: Transport
  reported: Reported[]
}

/** A server, by default a test server, behind a transport with these options. */
export function scene(options?: TransportOptions): Scene
export function scene<S extends Server>(options: TransportOptions, server: S): Scene<S>
export function scene(options: TransportOptions = {}, server: Server = new TestServer()): Scene<Server> {
  const reported: Reported[] = []
  const transport = createTransport(server, { onError: (error, where) => reported.push({ error, where }), ...options })
  onTestFinished(async () => {
    await idle(transport)
    await transport.close({ timeoutMs: 0 })
    expect(transport.stats(), 'left open after close').toMatchObject({ connections: 0, inFlight: 0, timers: 0 })
  })
  return { server, transport, reported }
}

/** Resolves when no request is in flight and no stream is open. */
export async function idle(transport: Transport): Promise<void> {
  await until(() => expect(transport.stats(), 'left open').toMatchObject({ connections: 0, inFlight: 0 }))
}

/** Resolves when the assertions hold; for what no event tells of. */
export async function until(assertions: () => void): Promise<void> {
  await vi.waitFor(assertions, { timeout: 5000, interval: 2 })
}
