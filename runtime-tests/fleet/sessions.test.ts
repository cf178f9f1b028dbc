// A session that is made on one node is served by all of them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '../../fixtures/raw.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { until } from './support/until.ts'
import { modern, modernAsk, openSession } from './support/wire.ts'

const ROUNDS = process.env.FAIRLEAD_FULL === '1' ? 100 : 10

let fleet: Fleet
let a: string
let b: string
beforeAll(async () => {
  fleet = await startFleet(2, ['--lease-ms', '2000'])
  ;[a, b] = fleet.nodes.map(({ url }) => url) as [string, string]
})
afterAll(async () => {
  for (const { log } of fleet.nodes) expect(log).not.toContain('uncaught')
  await fleet.stop()
})

const stats = (node: number) => fleet.nodes[node]!.stats()

test('S02 W18 made on A, used and ended on B: version, client and capabilities are known there', async () => {
  const session = await openSession(a, { version: '2025-06-18', readyAt: b })
  expect((await session.ask(b, 'tools/list')).result.tools.length).toBeGreaterThan(5)
  const who = JSON.parse(textOf((await (await session.call(b, 'whoami')).has(1))[0]!))
  expect(who).toMatchObject({ sessionId: session.id, protocolVersion: '2025-06-18', era: 'legacy' })
  expect((await session.end(b)).status).toBe(204)
  const after = await session.request(a, 'tools/list')
  expect(after.status).toBe(404)
})

test('S02 C-06 DELETE on B ends the running call, the streams and the asks on A', async () => {
  const session = await openSession(a)
  const stream = await session.listen(a)
  const call = await session.call(a, 'slow', { ms: 60_000, text: 'never' })
  const asking = fleet.nodes[0]!.control('send', { sessionId: session.id, method: 'ping' })
  await stream.has(1)
  const { aborted } = await stats(0)
  expect((await session.end(b)).status).toBe(204)
  await Promise.all([stream.over, call.over])
  expect([stream.complete, call.complete]).toEqual([true, true])
  expect(await asking).toMatchObject({ ok: false, error: 'the session has ended' })
  expect((await stats(0)).aborted).toBe(aborted + 1)
  expect((await session.listen(a)).status).toBe(404)
})

describe('S22 the answer to a request of the server lands on another node', () => {
  test('202, and it goes on where it was asked; a second answer and one of another session do nothing', async () => {
    const session = await openSession(a)
    const stranger = await openSession(b)
    const call = await session.call(a, 'ask')
    const [ask] = await call.has(1)
    expect(ask).toMatchObject({ method: 'elicitation/create' })
    const answer = (name: string) => ({ action: 'accept', content: { name } })
    expect((await stranger.answer(b, ask!.id!, answer('Mallory'))).status).toBe(202)
    expect((await session.answer(b, ask!.id!, answer('Ada'))).status).toBe(202)
    expect((await session.answer(b, ask!.id!, answer('Grace'))).status).toBe(202)
    const [, result] = await call.has(2)
    expect(textOf(result!)).toBe('Ada')
    await call.over
    expect(call.messages).toHaveLength(2)
  })

  test('an answer to a request that no node knows: 202, no effect', async () => {
    const session = await openSession(a)
    for (const id of ['0', 'x'.repeat(12), `${'x'.repeat(12)}-${'y'.repeat(22)}`]) {
      expect((await session.answer(b, id, {})).status).toBe(202)
    }
  })

  test('R25 a request outside any call, asked on B, received and answered on A', async () => {
    const session = await openSession(a)
    const stream = await session.listen(a)
    const sent = fleet.nodes[1]!.control('send', { sessionId: session.id, method: 'ping' })
    const [ping] = await stream.has(1)
    expect(ping).toMatchObject({ method: 'ping' })
    await session.answer(a, ping!.id!, { pong: true })
    expect(await sent).toEqual({ ok: true, result: { pong: true } })
    await stream.leave()
  })

  test('R25 with nobody to receive it: an error within a second', async () => {
    const session = await openSession(a)
    const start = performance.now()
    const sent = await fleet.nodes[1]!.control('send', { sessionId: session.id, method: 'ping' })
    expect(sent).toMatchObject({ ok: false })
    expect(performance.now() - start).toBeLessThan(1000)
  })
})

