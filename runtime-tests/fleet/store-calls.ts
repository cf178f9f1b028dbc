// What each operation costs at the store: its calls, counted at the store, and the commands that Redis sees, by MONITOR.
//   node runtime-tests/fleet/store-calls.ts     writes docs/store-calls.md
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createTransport, McpServer, type Store, type Transport } from '@fairlead/core'
import { redisStore } from '@fairlead/redis'
import { Redis } from 'ioredis'
import * as v from 'valibot'
import { startRedis } from '../redis/servers.ts'

export interface Row {
  operation: string
  /** Calls of the store. */
  calls: number
  /** Which, by count. */
  which: string
  /** Commands on the wire, blocking reads that are set up again with them. */
  commands: string
}

const PREFIX = 'store-calls:'
const TTL_MS = 60_000
const LEASE_MS = 30_000
/** For what is measured by the clock. */
const SHORT_MS = 900
const QUIET_MS = 40

/** The store with its calls noted; those of subscriptions too. */
function noting(store: Store, note: (call: string) => void): Store {
  const part = <T extends object>(name: string, of: T): T =>
    new Proxy(of, {
      get(target, member) {
        const step = Reflect.get(target, member) as (...args: unknown[]) => unknown
        return (...args: unknown[]) => {
          note(`${name}.${String(member)}`)
          return step.apply(target, args)
        }
      },
    })
  const { kv, log, bus } = store
  return {
    ...store,
    kv: part('kv', kv),
    log: part('log', log),
    bus: {
      publish: part('bus', bus).publish,
      read: part('bus', bus).read,
      async subscribe(topic, options, on) {
        note('bus.subscribe')
        const subscription = await bus.subscribe(topic, options, (entries, why) => {
          if (topic === 'events') note(`(delivery)`)
          on(entries, why)
        })
        return {
          ...subscription,
          renew() {
            note('bus.renew')
            return subscription.renew()
          },
        }
      },
    },
  }
}

/** Blocking reads are set up again at times of their own, so they are not counted. */
function onWire(names: readonly string[]): string {
  const counted = tally(names.filter((name) => name !== 'XREAD'))
  return names.includes('XREAD') ? `${counted}; XREAD` : counted
}

function tally(names: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const parts = [...counts].sort(([a], [b]) => a.localeCompare(b))
  return parts.map(([name, count]) => (count === 1 ? name : `${count} × ${name}`)).join(', ')
}

