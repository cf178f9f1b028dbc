import { expect, test } from 'vitest'
import { rotate } from './round.ts'

test('each turn begins with another server', () => {
  expect(rotate(['a', 'b', 'c'], 4)).toEqual(['b', 'c', 'a'])
  expect(rotate([], 4)).toEqual([])
})
