import { describe, expect, test } from 'vitest'
import { McpError } from './errors.ts'
import {
  deeperThan,
  errorText,
  isRequestId,
  mcpErrorText,
  notificationText,
  parseMessage,
  resultText,
  toJson,
} from './jsonrpc.ts'

describe('A-02 S30 ids', () => {
  test.each(['', '1', '001', 'é世', 0, -1, 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])('%j is one', (id) => {
    expect(isRequestId(id)).toBe(true)
  })

  test.each([null, undefined, true, 1.5, Number.NaN, 2 ** 53, -(2 ** 53), {}, [], [1]])('%j is none', (id) => {
    expect(isRequestId(id)).toBe(false)
  })
})

describe('R11 message kinds', () => {
  const message = (rest: object) => ({ jsonrpc: '2.0', ...rest })

  test.each<[string, object]>([
    ['request', message({ id: 0, method: 'ping' })],
    ['request', message({ id: '', method: '', params: {} })],
    ['notification', message({ method: 'notifications/initialized' })],
    ['response', message({ id: 1, result: {} })],
    ['response', message({ id: 1, error: { code: -1, message: '', data: null } })],
    ['response', message({ error: { code: -1, message: 'no id: the request could not be read' } })],
    ['batch', []],
    ['batch', [message({ id: 1, method: 'ping' })]],
  ])('%s %j', (kind, value) => {
    expect(parseMessage(value).kind).toBe(kind)
  })

  test.each<[string, unknown, (string | number)?]>([
    ['null', null],
    ['a number', 42],
    ['a text', 'x'],
    ['true', true],
    ['nothing in it', {}],
    ['no jsonrpc', { id: 7, method: 'ping' }, 7],
    ['jsonrpc 1.0', { jsonrpc: '1.0', id: '7', method: 'ping' }, '7'],
    ['jsonrpc as a number', { jsonrpc: 2, id: 7, method: 'ping' }, 7],
    ['no method and no answer', message({ id: 7 }), 7],
    ['method a number', message({ id: 7, method: 5 }), 7],
    ['method null', message({ id: 7, method: null }), 7],
    ['params an array', message({ id: 7, method: 'x', params: [1] }), 7],
    ['params a number', message({ id: 7, method: 'x', params: 5 }), 7],
    ['params null', message({ id: 7, method: 'x', params: null }), 7],
    ['params of a notification', message({ method: 'x', params: 5 })],
    ['id null', message({ id: null, method: 'ping' })],
    ['id a fraction', message({ id: 1.5, method: 'ping' })],
    ['id an object', message({ id: {}, method: 'ping' })],
    ['id beyond the safe range', message({ id: 2 ** 53 + 2, method: 'ping' })],
    ['result and error', message({ id: 7, result: {}, error: { code: 1, message: '' } }), 7],
    ['a result without id', message({ result: {} })],
    ['a result that is no object', message({ id: 7, result: 'x' }), 7],
    ['an error without a code', message({ id: 7, error: { message: '' } }), 7],
    ['an error with a fraction for a code', message({ id: 7, error: { code: 1.5, message: '' } }), 7],
    ['an error that is a text', message({ id: 7, error: 'no' }), 7],
  ])('S29 %s is invalid, with the id where one is legal', (_what, value, id) => {
    const parsed = parseMessage(value)
    expect(parsed).toMatchObject({ kind: 'invalid', code: -32600, text: expect.any(String) })
    expect('id' in parsed ? parsed.id : undefined).toBe(id)
  })

  test('a key of Object.prototype is no member', () => {
    expect(parseMessage(JSON.parse('{"__proto__":{"jsonrpc":"2.0","method":"x"}}')).kind).toBe('invalid')
  })
})

describe('depth', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test.each<[string, string, number, boolean]>([
    ['at the limit', nested(64), 64, false],
    ['one more', nested(65), 64, true],
    ['objects and arrays together', '{"a":[{"a":[{"a":[]}]}]}', 5, true],
    ['objects and arrays at the limit', '{"a":[{"a":[{"a":[]}]}]}', 6, false],
    ['wide, not deep', `[${'[],'.repeat(500)}[]]`, 2, false],
    ['brackets in texts', JSON.stringify(['['.repeat(100), '\\"[[[[', ']]']), 2, false],
    ['a text with an escaped quote before brackets', `{"a":"\\"${'['.repeat(50)}"}`, 3, false],
    ['closed too often', ']'.repeat(200), 3, false],
  ])('%s', (_what, text, limit, deeper) => {
    expect(deeperThan(text, limit)).toBe(deeper)
  })
})

describe('what we send', () => {
  test('S36 no unit that some parser takes for the end of a line, and the same value', () => {
    const value = 'a\u2028b\u2029c\r\nd\u0085e'
    const text = toJson({ value, [value]: 1 })
    expect(text).not.toMatch(/[\u0085\u2028\u2029\r\n]/)
    expect(JSON.parse(text)).toEqual({ value, [value]: 1 })
  })

  test('S36 a lone surrogate goes out as an escape, so that the bytes are UTF-8', () => {
    expect(toJson('\ud800')).toBe('"\\ud800"')
  })

  test.each(['7', 7, 0, '', '001', -1, '"\u2028'])('A-03 S30 the id %j keeps type and value', (id) => {
    expect(JSON.parse(resultText(id, '{}'))).toStrictEqual({ jsonrpc: '2.0', id, result: {} })
    expect(JSON.parse(errorText(id, -1, 'm'))).toStrictEqual({ jsonrpc: '2.0', id, error: { code: -1, message: 'm' } })
  })

  test('A-04 Q-24 an id that could not be read is left out', () => {
    expect(JSON.parse(errorText(undefined, -32700, 'm'))).not.toHaveProperty('id')
  })

  test('error data goes out when there is some, and falsy values are some', () => {
    expect(JSON.parse(errorText(1, -1, 'm', 0))).toHaveProperty('error.data', 0)
    expect(JSON.parse(errorText(1, -1, 'm'))).not.toHaveProperty('error.data')
    expect(JSON.parse(mcpErrorText(1, new McpError(5, 'm', { a: 1 })))).toHaveProperty('error', {
      code: 5,
      message: 'm',
      data: { a: 1 },
    })
  })

  test('A-06 a notification has no id', () => {
    expect(JSON.parse(notificationText('a/b'))).toStrictEqual({ jsonrpc: '2.0', method: 'a/b' })
    expect(JSON.parse(notificationText('a/b', { x: 1 }))).toStrictEqual({
      jsonrpc: '2.0',
      method: 'a/b',
      params: { x: 1 },
    })
  })
})
