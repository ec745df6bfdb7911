/**
 * Items of a batch that came under an idempotency key. The sealer has locked the log's head, so what its transaction reads of a
 * key is final: of two requests under one key, in whatever processes, one is sealed.
 */
import type { Tx } from "../store/driver/session.ts"
import { type KeyState, lockKeys, updateKeys } from "../store/tables/idempotency-keys.ts"
import type { Batch, Item } from "./batch.ts"

/** Locks the keys of a batch's items and gives the state of each. */
export const lockClaims = (tx: Tx, items: readonly Item[], now: number): Promise<ReadonlyMap<string, KeyState>> =>
  lockKeys(
    tx,
    items.flatMap(({ claim }) => claim ?? []),
    now,
  )

/**
 * The items of a batch without those that must not be sealed: an item whose key has a record already, and a run whose
 * charge another process has taken over for a retry of the same request.
 * @param states of the keys of its items, which are locked
 */
export function withoutTaken(items: readonly Item[], states: ReadonlyMap<string, KeyState>): readonly Item[] {
  const unused = new Map(states)
  return items.filter(({ claim, charge_id }) => {
    if (claim === undefined) return true
    const state = unused.get(claim.key_hash)
    // A second item of this batch under the same key finds none.
    unused.delete(claim.key_hash)
    return state !== undefined && !isTaken(state, charge_id)
  })
}

const isTaken = ({ record_id, charge_id }: KeyState, charge: string): boolean =>
  record_id !== "" || (charge !== "" && charge !== charge_id)

/** Writes what was sealed under each key, in the transaction that writes the records. */
export async function recordSealed(tx: Tx, { sealed }: Batch, now: number): Promise<void> {
  const rows = sealed.flatMap(({ item: { claim, charge_id }, record_id }) =>
    claim === undefined ? [] : [{ ...claim, record_id, charge_id, kept_at: now }],
  )
  await updateKeys(tx, rows)
}
