/** The last step of a batch: documents are made, and verified as texts while the next ones are made. */
import type { Verdict } from "@runseal/core/verify/report"
import type { Failed, InTurns, Placed } from "./in-turns.ts"
import { unverified } from "./record.ts"
import type { VerifyTexts } from "./verification.ts"

/** Documents handed to the verifier at once: enough that handing them over costs little, few enough that it begins early. */
const HANDED_TOGETHER = 8

export type Finishing = {
  readonly inTurns: InTurns
  readonly verify: VerifyTexts
}

/** A document at its place in the batch. */
export type Finished<Document> = Placed & { readonly item: Document }

/**
 * Makes documents and has each verified; what fails in either is noted and does not count among what is given back.
 * Rejects when the verifier could not be asked.
 * @param verdict what the verifier must say of each
 */
export async function finishDocuments<Item extends Placed, Document extends { readonly text: string }>(
  { inTurns, verify }: Finishing,
  items: readonly Item[],
  failed: Failed,
  verdict: Verdict,
  make: (item: Item) => Document,
): Promise<readonly Finished<Document>[]> {
  const finished: Finished<Document>[] = []
  const judged: Promise<void>[] = []
  const lost: unknown[] = []
  const judge = async (part: readonly Finished<Document>[]): Promise<void> => {
    try {
      const objections = await verify(part.map(({ item }) => ({ text: item.text, verdict })))
      part.forEach(({ at }, i) => {
        const objection = objections[i]
        if (objection !== undefined) failed.set(at, unverified(objection))
      })
    } catch (error) {
      lost.push(error)
    }
  }
  for (let first = 0; first < items.length; first += HANDED_TOGETHER) {
    const some = items.slice(first, first + HANDED_TOGETHER)
    const part = await inTurns(some, failed, "DLA", item => ({ at: item.at, item: make(item) }))
    finished.push(...part)
    judged.push(judge(part))
  }
  await Promise.all(judged)
  if (lost.length > 0) throw lost[0]
  return finished.filter(({ at }) => !failed.has(at))
}
