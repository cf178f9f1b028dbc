export interface Figure {
  median: number
  p25: number
  p75: number
}

/** Of sorted values, with linear interpolation; NaN of none. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  const at = (sorted.length - 1) * q
  const low = Math.floor(at)
  const a = sorted[low] ?? Number.NaN
  const b = sorted[Math.min(low + 1, sorted.length - 1)] ?? Number.NaN
  return a + (b - a) * (at - low)
}

export function figure(values: readonly number[]): Figure {
  const sorted = Float64Array.from(values).sort()
  return { median: quantile(sorted, 0.5), p25: quantile(sorted, 0.25), p75: quantile(sorted, 0.75) }
}
