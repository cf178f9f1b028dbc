// A rolling deploy: the release before this one and this one share a Redis, and serve each other's sessions.
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '../../fixtures/raw.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import type { FieldNode } from './support/node.ts'
import { buildOf, previousCommit } from './support/previous.ts'
import { until } from './support/until.ts'
import { listenModern, modern, modernAsk, openSession } from './support/wire.ts'

const { commit, why } = previousCommit()
const COUNTER = 'field://counter'

describe.skipIf(!commit)(`upgrade from ${commit?.slice(0, 7) ?? `nothing: ${why}`}`, () => {
  let folder: string
  let fleet: Fleet
  let before: FieldNode
  let after: FieldNode
  beforeAll(async () => {
    folder = buildOf(commit!)
    const args = ['--lease-ms', '1000']
    fleet = await startFleet(1, args)
    after = fleet.nodes[0]!
    before = await fleet.add(args, folder)
  }, 60_000)
  afterAll(async () => {
    for (const node of [before, after]) expect(await node?.stats()).toMatchObject({ uncaught: 0 })
    await fleet?.stop()
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  const directions = ['written before, read after', 'written after, read before'] as const
  const nodes = (direction: string) =>
    (direction === directions[0] ? [before, after] : [after, before]) as [FieldNode, FieldNode]

  test.each(directions)('a session, its streams, asks, cancels and end: %s', async (direction) => {
    const [a, b] = nodes(direction)
    const session = await openSession(a.url)
    expect(JSON.parse(textOf((await (await session.call(b.url, 'whoami')).has(1))[0]!)).sessionId).toBe(session.id)

    // A call's stream, resumed.
    const call = await session.steps(a.url, { n: 4, ms: 40 })
    await call.has(2)
    await call.leave()
    const rest = await session.listen(b.url, call.lastId)
    await rest.over
    const steps = [...call.messages, ...rest.messages].map(
      ({ params, result }) => params?.progress ?? textOf({ result }),
    )
    expect(steps).toEqual([1, 2, 3, 4, '4 steps'])

    // The standalone stream, taken over with what was missed.
    await session.ask(a.url, 'resources/subscribe', { uri: COUNTER })
    const stream = await session.listen(a.url)
    await b.control('burst', { sessionId: session.id, count: 2, bytes: 1 })
    await until('both', () => stream.messages.filter(({ method }) => method === 'notifications/message').length === 2)
    await stream.leave()
    await a.control('notify', { kind: 'resource', uri: COUNTER })
    await a.control('burst', { sessionId: session.id, count: 1, bytes: 1 })
    const taken = await session.listen(b.url, stream.lastId)
    // Two releases may have different listings, which is told of.
    const told = () => taken.messages.flatMap(({ method }) => (method?.endsWith('/list_changed') ? [] : [method]))
    await until('what was missed', () => told().length >= 2)
    expect(told().sort()).toEqual(['notifications/message', 'notifications/resources/updated'])
    const back = await session.listen(a.url, taken.lastId)
    await taken.over
    await b.control('notify', { kind: 'resource', uri: COUNTER })
    await until('the change', () => back.messages.some(({ method }) => method === 'notifications/resources/updated'))

    // An answer, a cancel, the end.
    const asked = await session.call(a.url, 'ask')
    await session.answer(b.url, (await asked.has(1))[0]!.id!, { action: 'accept', content: { name: 'Ada' } })
    expect(textOf((await asked.has(2))[1]!)).toBe('Ada')
    const doomed = await session.call(a.url, 'slow', { ms: 60_000, text: 'no' }, 77)
    await session.notify(b.url, 'notifications/cancelled', { requestId: 77 })
    await doomed.over
    expect(doomed.messages).toEqual([])
    expect((await session.end(b.url)).status).toBe(204)
    await back.over
    expect((await session.request(a.url, 'tools/list')).status).toBe(404)
  })

  test.each(directions)('rounds, tasks and listens of 2026-07-28: %s', async (direction) => {
    const [a, b] = nodes(direction)
    const listen = await listenModern(b.url, { promptsListChanged: true })
    await a.control('notify', { kind: 'prompts' })
    await listen.has(2)
    await listen.leave()

    const { message } = await modernAsk(a.url, 'ask')
    const { requestState, inputRequests } = message!.result
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { name: 'Ada' } }]),
    )
    expect(textOf((await modernAsk(b.url, 'ask', {}, { requestState, inputResponses })).message!)).toBe('Ada')

    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const { taskId } = (await modernAsk(a.url, 'job', { ms: 50 }, {}, capabilities)).message!.result
    await until('the task is done', async () => {
      const answer = await modern(b.url, 'tasks/get', { taskId }, { capabilities, name: taskId })
      await answer.over
      return answer.messages[0]!.result.status === 'completed'
    })
  })
})
