/** UTC times read by their digits: `Date.parse` takes other spellings and days that do not exist, each engine as it likes. */

const MILLIS_OF_400_YEARS = 12_622_780_800_000
const MILLIS_OF_MINUTE = 60_000

/** The number that `count` ASCII digits write at `at`. */
export function digitsAt(text: string, at: number, count: number): number {
  let value = 0
  for (let index = at; index < at + count; index++) value = 10 * value + text.charCodeAt(index) - 0x30
  return value
}

/**
 * Milliseconds since the epoch of the UTC time whose digits are those of `YYYY-MM-DDTHH:MM:SS` at the text's beginning;
 * undefined for a day that does not exist. Seconds beyond 59 run on into the next minute.
 */
export function utcMillis(text: string): number | undefined {
  const [month, day] = [digitsAt(text, 5, 2), digitsAt(text, 8, 2)]
  // Date.UTC takes the years below 100 for others; the calendar is the same again after 400.
  const midnight = Date.UTC(digitsAt(text, 0, 4) + 400, month - 1, day) - MILLIS_OF_400_YEARS
  const found = new Date(midnight)
  if (found.getUTCMonth() !== month - 1 || found.getUTCDate() !== day) return undefined
  const minutes = 60 * digitsAt(text, 11, 2) + digitsAt(text, 14, 2)
  return midnight + minutes * MILLIS_OF_MINUTE + 1000 * digitsAt(text, 17, 2)
}

/** The last second an ISO 8601 date with four year digits can name. */
const LAST_SECOND = 253_402_300_799

/** Unix seconds as RFC 3339 UTC; as the bare number where no such date exists. */
export function unixTime(seconds: number): string {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > LAST_SECOND) return `Unix second ${seconds}`
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
}
