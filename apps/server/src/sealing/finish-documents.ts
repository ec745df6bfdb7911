/** The last step of a batch: makes the documents, and verifies their texts while the next ones are made. */
import { randomInt } from "node:crypto"
import type { Failed, RunSteps, Slot } from "./batch-steps.ts"
import { unverified } from "./record.ts"
import type { FinishedText, VerifyTexts } from "./verification.ts"

/** Most documents in one call of the verifier: a call costs little for each of them, and the verifier can start early. */
const CALL_MAX_DOCUMENTS = 8
/** A batch is verified in at least so many calls, so that a small one keeps every thread of the verifier busy as well. */
const MIN_CALLS = 4

type Finishing = {
  readonly runSteps: RunSteps
  readonly verify: VerifyTexts
}

/** A document of the batch, with its packed form where that was asked for. */
export type Finished<Document> = Slot & { readonly item: Document; readonly packed: Uint8Array | undefined }

/**
 * Makes documents and has each verified. An item for which either fails is added to `failed` and is not returned.
 * Rejects when the verifier could not be asked.
 * @param wanted of the verifier, for each
 */
export async function finishDocuments<Item extends Slot, Document extends Pick<FinishedText, "text">>(
  { runSteps, verify }: Finishing,
  items: readonly Item[],
  failed: Failed,
  wanted: Pick<FinishedText, "verdict" | "pack">,
  make: (item: Item) => Document,
): Promise<readonly Finished<Document>[]> {
  const sampled = items.length === 0 ? undefined : items[randomInt(items.length)]?.at
  const judgeAll = async (made: readonly (Slot & { readonly item: Document })[]): Promise<Finished<Document>[]> => {
    const judgements = await verify(
      made.map(({ at, item }) => ({ ...wanted, text: item.text, sampled: at === sampled })),
    )
    return made.flatMap(({ at, item }, i) => {
      const judged = judgements[i]
      if (judged !== undefined && "packed" in judged) return [{ at, item, packed: judged.packed }]
      failed.set(at, unverified(judged?.objection ?? "the verifier did not answer"))
      return []
    })
  }
  const calls: Promise<readonly Finished<Document>[]>[] = []
  const perCall = Math.min(CALL_MAX_DOCUMENTS, Math.ceil(items.length / MIN_CALLS))
  for (let first = 0; first < items.length; first += perCall) {
    const some = items.slice(first, first + perCall)
    const made = await runSteps(some, failed, "DLA", item => ({ at: item.at, item: make(item) }))
    const call = judgeAll(made)
    // Awaited below. Without this, a call that rejects before that would count as an unhandled rejection.
    call.catch(() => {})
    calls.push(call)
  }
  return (await Promise.all(calls)).flat()
}
