// Streams across nodes: resumed, taken over, woken.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '../../fixtures/raw.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'
import { type Answer, openSession, type Session } from './support/wire.ts'

const isFull = process.env.FAIRLEAD_FULL === '1'

let fleet: Fleet
let a: string
let b: string
beforeAll(async () => {
  fleet = await startFleet(2, ['--lease-ms', '2000'])
  ;[a, b] = fleet.nodes.map(({ url }) => url) as [string, string]
})
afterAll(() => fleet.stop())

const burst = (node: number, sessionId: string, count: number) =>
  fleet.nodes[node]!.control('burst', { sessionId, count, bytes: 10 })
const numbers = (answer: Answer) => answer.messages.map(({ params }) => (params!.data as { n: number }).n)

describe('S16 a call whose client drops after the first step', () => {
  const CALL_MS = 300

  /** The steps of a call: dropped after the first, resumed after so many ms, on that node. */
  async function resumed(session: Session, afterMs: number, on: string) {
    const call = await session.steps(a, { n: 2, ms: CALL_MS })
    const began = performance.now()
    await call.has(1)
    await call.leave()
    await sleep(Math.max(0, afterMs - (performance.now() - began)))
    const rest = await session.listen(on, call.lastId)
    expect(rest.status).toBe(200)
    await rest.over
    expect(rest.complete).toBe(true)
    const all = [...call.messages, ...rest.messages]
    const ids = [...call.events, ...rest.events].flatMap(({ id, message }) => (id && message ? [id] : []))
    return { steps: all.map(({ params, result }) => params?.progress ?? result?.content[0].text), ids }
  }

  const sweep = Array.from({ length: 9 }, (_, i) => CALL_MS - 20 + 5 * i)
  test.each([
    ['before the result', [100]],
    ['about when it comes', isFull ? [...sweep, ...sweep, ...sweep] : sweep],
    ['after it', [CALL_MS + 200]],
  ])('resumed %s, on its node and on another: each once, in order, and the stream ends', async (_, waits) => {
    const session = await openSession(b)
    const runs = await Promise.all(waits.flatMap((ms) => [a, b].map((url) => resumed(session, ms, url))))
    for (const { steps, ids } of runs) {
      expect(steps).toEqual([1, 2, '2 steps'])
      expect(new Set(ids).size).toBe(3)
    }
  })

  test('resumed again and again, from node to node: nothing twice', async () => {
    const session = await openSession(a)
    const n = 30
    let answer = await session.steps(a, { n, ms: 15 })
    const seen: unknown[] = []
    for (let hop = 0; ; hop++) {
      await answer.has(2)
      const { isOver } = answer
      if (!isOver) await answer.leave()
      seen.push(...answer.messages.map(({ params, result }) => params?.progress ?? textOf({ result })))
      if (isOver || seen.at(-1) === `${n} steps`) break
      answer = await session.listen(hop % 2 === 0 ? b : a, answer.lastId ?? '')
      expect(answer.status).toBe(200)
    }
    expect(seen).toEqual([...Array.from({ length: n }, (_, i) => i + 1), `${n} steps`])
  })
})

