/**
 * What came of the spans of requests that were refused as a whole. Each span counts against its caller's rate limit, also one that was sealed
 * before: without this, a request with more spans than a minute allows would reach the limit at the same place however often it is sent.
 */

/** Most spans that one process remembers; the oldest are forgotten, and are then found by their idempotency keys. */
const REMEMBERED_MAX = 65_536

export type SettledSpans<Fate> = {
  readonly find: (id: string) => Fate | undefined
  readonly remember: (id: string, fate: Fate) => void
  readonly forget: (id: string) => void
}

/** @returns an empty memory, by ids of the caller's choice */
export function createSettledSpans<Fate>(most: number = REMEMBERED_MAX): SettledSpans<Fate> {
  const fates = new Map<string, Fate>()
  return {
    find: id => fates.get(id),
    remember: (id, fate) => {
      fates.delete(id)
      fates.set(id, fate)
      const [oldest] = fates.keys()
      if (fates.size > most && oldest !== undefined) fates.delete(oldest)
    },
    forget: id => void fates.delete(id),
  }
}
