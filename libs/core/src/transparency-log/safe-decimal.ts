import { decodeDecimal } from "@runseal/canonical"

/** A canonical unsigned decimal of at most 2^53−1, the range in which JSON numbers are exact; undefined for other text. */
export function decodeSafeDecimal(text: string): number | undefined {
  const value = decodeDecimal(text)
  return value !== undefined && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
}
