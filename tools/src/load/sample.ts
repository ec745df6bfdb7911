/**
 * The service verifies every document before it commits it, which is most of its work. A load verifies a random sample of
 * them, each as the service would, and fails with the first that does not verify.
 */
import type { Objection, VerifyTexts } from "@runseal/server/sealing/verification"

/** Of so many documents one is verified. */
export const SAMPLED_EVERY = 100

export type Sample = {
  readonly verify: VerifyTexts
  /** Documents verified so far. */
  readonly verified: () => number
}

/** @param verify asked of those that are drawn */
export function sampleOf(verify: VerifyTexts): Sample {
  let verified = 0
  return {
    verify: async texts => {
      const objections: Objection[] = texts.map(() => undefined)
      for (const text of texts) {
        if (Math.random() * SAMPLED_EVERY >= 1) continue
        const [objection] = await verify([text])
        if (objection !== undefined) throw new Error(`a loaded document does not verify: ${objection}`)
        verified++
      }
      return objections
    },
    verified: () => verified,
  }
}
