import * as v from 'valibot'
import { expect, test } from 'vitest'
import { fingerprint } from './fingerprint.ts'

type Tree = { a: string; below: Tree[] }
const tree = (a: v.GenericSchema<string>): v.GenericSchema<Tree> => {
  const schema: v.GenericSchema<Tree> = v.object({ a, below: v.array(v.lazy(() => schema)) })
  return schema
}

const circular: { self?: unknown } = {}
circular.self = circular

const DIFFERENT: unknown[] = [
  undefined,
  null,
  'null',
  0,
  '0',
  1n,
  true,
  [],
  {},
  [[]],
  ['a', 'b'],
  ['a,b'],
  { a: 1 },
  { a: '1' },
  { b: 1 },
  { a: undefined, b: 2 },
  /a/,
  /a/i,
  new Date(0),
  new Date(1),
  new Set([1]),
  new Map([[1, 1]]),
  circular,
  v.string(),
  v.number(),
  v.pipe(v.string(), v.minLength(1)),
  v.pipe(v.string(), v.minLength(2)),
  v.object({ a: v.string() }),
  v.object({ a: v.optional(v.string()) }),
  v.optional(v.string(), 'a'),
  v.optional(v.string(), 'b'),
  v.picklist(['a']),
  v.picklist(['a', 'b']),
  v.pipe(v.string(), v.metadata({ title: 'a' })),
  tree(v.string()),
  tree(v.pipe(v.string(), v.minLength(1))),
]

test('R28 what differs has another fingerprint', () => {
  const prints = DIFFERENT.map(fingerprint)
  expect(new Set(prints).size).toBe(DIFFERENT.length)
  expect(prints).toEqual(DIFFERENT.map(fingerprint))
})

test('R28 what is equal has the same one, whatever the order of its members', () => {
  expect(fingerprint({ a: 1, b: [2] })).toBe(fingerprint({ b: [2], a: 1 }))
  expect(fingerprint(tree(v.string()))).toBe(fingerprint(tree(v.string())))
  const schema = () =>
    v.object({
      a: v.pipe(
        v.string(),
        v.check(() => Math.random() > 0),
      ),
      b: v.optional(v.date(), () => new Date()),
    })
  expect(fingerprint(schema())).toBe(fingerprint(schema()))
})
