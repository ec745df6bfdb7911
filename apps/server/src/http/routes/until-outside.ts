/** In sync mode an answer waits until the outside log holds the record too. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"

/** Seconds after which a caller may retry while the entry is being delivered. */
const RETRY_AFTER_SECONDS = "5"

/**
 * Waits until the outside log holds an entry and all that are delivered before it. Returns at once where answers do not wait for the
 * outside log, and for an entry that is older than its configuration.
 * @param what is sealed, for the sentence to the caller
 * @throws HttpError 503 after the timeout: the record is sealed, and its delivery goes on
 */
export async function untilOutside({ outside }: Pick<Deps, "outside">, what: string, logIndex: number): Promise<void> {
  if (outside === undefined || outside.log.mode === "async" || (await outside.untilPassed(logIndex))) return
  const sentence = `${what} is sealed, and its entry in the outside log is still on its way; a repeat under the same Idempotency-Key waits for it.`
  throw new HttpError("entry_pending", sentence, { "Retry-After": RETRY_AFTER_SECONDS })
}

/** Waits until the outside log holds the last entry of a record, in sync mode. @throws HttpError 503 */
export async function untilRecorded(deps: Pick<Deps, "outside">, { run, anchors }: Bundle): Promise<void> {
  const last = anchors.complete_record?.entry.logIndex
  if (last !== undefined) await untilOutside(deps, `Run ${run.run_id}`, Number(last))
}
