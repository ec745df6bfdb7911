/** No more digits than 2^53−1 has: which of these a double has to round, lies beyond it. */
const DECIMAL = /^(?:0|[1-9][0-9]{0,15})$/

/** A canonical unsigned decimal of at most 2^53−1, the range in which JSON numbers are exact; undefined for other text. */
export function decodeSafeDecimal(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}
