/**
 * The service verifies every document before it commits it, which is most of its work. A load verifies a random sample of
 * them, each as the service would, and fails with the first that does not verify.
 */
import type { Judgement, VerifyTexts } from "@runseal/server/sealing/verification"
import { packBundle } from "@runseal/server/store/bundle-text"

/** Of so many documents a load verifies one. */
export const SAMPLED_EVERY = 100

export type Sample = {
  readonly verify: VerifyTexts
  /** Documents verified so far. */
  readonly verified: () => number
}

/**
 * @param verify asked of those that are drawn
 * @param every of so many one; 1 verifies all
 */
export function sampleOf(verify: VerifyTexts, every: number = SAMPLED_EVERY): Sample {
  let verified = 0
  return {
    verify: async texts => {
      const judgements: Judgement[] = []
      for (const finished of texts) {
        const drawn = Math.random() * every < 1
        const [judged] = drawn ? await verify([finished]) : []
        if (judged !== undefined && "objection" in judged)
          throw new Error(`a loaded document does not verify: ${judged.objection}`)
        if (judged !== undefined) verified++
        judgements.push(judged ?? { packed: finished.pack ? packBundle(finished.text) : undefined })
      }
      return judgements
    },
    verified: () => verified,
  }
}
