/** What other services (reviewers, witnesses, signers, logs) answer: never more of it than is bounded, and no word of theirs taken over. */

/**
 * The body of an answer, after any content encoding is undone; undefined as soon as it is longer than `maxBytes`. Rejects when
 * the answer breaks off or its signal aborts.
 */
export async function readBounded({ body }: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Milliseconds that `Retry-After` (RFC 9110 §10.2.3) asks to wait, not negative: seconds, or a date held against `now`;
 * undefined when it is absent or neither.
 * @param now milliseconds since the epoch
 */
export function retryAfterMs({ headers }: Response, now: number): number | undefined {
  const value = headers.get("retry-after")
  if (value === null) return undefined
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
