/** The chains of a batch's tenants: each sealed document takes the next place in its tenant's chain. docs/formats.md section 7.3. */
import { tenantCommitment } from "../formulas/decision.ts"
import type { ChainPlace } from "../formulas/leaves.ts"

/** The head of a tenant's chain. */
export type TenantHead = {
  readonly tenant_id: string
  readonly salt: string
  /** Documents so far; the next one's ordinal is one more. */
  readonly record_count: number
  /** Runs so far. */
  readonly run_count: number
  /** Digest of the last document's leaf; 64 zeros before the first. */
  readonly head: string
}

/** @throws Error for a tenant that the batch did not lock */
export function tenantOf(tenants: ReadonlyMap<string, TenantHead>, tenantId: string): TenantHead {
  const tenant = tenants.get(tenantId)
  if (tenant === undefined) throw new Error("every tenant of a batch is locked before it is built")
  return tenant
}

/** The place of the next document of a tenant. */
export const nextPlace = ({ tenant_id, salt, record_count, head }: TenantHead): ChainPlace => ({
  tenant_commitment: tenantCommitment(tenant_id, salt),
  tenant_ordinal: record_count + 1,
  previous_record: head,
})

/** Moves the head of a tenant to a document that took its next place. @param runs how many runs the document is: 1 or 0 */
export function moveHead(tenants: Map<string, TenantHead>, tenant: TenantHead, leafDigest: string, runs: 0 | 1): void {
  const { record_count, run_count } = tenant
  tenants.set(tenant.tenant_id, {
    ...tenant,
    record_count: record_count + 1,
    run_count: run_count + runs,
    head: leafDigest,
  })
}
