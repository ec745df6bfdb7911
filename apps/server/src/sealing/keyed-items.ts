/**
 * Items of a batch that came under an idempotency key. The sealer has locked the log's head, so what its transaction reads of a
 * key is final: of two requests under one key, in whatever processes, one is sealed.
 */
import type { Draft } from "@runseal/core/seal/draft"
import { NO_PERMITS } from "@runseal/core/seal/permits/settle-permits"
import type { Tx } from "../store/driver/session.ts"
import { type KeyState, lockKeys, updateKeys } from "../store/tables/idempotency-keys.ts"
import type { Batch, BatchWork, KeyedItem, Round } from "./batch.ts"
import { permitRuns } from "./batch.ts"

/** The charge that a run's budget snapshot shows; "" when it has none. */
const chargeOf = (draft: Draft | undefined): string => draft?.sections.budget_snapshot?.window?.charge_id ?? ""

/** Locks the keys of a batch's items and gives the state of each. */
export const lockClaims = (tx: Tx, { keyed = [] }: BatchWork, now: number): Promise<ReadonlyMap<string, KeyState>> =>
  lockKeys(
    tx,
    keyed.map(({ claim }) => claim),
    now,
  )

/**
 * The work of a batch without the items that must not be sealed: an item whose key has a record already, and a run whose
 * charge another process has taken over for a retry of the same request.
 * @param states of the keys of its items, which are locked
 */
export function withoutTaken(work: BatchWork, states: ReadonlyMap<string, KeyState>): Round {
  const { keyed = [] } = work
  if (keyed.length === 0) return work
  const unused = new Map(states)
  const taken = keyed.filter(({ kind, at, claim }) => {
    const state = unused.get(claim.key_hash)
    // A second item of this batch under the same key finds none.
    unused.delete(claim.key_hash)
    return state === undefined || isTaken(state, kind === "run" ? chargeOf(work.drafts[at]) : "")
  })
  const { closes, openings, ...others } = work.permits ?? NO_PERMITS
  const free = <Sealed>(kind: KeyedItem["kind"], items: readonly Sealed[]): readonly (Sealed | undefined)[] =>
    items.map((item, at) => (taken.some(found => found.kind === kind && found.at === at) ? undefined : item))
  return {
    drafts: free("run", work.drafts),
    attestations: free("attestation", work.attestations),
    permits: { ...others, closes: free("close", closes), openings: free("opening", openings) },
  }
}

const isTaken = ({ record_id, charge_id }: KeyState, charge: string): boolean =>
  record_id !== "" || (charge !== "" && charge !== charge_id)

/** Writes what was sealed under each key, in the transaction that writes the records. */
export async function recordSealed(tx: Tx, work: BatchWork, batch: Batch, now: number): Promise<void> {
  const { keyed = [] } = work
  const rows = keyed.flatMap(({ kind, at, claim }) => {
    const record_id = recordOf(work, batch, kind, at)
    // The charge of a permit belongs to its opening, whichever request moves it.
    const charge_id = kind === "run" ? chargeOf(batch.runs[at]?.draft) : ""
    return record_id === undefined ? [] : [{ ...claim, record_id, charge_id, kept_at: now }]
  })
  await updateKeys(tx, rows)
}

/** The id of what an item became: of an opening that was refused it is the number of the run. */
function recordOf(work: BatchWork, batch: Batch, kind: KeyedItem["kind"], at: number): string | undefined {
  if (kind === "attestation") return batch.attestations[at]?.document.attestation_id
  const opened = kind === "opening" ? batch.openings[at]?.document.permit_id : undefined
  const run = kind === "run" ? at : permitRuns(work)[kind](at)
  return opened ?? batch.runs[run]?.bundle.run.run_id.toString()
}
