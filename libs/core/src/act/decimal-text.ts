/** Decimal numbers as texts, which no reader rounds: at most 14 digits before the point and four after it, as Cedar's `decimal` holds. */

const DECIMAL = /^(-?)(0|[1-9]\d{0,13})(?:\.(\d{1,4}))?$/
export const DECIMAL_PATTERN: string = DECIMAL.source
const PLACES = 4
/** One in the units of `decimalUnits`. */
const ONE = 10n ** BigInt(PLACES)
/** The first number that has too many digits, in units. */
const TOO_LARGE = 10n ** 14n * ONE

/** The number in ten-thousandths. Undefined for a text that is no such decimal, has an exponent, or writes zero with a sign. */
export function decimalUnits(text: string): bigint | undefined {
  const [, sign, whole, fraction = ""] = DECIMAL.exec(text) ?? []
  if (whole === undefined) return undefined
  const units = BigInt(whole + fraction.padEnd(PLACES, "0"))
  if (sign === "-" && units === 0n) return undefined
  return sign === "-" ? -units : units
}

/** The one text of a number, with at least one digit after the point. Undefined for one with too many digits. */
export function decimalText(units: bigint): string | undefined {
  const size = units < 0n ? -units : units
  if (size >= TOO_LARGE) return undefined
  const fraction = (size % ONE)
    .toString()
    .padStart(PLACES, "0")
    .replace(/0{1,3}$/, "")
  return `${units < 0n ? "-" : ""}${size / ONE}.${fraction}`
}
