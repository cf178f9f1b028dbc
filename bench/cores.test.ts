import { expect, test } from 'vitest'
import { parseCores } from './cores.ts'

test('lists of cores', () => {
  expect(parseCores(' 0,1\n')).toEqual([0, 1])
  expect(parseCores('0-2,5')).toEqual([0, 1, 2, 5])
})
