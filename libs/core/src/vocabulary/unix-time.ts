/** The last second an ISO 8601 date with four year digits can name. */
const LAST_SECOND = 253_402_300_799

/** Unix seconds as RFC 3339 UTC; as the bare number where no such date exists. */
export function unixTime(seconds: number): string {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > LAST_SECOND) return `Unix second ${seconds}`
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
}
