import { describe, expect, test } from 'vitest'
import { legacy, modern } from './clients.ts'
import { scene } from './scene.ts'
import { checked, FrameCheck, messageFault, REVISIONS, type Revision, rawCheck, takeFaults } from './wire.ts'

const result = (value: object, id: unknown = 1) => ({ jsonrpc: '2.0', id, result: value })
const error = (code: number, id?: unknown, data?: unknown) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  error: { code, message: 'no', ...(data ? { data } : {}) },
})
const complete = { resultType: 'complete' }

describe('what the wire check takes', () => {
  test.each<[Revision, string, object]>([
    ['2025-03-26', 'ping', result({})],
    ['2025-03-26', '', error(-32700)],
    ['2025-11-25', 'tools/call', result({ content: [] })],
    ['2026-07-28', 'tools/call', result({ ...complete, content: [] })],
    ['2026-07-28', 'any/method', result(complete)],
    ['2026-07-28', '', error(-32020, 1)],
    ['2026-07-28', '', error(-32022, 1, { supported: ['2026-07-28'], requested: 'x' })],
    ['2025-06-18', '', { jsonrpc: '2.0', id: 'a', method: 'ping' }],
    ['2026-07-28', '', { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }],
  ])('%s %s', (revision, method, message) => {
    expect(messageFault(revision, message, { method })).toBeUndefined()
  })
})

describe('what the wire check refuses', () => {
  test.each<[string, Revision, string, unknown]>([
    ['no message', '2025-11-25', '', 42],
    ['no jsonrpc', '2025-11-25', 'ping', { id: 1, result: {} }],
    ['both result and error', '2025-11-25', 'ping', { ...result({}), error: { code: 1, message: '' } }],
    ['a result without id', '2025-06-18', 'ping', { jsonrpc: '2.0', result: {} }],
    ['an error with id null', '2025-11-25', '', error(-32600, null)],
    ['an error whose code is a text', '2025-03-26', '', { jsonrpc: '2.0', error: { code: 'x', message: '' } }],
    ['a result of the wrong method', '2025-11-25', 'tools/list', result({ content: [] })],
    ['no serverInfo', '2025-06-18', 'initialize', result({ protocolVersion: '2025-06-18', capabilities: {} })],
    ['no resultType', '2026-07-28', 'tools/call', result({ content: [] })],
    ['no caching hints', '2026-07-28', 'tools/list', result({ ...complete, tools: [] })],
    ['-32022 without its data', '2026-07-28', '', error(-32022, 1)],
    ['an error code of the reserved range', '2026-07-28', '', error(-32001, 1)],
    ['a request of the server', '2026-07-28', '', { jsonrpc: '2.0', id: 1, method: 'roots/list' }],
    ['a notification that no server sends', '2025-11-25', '', { jsonrpc: '2.0', method: 'notifications/nope' }],
    ['progress without a token', '2025-11-25', '', { jsonrpc: '2.0', method: 'notifications/progress', params: {} }],
  ])('%s', (_what, revision, method, message) => {
    expect(messageFault(revision, message, { method })).toBeTypeOf('string')
  })

  test('an answer with another id, or the same of another type', () => {
    expect(messageFault('2025-11-25', result({}, 2), { id: 1, method: 'ping' })).toContain('id')
    expect(messageFault('2025-11-25', result({}, '1'), { id: 1, method: 'ping' })).toContain('id')
  })

  test.each<[string, Revision, string]>([
    ['two data lines', '2025-11-25', 'data: {}\ndata: {}\n\n'],
    ['a carriage return', '2025-11-25', ': x\r\n\n'],
    ['a field of another name', '2025-11-25', 'event: message\n\n'],
    ['an id in 2026-07-28', '2026-07-28', 'id: a.1\n\n'],
    ['empty data before 2025-11-25', '2025-06-18', 'id: a.0\ndata: \n\n'],
    ['data that is not JSON', '2025-11-25', 'data: {\n\n'],
  ])('an event with %s', (_what, revision, text) => {
    const frames = new FrameCheck(() => revision, undefined)
    for (const unit of text) frames.write(unit)
    expect(takeFaults().length).toBeGreaterThan(0)
  })

  test('bodies of another process', () => {
    rawCheck('2026-07-28', 'application/json', '{"jsonrpc":"2.0","id":1,"result":{}}')
    rawCheck('2026-07-28', 'text/event-stream', 'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
    rawCheck('2026-07-28', 'application/json', '<html>')
    expect(takeFaults()).toHaveLength(3)
  })
})

test.each(REVISIONS)(
  'a transport that sends something wrong is found out, in JSON and in a stream: %s',
  async (revision) => {
    const { transport, server } = scene()
    server.tool('wrong', async ({ stream }, ctx) => {
      if (stream) await ctx.progress(1)
      return { content: 'no array' }
    })
    const before = checked[revision]
    const client = revision === '2026-07-28' ? modern(transport) : await legacy(transport, revision)
    expect(takeFaults()).toEqual([])
    expect((await client.call('wrong')).form).toBe('json')
    expect(takeFaults()).toHaveLength(1)
    expect((await client.call('wrong', { stream: true }, { meta: { progressToken: 1 } })).form).toBe('sse')
    expect(takeFaults()).toHaveLength(1)
    expect(checked[revision] - before).toBeGreaterThanOrEqual(3)
  },
)
