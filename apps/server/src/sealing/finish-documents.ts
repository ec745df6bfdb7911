/** The last step of a batch: documents are made, and verified as texts while the next ones are made. */
import type { Failed, InTurns, Placed } from "./in-turns.ts"
import { unverified } from "./record.ts"
import type { FinishedText, VerifyTexts } from "./verification.ts"

/** Most documents handed to the verifier at once: enough that handing them over costs little, few enough that it begins early. */
const HANDED_TOGETHER = 8
/** Into so many parts at least a batch is handed over, so that a small one keeps every thread of the verifier busy as well. */
const PARTS = 4

type Finishing = {
  readonly inTurns: InTurns
  readonly verify: VerifyTexts
}

/** A document at its place in the batch, with its packed form where that was asked for. */
export type Finished<Document> = Placed & { readonly item: Document; readonly packed: Uint8Array | undefined }

/**
 * Makes documents and has each verified. What fails in either is noted and is not given back.
 * Rejects when the verifier could not be asked.
 * @param wanted of the verifier, for each
 */
export async function finishDocuments<Item extends Placed, Document extends Pick<FinishedText, "text">>(
  { inTurns, verify }: Finishing,
  items: readonly Item[],
  failed: Failed,
  wanted: Omit<FinishedText, "text">,
  make: (item: Item) => Document,
): Promise<readonly Finished<Document>[]> {
  const judgeAll = async (made: readonly (Placed & { readonly item: Document })[]): Promise<Finished<Document>[]> => {
    const judgements = await verify(made.map(({ item }) => ({ ...wanted, text: item.text })))
    return made.flatMap(({ at, item }, i) => {
      const judged = judgements[i]
      if (judged !== undefined && "packed" in judged) return [{ at, item, packed: judged.packed }]
      failed.set(at, unverified(judged?.objection ?? "the verifier did not answer"))
      return []
    })
  }
  const judged: Promise<readonly Finished<Document>[]>[] = []
  const together = Math.min(HANDED_TOGETHER, Math.ceil(items.length / PARTS))
  for (let first = 0; first < items.length; first += together) {
    const some = items.slice(first, first + together)
    const made = await inTurns(some, failed, "DLA", item => ({ at: item.at, item: make(item) }))
    const part = judgeAll(made)
    // It is awaited below; until then its rejection is nobody's.
    part.catch(() => {})
    judged.push(part)
  }
  return (await Promise.all(judged)).flat()
}
