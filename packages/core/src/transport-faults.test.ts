// What the app's own functions, the store and the hooks may do wrong: `handle` answers all the same.
import { describe, expect, test, vi } from 'vitest'
import { ALL_VERSIONS, clientOf, initialize, legacy, MODERN, modern, post, verb } from '../test-support/clients.ts'
import { type Scene, scene, until } from '../test-support/scene.ts'
import { PRIVATE, TestServer } from '../test-support/server.ts'
import { type Answer, read } from '../test-support/sse.ts'
import { memoryStore } from './memory-store.ts'
import type { Observer, TransportOptions } from './options.ts'
import { type Store, StoreUnavailable } from './store.ts'

const failing = (): never => {
  throw new Error(PRIVATE)
}
const rejecting = () => Promise.reject(new Error(PRIVATE))

/** An internal error that says nothing, and that `onError` has heard of. */
function expectHushed(answer: Answer, { reported }: Scene, statuses: number[]): void {
  expect(statuses).toContain(answer.status)
  expect(answer).toMatchObject({ form: 'json', message: { error: { code: -32603 } } })
  expect(answer.text).not.toContain(PRIVATE)
  expect(reported.length).toBeGreaterThan(0)
}

describe('the app’s own functions', () => {
  test.each<[string, () => unknown]>([
    ['throws', failing],
    ['rejects', rejecting],
    ['returns nothing', () => undefined],
    ['returns null', () => null],
    ['returns a principal without id', () => ({})],
    ['returns a principal whose id is empty', () => ({ id: '' })],
    ['returns a principal whose id is a number', () => ({ id: 5 })],
  ])('auth that %s lets nobody in', async (_what, auth) => {
    const made = scene({ auth: auth as NonNullable<TransportOptions['auth']> })
    expectHushed(await modern(made.transport).call('echo'), made, [500])
    expectHushed(await read(verb(made.transport, 'DELETE', { 'mcp-session-id': 'x' })), made, [500])
    expect(made.server.runs).toEqual({})
  })

  test.each(ALL_VERSIONS)('context that throws or rejects: %s', async (version) => {
    for (const context of [failing, rejecting]) {
      const made = scene({ context: context as () => never })
      const client = await clientOf(made.transport, version)
      expectHushed(await client.call('echo'), made, [200, 500])
      expect(made.server.runs).toEqual({})
    }
  })

  test.each(['route', 'describe'] as const)('a server whose %s throws', async (method) => {
    const made = scene()
    made.server[method] = failing
    expectHushed(
      await modern(made.transport).request(method === 'route' ? 'tools/list' : 'server/discover'),
      made,
      [200, 500],
    )
    if (method === 'describe') {
      expectHushed(await read(post(made.transport, initialize('2025-11-25'))), made, [200, 500])
    }
  })

  test('R02 onSessionStart that throws: no session is handed out', async () => {
    for (const onSessionStart of [failing, rejecting]) {
      const made = scene({ onSessionStart })
      const answer = await read(post(made.transport, initialize('2025-11-25')))
      expectHushed(answer, made, [200, 500])
      expect(answer.headers.has('mcp-session-id')).toBe(false)
    }
  })

  test('onSessionEnd that throws: the session is over all the same', async () => {
    for (const onSessionEnd of [failing, rejecting]) {
      const { transport, reported } = scene({ onSessionEnd })
      const client = await legacy(transport)
      expect([200, 204]).toContain((await client.verb('DELETE')).status)
      expect((await client.call('echo')).status).toBe(404)
      expect(reported.length).toBeGreaterThan(0)
    }
  })

  test('S62 a request whose body was read before: a prompt, explained error', async () => {
    const { transport } = scene()
    const headers = { host: 'localhost', 'content-type': 'application/json' }
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, body: '{}' })
    await request.text()
    const answer = await read(transport.handle(request))
    expect(answer).toMatchObject({ status: 500, form: 'json', message: { error: { code: -32603 } } })
    expect(answer.message.error?.message).toMatch(/body/)
  })

  test('S62 the same where somebody holds the body’s reader', async () => {
    const { transport } = scene()
    const headers = { host: 'localhost', 'content-type': 'application/json' }
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, body: '{}' })
    request.body!.getReader()
    const answer = await read(transport.handle(request))
    expect(answer.status).toBe(500)
    expect(answer.message.error?.message).toMatch(/body/)
  })
})

/** A memory store whose calls can be made to fail. */
function frail(): { store: Store; fail: (error: Error | undefined) => void } {
  let error: Error | undefined
  const inner = memoryStore()
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name, receiver) {
        const member = Reflect.get(target, name, receiver) as (...args: unknown[]) => Promise<unknown>
        return (...args: unknown[]) => (error ? Promise.reject(error) : member.apply(target, args))
      },
    })
  const store: Store = { ...inner, kv: wrap(inner.kv), log: wrap(inner.log), bus: wrap(inner.bus) }
  return {
    store,
    fail: (next) => {
      error = next
    },
  }
}