/** Measures on a Redis that nobody else uses. */
export async function measure(redisUrl: string): Promise<Row[]> {
  const redis = new Redis(redisUrl)
  const monitor = await redis.monitor()
  let calls: string[] = []
  let commands: string[] = []
  let lastAt = performance.now()
  monitor.on('monitor', (_time, args: string[], source: string) => {
    // What a script does is part of it. What has no key of ours sets a connection up.
    if (source === 'lua' || !args.some((arg) => arg.includes(PREFIX))) return
    commands.push(args[0]!.toUpperCase())
    lastAt = performance.now()
  })
  const stores: Store[] = []
  const transports: Transport[] = []

  function node(times: { ttlMs: number; leaseMs: number } = { ttlMs: TTL_MS, leaseMs: LEASE_MS }): Transport {
    const store = redisStore(redisUrl, { prefix: `${PREFIX}${times.ttlMs}:` })
    stores.push(store)
    const noted = noting(store, (call) => {
      calls.push(call)
      lastAt = performance.now()
    })
    const transport = createTransport(server(), {
      store: noted,
      sessions: { ttlMs: times.ttlMs },
      leaseMs: times.leaseMs,
    })
    transports.push(transport)
    return transport
  }

  async function quiet(): Promise<void> {
    do await sleep(QUIET_MS / 4)
    while (performance.now() - lastAt < QUIET_MS)
  }

  /** `prepare` is done before the count begins; the second of two runs counts, when scripts and connections are there. */
  async function count<T>(
    operation: string,
    prepare: () => Promise<T>,
    run: (prepared: T) => Promise<unknown>,
  ): Promise<Row> {
    const once = async () => {
      const prepared = await prepare()
      await quiet()
      calls = []
      commands = []
      await run(prepared)
      await quiet()
    }
    await once()
    await once()
    const real = calls.filter((call) => !call.startsWith('('))
    return { operation, calls: real.length, which: tally(calls), commands: onWire(commands) }
  }

  const nothing = async () => {}
  const rows: Row[] = []
  try {
    const [a, b] = [node(), node()]
    const session = await handshake(a)
    const opened = async (on: Transport, of = session) => stream(await get(on, of))

    rows.push(await count('modern call, no state', nothing, () => modernCall(a, 'echo')))
    rows.push(await count('`initialize` and `notifications/initialized`', nothing, () => handshake(a)))
    rows.push(await count('legacy call answered with JSON', nothing, () => legacyCall(b, session, 'echo')))
    rows.push(
      await count(
        'legacy call over SSE, three steps and the answer, each stored by itself; the first of its session on a node',
        () => handshake(a),
        (fresh) => legacyCall(a, fresh, 'steps'),
      ),
    )
    rows.push(
      await count(
        'the same, later ones',
        async () => {
          const fresh = await handshake(a)
          await legacyCall(a, fresh, 'steps')
          return fresh
        },
        (fresh) => legacyCall(a, fresh, 'steps'),
      ),
    )
    rows.push(
      await count(
        'GET of the standalone stream, the first of its session',
        () => handshake(a),
        async (fresh) => stream(await get(b, fresh)),
      ),
    )
    rows.push(
      await count(
        'GET of the standalone stream, taking over from another node',
        () => opened(b),
        async ({ lastId }) => stream(await get(a, session, lastId())),
      ),
    )
    rows.push(
      await count(
        'one message to a session, stream on another node',
        async () => ({ ...(await opened(b)), to: (await a.session(session))! }),
        async ({ next, to }) => {
          await to.send('notifications/message', { level: 'info', data: 1 })
          await next()
        },
      ),
    )
    rows.push(
      await count(
        'one message to a session, stream on the same node',
        async () => ({ ...(await opened(a)), to: (await a.session(session))! }),
        async ({ next, to }) => {
          await to.send('notifications/message', { level: 'info', data: 1 })
          await next()
        },
      ),
    )
    rows.push(
      await count(
        'one message to a session without a stream',
        async () => (await a.session(await handshake(a)))!,
        (of) => of.send('notifications/message', { level: 'info', data: 1 }),
      ),
    )
    rows.push(
      await count(
        'one resume of a call that has ended, on another node',
        async () => stream(await legacyCall(a, session, 'steps', true)).whole(),
        async (events) => stream(await get(b, session, events[1]!.id)).whole(),
      ),
    )
    rows.push(
      await count(
        'an answer to a request of another node',
        async () => {
          const call = stream(await legacyCall(a, session, 'ask', true))
          return { call, ask: await call.next() }
        },
        async ({ call, ask }) => {
          const result = { action: 'accept', content: { name: 'Ada' } }
          await post(b, { jsonrpc: '2.0', id: (ask.message as { id: string }).id, result }, legacyHeaders(session))
          await call.whole()
        },
      ),
    )
    rows.push(
      await count(
        'a cancel of a call on another node',
        async () => stream(await legacyCall(a, session, 'forever', true)),
        async (call) => {
          const params = { requestId: 1 }
          await post(b, { jsonrpc: '2.0', method: 'notifications/cancelled', params }, legacyHeaders(session))
          await call.whole()
        },
      ),
    )
    rows.push(
      await count(
        'DELETE of a session with a stream on another node',
        async () => {
          const fresh = await handshake(a)
          return { fresh, open: await opened(a, fresh) }
        },
        async ({ fresh, open }) => {
          await b.handle(new Request(URL, { method: 'DELETE', headers: legacyHeaders(fresh) }))
          await open.whole()
        },
      ),
    )
    const listens = await Promise.all([a, a, b, b].map((on) => listen(on)))
    rows.push(
      await count('one change, four listeners on two nodes', nothing, async () => {
        await a.notify.toolsChanged()
        await Promise.all(listens.map(({ next }) => next()))
      }),
    )
    for (const { close } of listens) await close()
    await closeNodes()
    rows.push(await idle())
    rows.push(await idleStream())
    rows.push(await upkeep())
  } finally {
    await closeNodes()
    monitor.disconnect()
    redis.disconnect()
  }
  return rows

  async function closeNodes(): Promise<void> {
    await Promise.all(transports.splice(0).map((transport) => transport.close({ timeoutMs: 0 })))
    await Promise.all(stores.splice(0).map((store) => store.close()))
  }

  /** A store call for each of them would show in a third of a TTL. */
  async function idle(): Promise<Row> {
    const on = node({ ttlMs: SHORT_MS, leaseMs: LEASE_MS })
    await handshake(on)
    await quiet()
    calls = []
    commands = []
    await sleep(0.9 * SHORT_MS)
    await quiet()
    return {
      operation: 'an idle session, for 0.9 of its TTL',
      calls: calls.length,
      which: tally(calls),
      commands: onWire(commands),
    }
  }

  /** Per TTL, by the shortest pause between two renewals. */
  async function idleStream(): Promise<Row> {
    const on = node({ ttlMs: SHORT_MS, leaseMs: LEASE_MS })
    const open = stream(await get(on, await handshake(on)))
    await quiet()
    calls = []
    commands = []
    const times: number[] = []
    while (times.length < 5) {
      const seen = calls.length
      while (calls.length === seen) await sleep(1)
      times.push(performance.now())
    }
    await quiet()
    const pauses = times.slice(1).map((at, i) => at - times[i]!)
    const perTtl = Math.round(SHORT_MS / Math.min(...pauses))
    await open.close()
    const names = { which: tally(calls.slice(0, perTtl)), commands: tally(commands.slice(0, perTtl)) }
    return { operation: 'an idle open stream, per TTL', calls: perTtl, ...names }
  }

  /** Of a node that follows all that a node can follow, from one look at its lease to the next. */
  async function upkeep(): Promise<Row> {
    await closeNodes()
    const on = node({ ttlMs: TTL_MS, leaseMs: 1200 })
    const open = await listen(on)
    await quiet()
    const runs: string[][] = []
    while (runs.length < 2) {
      calls = []
      const began = commands.length
      while (calls.length === 0) await sleep(1)
      await quiet()
      runs.push([...calls, '|', ...commands.slice(began)])
    }
    await open.close()
    const [last] = runs.slice(-1) as [string[]]
    const at = last.indexOf('|')
    const [made, sent] = [last.slice(0, at), last.slice(at + 1)]
    return {
      operation: "a node's upkeep, at each third of a lease",
      calls: made.length,
      which: tally(made),
      commands: `${tally(sent.filter((name) => name !== 'XREAD'))}; XREAD`,
    }
  }
}

