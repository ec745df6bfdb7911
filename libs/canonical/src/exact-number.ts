/** Decimal value of a JSON number token, its sign apart: `digits` × 10^`exponent`. Zero is { digits: "", exponent: 0 }. */
interface Decimal {
  /** No leading and no trailing zeros, so that equal values have equal digits. */
  readonly digits: string
  readonly exponent: number
}

/** What a number token means: the double that is exactly it, or why there is none. */
type ExactNumber = number | "unsafe_integer" | "inexact_number" | "negative_zero"

/** A token this short without an exponent has at most 15 significant digits, which every double carries exactly (DBL_DIG). */
const ALWAYS_EXACT_LENGTH = 15

/**
 * The double of a JSON number token (RFC 8259 §6) when its RFC 8785 form has the same decimal value and, if an integer, lies
 * within ±(2^53−1) (RFC 7493 §2.2). The comparison is made on decimal digits, in time linear in the token. A token beyond the
 * largest double is inexact, not unsafe.
 */
export function exactNumber(token: string, hasExponent: boolean): ExactNumber {
  const value = Number(token)
  if (value !== 0 && !hasExponent && token.length <= ALWAYS_EXACT_LENGTH) return value
  if (!Number.isFinite(value)) return "inexact_number"
  const written = decimalOf(token)
  if (written.digits === "") return token.startsWith("-") ? "negative_zero" : 0
  if (written.exponent >= 0 && !Number.isSafeInteger(value)) return "unsafe_integer"
  const carried = decimalOf(`${value}`)
  return written.digits === carried.digits && written.exponent === carried.exponent ? value : "inexact_number"
}

function decimalOf(token: string): Decimal {
  const exponentAt = token.search(/[eE]/)
  const mantissa = exponentAt === -1 ? token : token.slice(0, exponentAt)
  const [integer = "", fraction = ""] = mantissa.replace("-", "").split(".")
  const all = integer + fraction
  let first = 0
  while (first < all.length && all.charAt(first) === "0") first++
  let end = all.length
  while (end > first && all.charAt(end - 1) === "0") end--
  if (first === end) return { digits: "", exponent: 0 }
  // A written exponent too long for a double's integer range belongs to a number no double carries: it compares unequal.
  const written = exponentAt === -1 ? 0 : Number(token.slice(exponentAt + 1))
  return { digits: all.slice(first, end), exponent: written - fraction.length + (all.length - end) }
}
