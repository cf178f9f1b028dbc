import { describe, expect, test } from 'vitest'
import { canonical, checksum, sha256 } from './canonical.ts'

describe('canonical: one text for equal values', () => {
  test.each<[string, unknown, unknown]>([
    ['the order of members', { b: 1, a: { d: 2, c: 3 } }, { a: { c: 3, d: 2 }, b: 1 }],
    ['members that look like numbers', { 10: 1, 9: 2, a: 3 }, { a: 3, 9: 2, 10: 1 }],
    ['in arrays too', [{ b: 1, a: 2 }], [{ a: 2, b: 1 }]],
    ['numbers however they are written', JSON.parse('[1.0, 1e2, -0]'), [1, 100, 0]],
    ['texts however they are written', JSON.parse('"\\u00e9"'), 'é'],
    ['a member that is undefined, and none', { a: 1, b: undefined }, { a: 1 }],
  ])('%s does not matter', (_what, one, other) => expect(canonical(one)).toBe(canonical(other)))

  test.each<[string, unknown, unknown]>([
    ['the order of an array', [1, 2], [2, 1]],
    ['a number and its text', 1, '1'],
    ['null and none', { a: null }, {}],
    ['an object and an array', {}, []],
    ['an array with and without null', [null], []],
    ['a member called __proto__', JSON.parse('{"__proto__":{"a":1}}'), {}],
    ['two of those', JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":2}}')],
    ['where a value stands', { a: { b: 1 } }, { a: {}, b: 1 }],
    ['what looks like the end of a text', ['a","b'], ['a', 'b']],
    ['composed and decomposed letters', 'é', 'e\u0301'],
  ])('%s does', (_what, one, other) => expect(canonical(one)).not.toBe(canonical(other)))

  test('it is JSON of the same value', () => {
    const value = { z: [{ y: 1, x: [null, true, 'ü\u2028'] }], a: '' }
    expect(JSON.parse(canonical(value))).toEqual(value)
  })
})

describe('checksum', () => {
  test('is short, and the same for the same text', () => {
    for (const text of ['', 'a', 'ü', 'x'.repeat(100_000)]) {
      expect(checksum(text)).toBe(checksum(text))
      expect(checksum(text)).toMatch(/^[0-9a-z]{1,11}$/)
    }
  })

  test('differs for texts that differ little', () => {
    const texts = Array.from({ length: 50_000 }, (_, i) => `{"message":"Pay ${i}?"}`)
    for (let length = 0; length < 1000; length++) texts.push('a'.repeat(length), `${'a'.repeat(length)}\u0100`)
    expect(new Set(texts.map(checksum)).size).toBe(texts.length)
  })
})

test('sha256 is that of the text in UTF-8', async () => {
  const hex = async (text: string) => Buffer.from(await sha256(text)).toString('hex')
  expect(await hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(await hex('é')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c')
})
