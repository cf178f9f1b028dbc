import { expect, test } from 'vitest'
import { type Expected, sseMessages, wrongWith } from './check.ts'

const ID = 1_000_007
const EITHER: Expected = { text: 'hi', steps: 0, form: 'either', modern: false }
const STEPS: Expected = { text: 'hi', steps: 2, form: 'sse', modern: false }

const result = (over: object = {}) => ({ content: [{ type: 'text', text: 'hi' }], ...over })
const message = (over: object = {}) => ({ jsonrpc: '2.0', id: ID, result: result(), ...over })
const step = (progress: number, progressToken = ID) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, progress, total: 2 },
})

function json(body: unknown, status = 200) {
  return { status, head: 'HTTP/1.1 200 OK\r\nContent-Type: application/json', body: JSON.stringify(body) }
}

function sse(...messages: unknown[]) {
  const body = messages.map((each) => `event: message\ndata: ${JSON.stringify(each)}\n\n`).join('')
  return { status: 200, head: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8', body }
}

test('right answers in both forms', () => {
  expect(wrongWith(json(message()), ID, EITHER)).toBeUndefined()
  expect(wrongWith(sse(message()), ID, EITHER)).toBeUndefined()
  expect(wrongWith(sse(step(1), step(2), message()), ID, STEPS)).toBeUndefined()
  const modern = json(message({ result: result({ resultType: 'complete' }) }))
  expect(wrongWith(modern, ID, { ...EITHER, modern: true })).toBeUndefined()
})

test.each([
  ['a status', json(message(), 500), EITHER, 'status 500'],
  ['the id of another call', json(message({ id: ID + 1 })), EITHER, 'not to 1000007'],
  ['the id as a string', json(message({ id: String(ID) })), EITHER, 'the answer to'],
  ['another text', json(message({ result: { content: [{ type: 'text', text: 'ho' }] } })), EITHER, 'wrong answer'],
  ['a tool error', json(message({ result: result({ isError: true }) })), EITHER, 'wrong answer'],
  ['an error', json({ jsonrpc: '2.0', id: ID, error: { code: -32603, message: 'x' } }), EITHER, 'wrong answer'],
  ['no JSON', { ...json(''), body: '{' }, EITHER, 'not JSON'],
  ['a stream where JSON was asked for', sse(message()), { ...EITHER, form: 'json' } as const, 'answered as'],
  ['no resultType', json(message()), { ...EITHER, modern: true }, 'resultType'],
  ['a step too few', sse(step(1), message()), STEPS, '2 messages, not 3'],
  ['a step too many', sse(step(1), step(2), step(3), message()), STEPS, '4 messages, not 3'],
  ['a step twice', sse(step(1), step(1), message()), STEPS, 'wrong step 2'],
  ['the steps of another call', sse(step(1), step(2, ID + 1), message()), STEPS, 'wrong step 2'],
  ['two answers', sse(message(), message()), EITHER, '2 messages, not 1'],
])('%s is wrong', (_, answer, expected, reason) => {
  expect(wrongWith(answer, ID, expected)).toContain(reason)
})

test('comments, empty frames and other line ends are no messages', () => {
  expect(sseMessages(': hello\n\nid: 1\ndata: \n\nretry: 5\n\nid: 2\r\ndata:{"a":\r\ndata: 1}\r\n\r\n')).toEqual([
    '{"a":\n1}',
  ])
})
