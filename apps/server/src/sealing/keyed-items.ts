/**
 * Items of a batch that came under an idempotency key. Whoever seals has locked the log's head: what his transaction reads
 * of a key is final, so that of two requests under one key, in whatever processes, one is sealed.
 */
import type { Draft } from "../run/pipeline/draft.ts"
import type { Tx } from "../store/driver/session.ts"
import { type KeptKey, type KeyClaim, keepKeys, lockKeys } from "../store/tables/idempotency-keys.ts"
import type { Batch, BatchWork, Round } from "./seal-batch.ts"

/** An item of a batch under a key, by its place among the runs or among the attestations. */
export type KeyedItem = { readonly kind: "run" | "attestation"; readonly at: number; readonly claim: KeyClaim }

/** The charge that a run's budget snapshot shows; "" when it has none. */
const chargeOf = (draft: Draft | undefined): string => draft?.sections.budget_snapshot?.window?.charge_id ?? ""

/** Locks the keys of a batch's items and gives what stands for each. */
export const lockClaims = (tx: Tx, { keyed = [] }: BatchWork, now: number): Promise<ReadonlyMap<string, KeptKey>> =>
  lockKeys(
    tx,
    keyed.map(({ claim }) => claim),
    now,
  )

/**
 * The work of a batch without the items that may not be sealed: those under a key that has its record, and runs whose charge
 * stands by now for another attempt at the same request, in another process.
 * @param keys what stands for the keys of its items, which are locked
 */
export function withoutTaken(work: BatchWork, keys: ReadonlyMap<string, KeptKey>): Round {
  const { keyed = [] } = work
  if (keyed.length === 0) return work
  const kept = new Map(keys)
  const taken = keyed.filter(({ kind, at, claim }) => {
    const key = kept.get(claim.key_hash)
    // Whatever comes later in this batch under the same key finds none.
    kept.delete(claim.key_hash)
    return key === undefined || isTaken(key, kind === "run" ? chargeOf(work.drafts[at]) : "")
  })
  return {
    drafts: work.drafts.map((draft, place) => (has(taken, "run", place) ? undefined : draft)),
    attestations: work.attestations.map((draft, place) => (has(taken, "attestation", place) ? undefined : draft)),
  }
}

const isTaken = ({ record_id, charge_id }: KeptKey, charge: string): boolean =>
  record_id !== "" || (charge !== "" && charge !== charge_id)

const has = (items: readonly KeyedItem[], kind: KeyedItem["kind"], place: number): boolean =>
  items.some(item => item.kind === kind && item.at === place)

/** Writes what was sealed under each key, in the transaction that writes the records. */
export async function keepSealed(tx: Tx, { keyed = [] }: BatchWork, batch: Batch, now: number): Promise<void> {
  const rows = keyed.flatMap(({ kind, at, claim }) => {
    const run = kind === "run" ? batch.runs[at] : undefined
    const attestation = kind === "attestation" ? batch.attestations[at] : undefined
    const record_id = run?.bundle.run.run_id.toString() ?? attestation?.document.attestation_id
    return record_id === undefined ? [] : [{ ...claim, record_id, charge_id: chargeOf(run?.draft), kept_at: now }]
  })
  await keepKeys(tx, rows)
}
