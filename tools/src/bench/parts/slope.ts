/** The straight line that fits points best. */

export type Point = { readonly x: number; readonly y: number }

/** How much y grows with 1 of x, by least squares; NaN for fewer than two different x. */
export function slope(points: readonly Point[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(point => point.x)), mean(points.map(point => point.y))]
  const along = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0)
  const across = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0)
  return across === 0 ? Number.NaN : along / across
}
