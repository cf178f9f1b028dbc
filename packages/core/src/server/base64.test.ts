import { describe, expect, test } from 'vitest'
import { isBase64, textFromBase64, toBase64 } from './base64.ts'

describe('L-22 toBase64', () => {
  test.each([0, 1, 2, 3, 100_000])('%i bytes, where the runtime has none of its own', (length) => {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7) % 256)
    const expected = Buffer.from(bytes).toString('base64')
    expect(isBase64(expected)).toBe(true)
    Object.defineProperty(bytes, 'toBase64', { value: undefined })
    expect(toBase64(bytes)).toBe(expected)
  })

  test('is the runtime’s where it has one', () => {
    const bytes = new Uint8Array(3)
    Object.defineProperty(bytes, 'toBase64', { value: () => 'native' })
    expect(toBase64(bytes)).toBe('native')
  })
})

test.each(['A', 'AA', 'AAA', 'A===', 'AAA-', 'AA A', 'AAAA\n'])('L-22 %j is not base64', (text) => {
  expect(isBase64(text)).toBe(false)
})

test('textFromBase64 takes UTF-8 and nothing else', () => {
  expect(textFromBase64(Buffer.from('é世').toString('base64'))).toBe('é世')
  for (const text of ['%', '/w==', 'A']) expect(textFromBase64(text)).toBeUndefined()
})