describe('S58 a store that is away', () => {
  test('legacy requests get 503 with Retry-After and no text of the store; modern ones are served; it comes back', async () => {
    const { store, fail } = frail()
    const { transport } = scene({ store })
    const client = await legacy(transport)
    fail(new StoreUnavailable(PRIVATE))
    const refused = [
      await client.call('echo', { text: 'x' }),
      await client.notify('notifications/cancelled', { requestId: 1 }),
      await read(client.verb('DELETE')),
      await read(post(transport, initialize('2025-11-25'))),
    ]
    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 503, form: 'json', message: { error: { code: -32603 } } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.text).not.toContain(PRIVATE)
    }
    expect((await modern(transport).call('echo', { text: 'x' })).status).toBe(200)
    fail(undefined)
    expect((await client.call('echo', { text: 'x' })).status).toBe(200)
  })

  test('the 503 to a request has its id', async () => {
    const { store, fail } = frail()
    const client = await legacy(scene({ store }).transport)
    fail(new StoreUnavailable(''))
    expect((await client.call('echo', {}, { id: 'mine' })).message.id).toBe('mine')
  })

  test('a store with a bug is an internal error, without its text', async () => {
    const { store, fail } = frail()
    const made = scene({ store })
    const client = await legacy(made.transport)
    fail(new TypeError(PRIVATE))
    expectHushed(await client.call('echo'), made, [500])
    fail(undefined)
  })
})

describe('R30 R34 hooks', () => {
  const seen = (): Observer & { events: [string, object][] } => {
    const events: [string, object][] = []
    const note = (hook: string) => (event: object) => void events.push([hook, event])
    return { events, request: note('request'), session: note('session'), stream: note('stream'), store: note('store') }
  }
  const only = (events: [string, object][], hook: string) =>
    events.filter(([name]) => name === hook).map(([, one]) => one)

  test('the observer hears of requests, sessions, streams and store calls', async () => {
    const observer = seen()
    const { transport, server } = scene({ observer })
    const client = await legacy(transport, '2025-06-18')
    server.gates.open('step 1')
    await client.call('steps', { n: 1 }, { meta: { progressToken: 1 } })
    await modern(transport).call('throws', { kind: 'sync' })
    await client.verb('DELETE')
    await until(() => expect(only(observer.events, 'stream')).toEqual([{ state: 'open' }, { state: 'close' }]))
    const ms = expect.any(Number)
    expect(only(observer.events, 'request')).toEqual(
      expect.arrayContaining([
        { method: 'tools/call', name: 'steps', version: '2025-06-18', ms },
        { method: 'tools/call', name: 'throws', version: MODERN, ms, error: -32603 },
      ]),
    )
    const { session: id } = client
    expect(only(observer.events, 'session')).toEqual([
      { id, state: 'start' },
      { id, state: 'end' },
    ])
    expect(only(observer.events, 'store')).toContainEqual({ call: expect.any(String), ms, failed: false })
  })

  test.each(ALL_VERSIONS)('what a hook throws is reported and changes nothing: %s', async (version) => {
    const observer: Observer = { request: failing, session: failing, stream: failing, store: failing }
    const { transport, server, reported } = scene({ observer })
    server.gates.open('step 1')
    const answer = await (await clientOf(transport, version)).call('steps', { n: 1 }, { meta: { progressToken: 1 } })
    expect(answer.messages).toHaveLength(2)
    expect(answer.text).not.toContain(PRIVATE)
    expect(reported.length).toBeGreaterThan(0)
  })

  test.each(ALL_VERSIONS)('onError that throws changes nothing: %s', async (version) => {
    const onError = vi.fn(failing)
    const { transport } = scene({ onError, observer: { request: failing } })
    const answer = await (await clientOf(transport, version)).call('throws', { kind: 'reject' })
    expect(answer.message.error?.code).toBe(-32603)
    expect(onError).toHaveBeenCalled()
  })

  test('N-13 W27 neither bodies nor tokens reach `where`, and no error text the wire', async () => {
    const auth = () => ({ id: 'alice' })
    const made = scene({ auth, observer: { request: failing, store: failing } })
    const headers = { authorization: 'Bearer token-5e2c' }
    const clients = [await legacy(made.transport, '2025-11-25', { headers }), modern(made.transport, headers)]
    for (const client of clients) {
      for (const kind of ['sync', 'reject', 'object']) {
        const answer = await client.call('throws', { kind, body: 'body-91ab' })
        expect(answer.text).not.toContain(PRIVATE)
      }
    }
    expect(made.reported.length).toBeGreaterThan(0)
    expect(JSON.stringify(made.reported.map(({ where }) => where))).not.toMatch(/token-5e2c|body-91ab|alice/)
  })

  test('a call that is refused for its client’s own fault is no error of the server', async () => {
    const { transport, reported } = scene({}, new TestServer())
    await modern(transport).request('nope/nope')
    await modern(transport).call('no such tool')
    await read(post(transport, '{'))
    expect(reported).toEqual([])
  })
})
