/** What a batch locks and reads behind the lock of the log's head, always in the order of `docs/architecture.md`, "Locks". What is read there is final. */
import { randomBytes } from "node:crypto"
import { sentTogether, type Tx } from "../store/driver/session.ts"
import { dueEvents } from "../store/tables/admin-events.ts"
import { lockApprovals } from "../store/tables/approvals-table.ts"
import { countAttestations } from "../store/tables/attestations-table.ts"
import { type KeyState, lockKeys, updateKeys } from "../store/tables/idempotency-keys.ts"
import { findTenants, type TenantClaim, type TenantOwner } from "../store/tables/tenants.ts"
import type { Batch, Item } from "./batch.ts"
import { lockPermitItems } from "./permit-rows.ts"

export type LockedRows = Awaited<ReturnType<typeof lockRows>>

/** Locks and reads what the items of a batch depend on. @param now milliseconds since the epoch */
export async function lockRows(tx: Tx, items: readonly Item[], now: number) {
  const [tenants, attested, keys, permits, due, requests] = await sentTogether([
    findTenants(tx, tenantOwnersOf(items)),
    countAttestations(tx, attestingOf(items)),
    lockClaims(tx, items, now),
    lockPermitItems(tx, items),
    dueEvents(
      tx,
      items.some(item => "eventsSealed" in item),
    ),
    lockApprovals(
      tx,
      items.flatMap(({ locks }) => locks.ends ?? []),
    ),
  ])
  return { tenants, attested, keys, permits, due, requests }
}

/** Who owns the tenants of these items, each of them once. */
export const tenantOwnersOf = (items: readonly Item[]): readonly TenantOwner[] => [
  ...new Map(
    items.flatMap(({ locks: { tenant } }) => (tenant === undefined ? [] : [[tenant.tenant_id, tenant]])),
  ).values(),
]

/** Ids of the API keys whose attestations are counted. */
export const attestingOf = (items: readonly Item[]): readonly number[] => [
  ...new Set(items.flatMap(({ locks }) => locks.attests ?? [])),
]

/** A tenant with the salt it gets if it is new. */
export const withSalt = ({ tenant_id, owner }: TenantOwner): TenantClaim => ({
  tenant_id,
  owner,
  salt: randomBytes(32).toString("hex"),
})

// Items that came under an idempotency key. What is read of a key behind the lock of the log's head is final: of two requests under one key, in
// whatever processes, one is sealed.

/** Locks the keys of a batch's items and gives the state of each. @param now milliseconds since the epoch */
export const lockClaims = (tx: Tx, items: readonly Item[], now: number): Promise<ReadonlyMap<string, KeyState>> =>
  lockKeys(
    tx,
    items.flatMap(({ claim }) => claim ?? []),
    now,
  )

/**
 * The items of a batch without those that must not be sealed: an item whose key has a record already, and a run whose
 * charge another process has taken over for a retry of the same request.
 * @param states of the keys of its items
 */
export function withoutTaken<One extends Item>(
  items: readonly One[],
  states: ReadonlyMap<string, Pick<KeyState, "record_id" | "charge_id">>,
): readonly One[] {
  const unused = new Map(states)
  return items.filter(({ claim, charge_id }) => {
    if (claim === undefined) return true
    const state = unused.get(claim.key_hash)
    // A second item of this batch under the same key finds none.
    unused.delete(claim.key_hash)
    return state !== undefined && !isTaken(state, charge_id)
  })
}

const isTaken = ({ record_id, charge_id }: Pick<KeyState, "record_id" | "charge_id">, charge: string): boolean =>
  record_id !== "" || (charge !== "" && charge !== charge_id)

/** Writes what was sealed under each key, in the transaction that writes the records. @param now milliseconds since the epoch */
export async function recordSealed(tx: Tx, { sealed }: Batch, now: number): Promise<void> {
  const rows = sealed.flatMap(({ item: { claim, charge_id }, record_id }) =>
    claim === undefined ? [] : [{ ...claim, record_id, charge_id, kept_at: now }],
  )
  await updateKeys(tx, rows)
}
