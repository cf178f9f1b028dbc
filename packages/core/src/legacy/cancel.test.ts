import { describe, expect, test } from 'vitest'
import { LEGACY_VERSIONS, legacy } from '../../test-support/clients.ts'
import { idle, scene, until } from '../../test-support/scene.ts'
import { read, textOf } from '../../test-support/sse.ts'
import type { TransportOptions } from '../options.ts'

/** In JSON the call waits for its answer, in SSE its stream is open. */
const FORMS: [string, TransportOptions][] = [
  ['json', { streams: { streamAfterMs: 60_000 } }],
  ['sse', { streams: { streamAfterMs: 0 } }],
]

describe.each(LEGACY_VERSIONS.flatMap((version) => FORMS.map(([form, options]) => ({ version, form, options }))))(
  '$version, $form',
  ({ version, options }) => {
    async function start() {
      const { transport, server } = scene(options)
      const client = await legacy(transport, version)
      const cancel = (requestId: unknown, reason?: unknown) =>
        client.notify('notifications/cancelled', { requestId, ...(reason === undefined ? {} : { reason }) })
      return { transport, server, client, cancel }
    }

    test.each([0, 1, -1, '', '1', '001', 'é'])(
      'S25 E-17 R26 the id %j: the handler is stopped, and no answer goes out',
      async (id) => {
        const { server, client, cancel, transport } = await start()
        const call = client.call('slow', { text: 'x' }, { id })
        await server.started('slow')
        expect(await cancel(id, 'the user pressed stop')).toMatchObject({ status: 202, text: '' })
        expect((await call).messages).toEqual([])
        await until(() => expect(server.aborted).toHaveLength(1))
        expect(String((server.aborted[0] as Error).message)).toContain('the user pressed stop')
        await idle(transport)
      },
    )

    test.each<[string | number, string | number]>([
      ['1', 1],
      [1, '1'],
      ['', 0],
      [0, ''],
      ['01', '1'],
    ])('S25 W13 a cancel of %j does not touch %j', async (cancelled, other) => {
      const { server, client, cancel } = await start()
      const calls = [cancelled, other].map((id) => client.call('slow', { text: 'mine' }, { id }))
      await server.started('slow', 2)
      await cancel(cancelled)
      expect((await calls[0]!).messages).toEqual([])
      server.gates.open('slow')
      expect(textOf((await calls[1]!).message)).toBe('mine')
    })

    test.each([undefined, null, 1.5, {}, [], true, 99, 'nope', 2 ** 60])(
      'E-18 a cancel of %j: 202, no effect',
      async (requestId) => {
        const { server, client, cancel } = await start()
        const call = client.call('slow', { text: 'x' }, { id: 1 })
        await server.started('slow')
        expect((await cancel(requestId)).status).toBe(202)
        expect((await client.send({ jsonrpc: '2.0', method: 'notifications/cancelled' })).status).toBe(202)
        server.gates.open('slow')
        expect(textOf((await call).message)).toBe('x')
      },
    )

    test('S25 W13 another session’s cancel does not touch it', async () => {
      const { server, client, transport } = await start()
      const call = client.call('slow', { text: 'x' }, { id: 1 })
      await server.started('slow')
      const other = await legacy(transport, version)
      expect((await other.notify('notifications/cancelled', { requestId: 1 })).status).toBe(202)
      server.gates.open('slow')
      expect(textOf((await call).message)).toBe('x')
    })

    test('E-18 W13 a cancel that comes after the answer does not touch the next call with that id', async () => {
      const { server, client, cancel } = await start()
      await client.call('echo', { text: 'x' }, { id: 1 })
      expect((await cancel(1)).status).toBe(202)
      const call = client.call('slow', { text: 'next' }, { id: 1 })
      await server.started('slow')
      server.gates.open('slow')
      expect(textOf((await call).message)).toBe('next')
    })

    test('a handler that does not heed its signal: what it returns goes nowhere', async () => {
      const { server, client, cancel, transport } = await start()
      server.tool('deaf', async () => {
        await server.gates.pass('deaf')
        return { content: [] }
      })
      const call = client.call('deaf', {}, { id: 1 })
      await server.started('deaf')
      await cancel(1)
      expect((await call).messages).toEqual([])
      server.gates.open('deaf')
      await idle(transport)
    })

    test('S24 B-08 a dropped connection is no cancel: the call runs to its end', async () => {
      const { server, client, transport } = await start()
      const dropped = new AbortController()
      const sent = { signal: dropped.signal }
      const response = client.open('tools/call', { name: 'slow', arguments: { text: 'x' } }, sent)
      await server.started('slow')
      dropped.abort()
      if (options.streams?.streamAfterMs === 0) await (await response).body!.cancel()
      expect(server.aborted).toEqual([])
      server.gates.open('slow')
      await until(() => expect(server.finished).toBe(1))
      await response
      await idle(transport)
      expect(server.aborted).toEqual([])
    })
  },
)

test('R26 a cancel before the handler runs: it never does', async () => {
  const gate = Promise.withResolvers<void>()
  const { transport, server } = scene({
    context: (request) => (request.headers.has('x-wait') ? gate.promise : undefined),
  })
  const client = await legacy(transport)
  const call = client.open('tools/call', { name: 'echo', arguments: {} }, { id: 1, headers: { 'x-wait': '1' } })
  await until(() => expect(transport.stats().inFlight).toBe(1))
  await client.notify('notifications/cancelled', { requestId: 1 })
  expect((await read(call)).messages).toEqual([])
  gate.resolve()
  await idle(transport)
  expect(server.runs.echo).toBeUndefined()
})