describe('S18 a second GET for a session', () => {
  test('on another node wins: the first ends, what comes is on the second alone', async () => {
    const session = await openSession(a)
    const first = await session.listen(a)
    await burst(1, session.id, 3)
    await first.has(3)
    const second = await session.listen(b)
    expect(second.status).toBe(200)
    await first.over
    expect(first.complete).toBe(true)
    await burst(0, session.id, 2)
    await second.has(2)
    expect([numbers(first), numbers(second)]).toEqual([
      [1, 2, 3],
      [1, 2],
    ])
    await second.leave()
  })

  test('while the first is a ghost behind the balancer', async () => {
    const session = await openSession(fleet.url)
    const first = await session.listen(fleet.url)
    await burst(0, session.id, 1)
    await first.has(1)
    expect(fleet.balancer.haunt()).toBeGreaterThan(0)
    await first.over
    expect(first.complete).toBe(false)
    // It goes to the other node, and then to the first one.
    const second = await session.listen(fleet.url)
    expect(second.status).toBe(200)
    await fleet.nodes[1]!.control('notify', { kind: 'tools' })
    await second.has(1)
    const third = await session.listen(fleet.url, second.lastId)
    await second.over
    await burst(1, session.id, 1)
    await third.has(1)
    expect(second.messages.map(({ method }) => method)).toEqual(['notifications/tools/list_changed'])
    expect(third.messages.map(({ method }) => method)).toEqual(['notifications/message'])
    await third.leave()
  })

  test('hand-overs at any moment under a run of messages from both nodes: none lost, none twice, in order', async () => {
    const session = await openSession(a)
    const EACH = isFull ? 2000 : 300
    const streams: Answer[] = []
    let cursor: string | undefined
    let isSent = false
    const sending = Promise.all(
      [0, 1].map(async (from) => {
        for (let n = 0; n < EACH; n += 10) {
          const one = (i: number) =>
            fleet.nodes[from]!.control('notify', {
              kind: 'resource',
              uri: `x://${from}/${n + i}`,
              sessionId: session.id,
            })
          for (let i = 0; i < 10; i++) await one(i)
        }
      }),
    ).then(() => {
      isSent = true
    })
    while (!isSent) {
      const stream = await session.listen(streams.length % 2 === 0 ? b : a, cursor)
      expect(stream.status).toBe(200)
      streams.push(stream)
      await sleep(20 + Math.random() * 40)
      // The client goes away, and comes back with what it has seen.
      await stream.leave()
      cursor = stream.lastId ?? cursor
    }
    await sending
    const last = await session.listen(a, cursor)
    streams.push(last)
    const taken = () =>
      streams.flatMap(({ messages }) =>
        messages.map(({ params }) => String(params?.uri).slice(4).split('/').map(Number)),
      )
    while (taken().length < 2 * EACH) await last.has(last.messages.length + 1)
    for (const from of [0, 1]) {
      const own = taken().filter(([node]) => node === from)
      expect(own.map(([, n]) => n)).toEqual(Array.from({ length: EACH }, (_, i) => i))
    }
    expect(streams.length).toBeGreaterThan(5)
    await last.leave()
  })
})

test('S15 event ids of another session replay nothing, on whatever node', async () => {
  const [own, other] = [await openSession(a), await openSession(b)]
  const call = await own.steps(a, { n: 2, ms: 1 }, 1)
  await call.over
  const stream = await own.listen(a)
  await burst(0, own.id, 2)
  await stream.has(2)
  await (await other.steps(a, { n: 2, ms: 1 }, 1)).over
  const [callStream] = call.lastId!.split('.')
  const made = ['g.0.0', `${callStream}.0`, stream.lastId!.replace(/\.\d+\./, '.0.')]
  for (const url of [a, b]) {
    for (const id of [call.lastId!, stream.lastId!, call.events[0]!.id!, ...made]) {
      const answer = await other.listen(url, id)
      expect(answer.status).toBe(id.startsWith('g.') ? 200 : 400)
      if (answer.status !== 200) continue
      const name = `other ${id} at ${url}`
      await fleet.nodes[0]!.control('notify', { kind: 'resource', uri: name, sessionId: other.id })
      await until('its own message', () => answer.messages.some(({ params }) => params?.uri === name))
      await answer.leave()
      // Changes of listings are everybody's, and told again where an id says nothing of them.
      const rest = answer.messages.filter(({ method }) => !method?.endsWith('/list_changed'))
      for (const { params } of rest) expect(params!.uri).toMatch(/^other /)
    }
  }
  await stream.leave()
})

test('R21 a message from node A is on the stream at B by a wake-up, in a few ms', async () => {
  const session = await openSession(a)
  const stream = await session.listen(b)
  const times: number[] = []
  for (let n = 1; n <= 30; n++) {
    const start = performance.now()
    const sent = burst(0, session.id, 1)
    await stream.has(n)
    times.push(performance.now() - start)
    await sent
  }
  times.sort((x, y) => x - y)
  // Polling each 100 ms would take 50 in the middle.
  expect(times[15]).toBeLessThan(25)
  await stream.leave()
})
