/** Reviews of what a server says of itself and of its tools: each text once, many at a time, and no agent waits long for them. */
import { setTimeout as sleep } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { review, type Seen, type Verdict } from "./first-sight.ts"
import type { Sealing } from "./sealing.ts"

/** Milliseconds that an agent waits for the review of what it asked for: agents end a server that starts slowly. */
const REVIEW_WAIT_MS = 2_000
/** Texts whose verdict is remembered; the oldest is forgotten first. */
const VERDICTS_MAX = 20_000

/** A definition of a tool, or instructions. @param hash of its RFC 8785 text */
export type ServerText = { readonly tool: string; readonly text: JsonObject; readonly hash: string }

export type DefinitionReviews = {
  /** Undefined for a text that is not reviewed, or not yet. */
  readonly verdictOf: (hash: string) => Verdict | undefined
  /** Reviews what was not. Resolves when nothing is under review, or the agent waits no longer; at once where calls are only observed. */
  readonly soon: (seen: Seen, texts: readonly ServerText[]) => Promise<void>
  /** Resolves once nothing is under review. */
  readonly all: () => Promise<unknown>
  /** Calls the listener when a review ended for which the agent did not wait. */
  readonly onLate: (listener: () => void) => void
}

/** @param pin is called with the texts that were found clean */
export function createReviews(sealing: Sealing, pin: (clean: readonly ServerText[]) => void): DefinitionReviews {
  const { warn } = sealing
  /** By hash: undefined while a text is under review. */
  const verdicts = new Map<string, Verdict | undefined>()
  const underReview = new Set<Promise<void>>()
  const listeners: (() => void)[] = []

  const reviewNew = async (seen: Seen, texts: readonly ServerText[]): Promise<void> => {
    const fresh = texts.filter(({ hash }) => !verdicts.has(hash))
    if (fresh.length === 0) return
    for (const { hash } of fresh) verdicts.set(hash, undefined)
    const texted = fresh.map(({ text }) => text)
    const found = await review(sealing, seen, texted)
    for (const [at, { hash }] of fresh.entries()) {
      const verdict = found[at]
      // Without a decision the next list starts another review.
      if (verdict === undefined || verdict.kind === "undecided") verdicts.delete(hash)
      else verdicts.set(hash, verdict)
      for (const oldest of verdicts.keys()) if (verdicts.size > VERDICTS_MAX) verdicts.delete(oldest)
    }
    for (const reason of new Set(found.map(verdict => (verdict.kind === "undecided" ? verdict.reason : undefined))))
      if (reason !== undefined) warn(`what ${seen.route_id} says of itself is not reviewed: ${reason}`)
    pin(fresh.filter((_, at) => found[at]?.kind === "clean"))
  }
  return {
    verdictOf: hash => verdicts.get(hash),
    soon: async (seen, texts) => {
      let isLate = false
      const work = reviewNew(seen, texts)
        .catch((error: unknown) => warn(`a review failed: ${error instanceof Error ? error.message : "unknown"}`))
        .finally(() => {
          underReview.delete(work)
          if (isLate) for (const listener of listeners) listener()
        })
      underReview.add(work)
      if (sealing.mode === "observe") return
      await Promise.race([Promise.all(underReview), sleep(REVIEW_WAIT_MS, undefined, { ref: false })])
      isLate = underReview.has(work)
    },
    all: () => Promise.all(underReview),
    onLate: listener => void listeners.push(listener),
  }
}