describe('W13 R26 cancel from another node', () => {
  test('stops the call with that typed id of that session, and no other', async () => {
    const session = await openSession(a)
    const other = await openSession(a)
    const before = await stats(0)
    const doomed = await session.call(a, 'slow', { ms: 30_000, text: 'no' }, 7)
    const spared = await Promise.all([
      session.call(a, 'slow', { ms: 1500, text: 'typed' }, '7'),
      other.call(a, 'slow', { ms: 1500, text: 'other' }, 7),
    ])
    await session.notify(b, 'notifications/cancelled', { requestId: 7, reason: 'enough' })
    await doomed.over
    expect(doomed.messages).toEqual([])
    const texts = await Promise.all(spared.map(async (call) => textOf((await call.has(1))[0]!)))
    expect(texts).toEqual(['typed', 'other'])
    expect((await stats(0)).aborted).toBe(before.aborted + 1)
  })

  test('one that comes late does not stop the next call with that id', async () => {
    const session = await openSession(a)
    await (await session.call(a, 'slow', { ms: 150, text: 'first' }, 9)).over
    await session.notify(b, 'notifications/cancelled', { requestId: 9 })
    const next = await session.call(a, 'slow', { ms: 150, text: 'second' }, 9)
    expect(textOf((await next.has(1))[0]!)).toBe('second')
  })

  test('one that comes while the call is young is obeyed when its node joins', async () => {
    const session = await openSession(a)
    const { aborted } = await stats(0)
    // The head of the answer comes when the call has become a stream, so it is not waited for.
    const calling = session.call(a, 'slow', { ms: 30_000, text: 'no' }, 11)
    await until('the handler runs', async () => (await stats(0)).inFlight > 0)
    await session.notify(b, 'notifications/cancelled', { requestId: 11 })
    await (await calling).over
    expect((await stats(0)).aborted).toBe(aborted + 1)
  })
})

test('S26 two requests in flight with one id, on two nodes and on one: no answer crosses', async () => {
  const session = await openSession(a)
  for (let round = 0; round < ROUNDS; round++) {
    const other = round % 2 === 0 ? b : a
    // Over SSE and as JSON: those that take longer than 100 ms become streams.
    const [long, short] = round % 4 < 2 ? [160, 110] : [60, 20]
    const calls = await Promise.all([
      session.call(a, 'slow', { ms: long, text: 'a' }, 1),
      session.call(other, 'slow', { ms: short, text: 'b' }, 1),
    ])
    await Promise.all(calls.map(({ over }) => over))
    expect(calls.map(({ messages }) => messages.map(textOf))).toEqual([['a'], ['b']])
  }
})

test('R18 tasks: made on A, got and cancelled on B', async () => {
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const { message } = await modernAsk(a, 'job', { ms: 300 }, {}, capabilities)
  const { taskId } = message!.result
  expect(message!.result).toMatchObject({ resultType: 'task', status: 'working' })
  const get = async (url: string, id: string) => {
    const answer = await modern(url, 'tasks/get', { taskId: id }, { capabilities, name: id })
    await answer.over
    return answer.messages.at(-1)!
  }
  expect((await get(b, taskId)).result).toMatchObject({ taskId, status: 'working' })
  await until('the task is done', async () => (await get(b, taskId)).result.status === 'completed')
  expect((await get(b, taskId)).result.result.content[0].text).toBe('done')

  const long = (await modernAsk(a, 'job', { ms: 60_000 }, {}, capabilities)).message!.result.taskId
  const cancel = await modern(b, 'tasks/cancel', { taskId: long }, { capabilities, name: long })
  await cancel.over
  expect(cancel.status).toBe(200)
  await until('it is cancelled', async () => (await get(a, long)).result.status === 'cancelled')
})

test('a call of 2026-07-28 whose rounds land on different nodes: each effect once', async () => {
  const effects = async () => (await stats(0)).sideEffects + (await stats(1)).sideEffects
  const before = await effects()
  let { message } = await modernAsk(a, 'ask_twice')
  const answers = (keys: object, name: string) =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, { action: 'accept', content: { name } }]))
  for (const [i, name] of ['Ada', 'Argo'].entries()) {
    const { inputRequests, requestState, resultType } = message!.result
    expect(resultType).toBe('input_required')
    const more = { inputResponses: answers(inputRequests, name), requestState }
    // A client that sends its round twice, to both nodes at once.
    const both = await Promise.all([a, b].map((url) => modernAsk(url, 'ask_twice', {}, more)))
    message = both[i % 2]!.message
  }
  expect(textOf(message!)).toBe('Ada Argo')
  expect((await effects()) - before).toBe(1)
})
