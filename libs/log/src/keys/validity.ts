/** When a key may sign, in whole Unix seconds, both ends included. */
export interface Validity {
  readonly validFrom: number
  readonly validTo?: number
}

/** Whether `time` (whole Unix seconds) lies within a key's validity. */
export function isValidAt({ validFrom, validTo }: Validity, time: number): boolean {
  return time >= validFrom && (validTo === undefined || time <= validTo)
}

/**
 * Unix seconds, rounded down, of an RFC 3339 UTC time such as `2021-01-12T11:53:27Z` with an optional fraction; undefined
 * for any other spelling. Log time is in whole seconds, so key validity is compared in whole seconds.
 */
export function parseUtcSeconds(text: string): number | undefined {
  const [, seconds] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z$/.exec(text) ?? []
  const milliseconds = seconds === undefined ? Number.NaN : Date.parse(`${seconds}Z`)
  if (seconds === undefined || Number.isNaN(milliseconds)) return undefined
  // Date.parse accepts days such as 30 February and moves them to March; such a text does not come back.
  return new Date(milliseconds).toISOString().startsWith(seconds) ? milliseconds / 1000 : undefined
}

/** RFC 3339 UTC of Unix seconds; the inverse of `parseUtcSeconds`. Throws RangeError for a time outside the range of Date. */
export const formatUtcSeconds = (seconds: number): string =>
  new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
