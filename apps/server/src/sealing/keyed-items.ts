/**
 * Items of a batch that came under an idempotency key. The sealer has locked the log's head, so what its transaction reads of a
 * key is final: of two requests under one key, in whatever processes, one is sealed.
 */
import type { Draft } from "../run/pipeline/draft.ts"
import type { Tx } from "../store/driver/session.ts"
import { type KeyClaim, type KeyState, lockKeys, updateKeys } from "../store/tables/idempotency-keys.ts"
import type { Batch, BatchWork, Round } from "./seal-batch.ts"

/** An item of a batch under a key, by its index among the runs or among the attestations. */
export type KeyedItem = { readonly kind: "run" | "attestation"; readonly at: number; readonly claim: KeyClaim }

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
  return {
    drafts: work.drafts.map((draft, at) => (has(taken, "run", at) ? undefined : draft)),
    attestations: work.attestations.map((draft, at) => (has(taken, "attestation", at) ? undefined : draft)),
  }
}

const isTaken = ({ record_id, charge_id }: KeyState, charge: string): boolean =>
  record_id !== "" || (charge !== "" && charge !== charge_id)

const has = (items: readonly KeyedItem[], kind: KeyedItem["kind"], at: number): boolean =>
  items.some(item => item.kind === kind && item.at === at)

/** Writes what was sealed under each key, in the transaction that writes the records. */
export async function recordSealed(tx: Tx, { keyed = [] }: BatchWork, batch: Batch, now: number): Promise<void> {
  const rows = keyed.flatMap(({ kind, at, claim }) => {
    const run = kind === "run" ? batch.runs[at] : undefined
    const attestation = kind === "attestation" ? batch.attestations[at] : undefined
    const record_id = run?.bundle.run.run_id.toString() ?? attestation?.document.attestation_id
    return record_id === undefined ? [] : [{ ...claim, record_id, charge_id: chargeOf(run?.draft), kept_at: now }]
  })
  await updateKeys(tx, rows)
}
