// Nodes in this process, over connections that the app has made: one Redis, and a cluster of three masters.
import { createTransport, McpServer, serve } from '@fairlead/node'
import { redisStore } from '@fairlead/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '../../fixtures/raw.ts'
import { flavours, newPrefix } from '../../packages/redis/test-support/flavours.ts'
import { watchLives } from '../../packages/redis/test-support/lives.ts'
import { until } from './support/until.ts'
import { listenModern, openSession } from './support/wire.ts'

const LEVELS = ['debug', 'info', 'error', 'emergency'] as const

function server(): McpServer {
  const server = new McpServer({ name: 'stores', version: '1.0.0' })
  server.tool('levels', {}, async (_, ctx) => {
    for (const level of LEVELS) await ctx.log(level, level)
    return 'logged'
  })
  server.tool('wait', {}, async (_, ctx) => {
    await ctx.progress(1)
    await new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    return ''
  })
  server.tool('progress', {}, async (_, ctx) => {
    for (let step = 1; step <= 3; step++) await ctx.progress(step)
    return 'done'
  })
  server.resource('x://1', {}, () => 'one')
  return server
}

describe.each(flavours)('S59 S61 R31 two nodes over one client of the app, on $name', (flavour) => {
  const name = newPrefix()
  const client = flavour.connection({ connectionName: name })
  const prefix = newPrefix()
  let watch: ReturnType<typeof watchLives>
  let nodes: { url: string; close(): Promise<void>; tell(uri: string): Promise<void> }[]
  beforeAll(async () => {
    await flavour.up()
    await client.connect()
    watch = watchLives(flavour.servers(), prefix)
    nodes = await Promise.all(
      [0, 1].map(async () => {
        const store = redisStore(client, { prefix })
        const transport = createTransport(server(), { store, leaseMs: 1000, sessions: { ttlMs: 5000 } })
        const { url, close } = await serve(transport as never, { port: 0 })
        return {
          url,
          tell: (uri: string) => transport.notify.resourceUpdated(uri),
          async close() {
            await close()
            await store.close()
          },
        }
      }),
    )
  }, 30_000)
  afterAll(() => client.disconnect())
  /** Connections with the name of the app's client, which duplicates keep. */
  async function connections(): Promise<number> {
    const servers = flavour.servers()
    const lists = await Promise.all(servers.map((one) => one.call('CLIENT', 'LIST', 'TYPE', 'normal')))
    for (const one of servers) one.disconnect()
    return lists.join('').split(` name=${name} `).length - 1
  }
  const urls = () => nodes.map(({ url }) => url) as [string, string]

  test('a session, its calls, streams and cancels cross the nodes; the own GET and SET of the app work', async () => {
    const [a, b] = urls()
    const session = await openSession(a)
    const own = `${prefix}{own}`
    await client.set(own, 'mine', 'PX', 60_000)
    const stream = await session.listen(b)
    const call = await session.steps(a, { n: 3, ms: 0 })
    await call.has(4)
    const resumed = await session.listen(b, call.events.find(({ message }) => message)!.id)
    await resumed.over
    expect(resumed.messages.map(({ params, result }) => params?.progress ?? textOf({ result }))).toEqual([2, 3, 'done'])
    const waiting = await session.call(a, 'wait', {}, 5)
    await session.notify(b, 'notifications/cancelled', { requestId: 5 })
    await waiting.over
    const listen = await listenModern(b, { resourceSubscriptions: ['x://1'] })
    await session.ask(a, 'resources/subscribe', { uri: 'x://1' })
    await nodes[0]!.tell('x://1')
    await Promise.all([listen.has(2), stream.has(1)])
    expect([listen.messages[1]!.method, stream.messages[0]!.method]).toEqual(
      Array(2).fill('notifications/resources/updated'),
    )
    expect(await client.get(own)).toBe('mine')
    await listen.leave()
    expect((await session.end(b)).status).toBe(204)
    await stream.over
    expect((await session.request(a, 'tools/list')).status).toBe(404)
  })

  test('R30 the log level set on one node holds on the other', async () => {
    const [a, b] = urls()
    const session = await openSession(a)
    const logged = async (url: string) => {
      const call = await session.call(url, 'levels')
      await call.over
      return call.messages.flatMap(({ params }) => (params ? [params.level] : []))
    }
    expect(await logged(b)).toEqual(['info', 'error', 'emergency'])
    await session.ask(b, 'logging/setLevel', { level: 'error' })
    expect(await logged(a)).toEqual(['error', 'emergency'])
    await session.ask(a, 'logging/setLevel', { level: 'debug' })
    expect(await logged(b)).toEqual(LEVELS)
    await session.end(a)
  })

  test('S59 when the nodes are closed, the client is still connected, and our connections are gone', async () => {
    // One to each master, and in a cluster one more now and then, to ask who they are.
    const masters = flavour.servers()
    const most = masters.length === 1 ? 1 : masters.length + 1
    for (const master of masters) master.disconnect()
    expect(await connections()).toBeGreaterThan(most)
    await Promise.all(nodes.map((node) => node.close()))
    expect(client.status).toBe('ready')
    expect(await client.get(`${prefix}{own}`)).toBe('mine')
    await until('the connections of the app alone are left', async () => (await connections()) <= most)
    expect(await watch.stop()).toEqual([])
    expect(watch.looks).toBeGreaterThan(20)
  })
})