// The server, and clients that are no more than a Request.

const URL = 'http://localhost/mcp'
const FORMS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const VERSION = '2025-11-25'
const MODERN = '2026-07-28'
const META = 'io.modelcontextprotocol/'

/** Each step is stored before the next one is said, so that it is a batch of its own. */
const BATCH_MS = 40

function server(): McpServer {
  const server = new McpServer({ name: 'store-calls', version: '1.0.0' })
  server.tool('echo', {}, () => 'ahoy')
  server.tool('steps', {}, async (_, ctx) => {
    for (let step = 1; step <= 3; step++) {
      await ctx.progress(step)
      await sleep(BATCH_MS)
    }
    return 'done'
  })
  server.tool('ask', { requires: ['elicitation'] }, async (_, ctx) => {
    const answer = await ctx.elicit('name', { message: 'Who?', schema: v.object({ name: v.string() }) })
    return answer.action
  })
  server.tool('forever', {}, async (_, ctx) => {
    await ctx.progress(1)
    await new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    return ''
  })
  return server
}

function post(on: Transport, message: object, headers: Record<string, string>): Promise<Response> {
  return on.handle(
    new Request(URL, { method: 'POST', headers: { ...FORMS, ...headers }, body: JSON.stringify(message) }),
  )
}

function legacyHeaders(session: string): Record<string, string> {
  return { 'mcp-session-id': session, 'mcp-protocol-version': VERSION }
}

