import { expect, test } from 'vitest'
import { control, figures, ratios } from './ratios.ts'
import { figure } from './stats.ts'

test('median and quartiles', () => {
  expect(figure([5, 1, 3, 2, 4])).toEqual({ median: 3, p25: 2, p75: 4 })
  expect(figure([1, 2])).toEqual({ median: 1.5, p25: 1.25, p75: 1.75 })
  expect(figure([7])).toEqual({ median: 7, p25: 7, p75: 7 })
})

test('ratios are taken within a round, not between medians', () => {
  const baseline = [{ cpu: 10 }, { cpu: 20 }, { cpu: 40 }]
  const samples = [{ cpu: 20 }, { cpu: 40 }, { cpu: 80 }]
  expect(figures(samples)).toEqual({ cpu: { median: 40, p25: 30, p75: 60 } })
  expect(ratios(samples, baseline)).toEqual({ cpu: { median: 2, p25: 2, p75: 2 } })
})

test('the control is steady when its quartiles lie within 5 % of 1', () => {
  const baseline = [{ cpu: 100 }, { cpu: 100 }, { cpu: 100 }, { cpu: 100 }, { cpu: 100 }]
  const at = (...values: number[]) =>
    control(
      values.map((cpu) => ({ cpu })),
      baseline,
    ).cpu?.resolved
  expect(at(50, 96, 100, 104, 200)).toBe(true)
  expect(at(50, 94, 100, 104, 200)).toBe(false)
  expect(at(50, 96, 100, 106, 200)).toBe(false)
})