async function handshake(on: Transport): Promise<string> {
  const params = {
    protocolVersion: VERSION,
    capabilities: { elicitation: {} },
    clientInfo: { name: 'x', version: '1' },
  }
  const response = await post(on, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, {})
  const session = response.headers.get('mcp-session-id')!
  await response.text()
  await post(on, { jsonrpc: '2.0', method: 'notifications/initialized' }, legacyHeaders(session))
  return session
}

/** `open`: unread. */
async function legacyCall(on: Transport, session: string, name: string, open = false): Promise<Response> {
  const params = { name, arguments: {}, _meta: { progressToken: 1 } }
  const response = await post(on, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, legacyHeaders(session))
  if (!open) await response.text()
  return response
}

function get(on: Transport, session: string, lastEventId?: string): Promise<Response> {
  const last: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const headers = { ...legacyHeaders(session), accept: 'text/event-stream', ...last }
  return on.handle(new Request(URL, { headers }))
}

function modern(on: Transport, method: string, params: object, name?: string): Promise<Response> {
  const _meta = { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {} }
  const named: Record<string, string> = name === undefined ? {} : { 'mcp-name': name }
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...named }
  return post(on, { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers)
}

async function modernCall(on: Transport, name: string): Promise<void> {
  await (await modern(on, 'tools/call', { name, arguments: {} }, name)).text()
}

async function listen(on: Transport): Promise<Stream> {
  const opened = stream(await modern(on, 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
  await opened.next()
  return opened
}

interface Frame {
  id?: string
  message?: unknown
}

interface Stream {
  /** The next frame with a message. */
  next(): Promise<Frame>
  /** All frames up to the end. */
  whole(): Promise<Frame[]>
  lastId(): string | undefined
  close(): Promise<void>
}

function stream(response: Response): Stream {
  if (response.headers.get('content-type') !== 'text/event-stream') throw new Error(`no stream: ${response.status}`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const ready: Frame[] = []
  let rest = ''
  let lastId: string | undefined
  async function more(): Promise<boolean> {
    const { done, value } = await reader.read()
    if (done) return false
    const parts = (rest + value).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const id = /^id: ?(.*)$/m.exec(part)?.[1]
      const data = /^data: ?(\S.*)$/m.exec(part)?.[1]
      lastId = id ?? lastId
      ready.push({ id, ...(data ? { message: JSON.parse(data) } : {}) })
    }
    return true
  }
  return {
    lastId: () => lastId,
    async next() {
      for (;;) {
        const frame = ready.shift()
        if (frame?.message) return frame
        if (!frame && !(await more())) throw new Error('the stream has ended')
      }
    },
    async whole() {
      while (await more());
      return ready.splice(0)
    },
    close: () => reader.cancel(),
  }
}

// The page.

export function page(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ operation, calls, which, commands }) => `| ${operation} | ${calls} | ${which} | ${commands} |`,
  )
  return `# What it costs at the store

Written by \`node runtime-tests/fleet/store-calls.ts\`, and checked by a test; not edited by hand. Counted over a whole
fleet of two nodes on one Redis: calls at the store (one is one step, one round trip), and the commands that MONITOR shows,
without those that only set a connection up. What is in parentheses is no call: it is what a node was told. An EVALSHA is
one step of the store. XREAD, not counted, is a blocking read that is set up again after it has given something.

| operation | store calls | which | Redis commands |
| --- | --- | --- | --- |
${lines.join('\n')}

A node that serves only modern calls without state, and no listener, makes no store call at all. Nothing polls: what is
idle costs its renewals, and no more.
`
}

export const PAGE: string = fileURLToPath(new globalThis.URL('../../docs/store-calls.md', import.meta.url))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const redis = await startRedis()
  try {
    const text = page(await measure(redis.url))
    writeFileSync(PAGE, text)
    console.log(text)
  } finally {
    await redis.stop()
  }
}
