/** Openings, redemptions and ends of permits on their way into the log. docs/formats.md sections 7.8, 7.9 and 7.11. */
import { canonicalize, canonicalUtf8 } from "@runseal/canonical"
import type { OpeningLeaf, PermitEndLeaf, RedemptionLeaf } from "@runseal/core/artifacts/anchor"
import type { OpeningBody } from "@runseal/core/artifacts/opening"
import type { PermitEndBody } from "@runseal/core/artifacts/permit-end"
import { OPENING_FORM, PERMIT_END_FORM } from "@runseal/core/formulas/chain-forms"
import { leafBytes, leafDigest } from "@runseal/core/formulas/leaves"
import type { PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import type { OpeningDraft } from "@runseal/core/seal/permits/pending"
import type { PendingEnd } from "@runseal/core/seal/permits/settle-permits"
import type { PendingOpening } from "@runseal/core/seal/pipeline"
import { unverified } from "@runseal/core/seal/record"
import { moveHead, nextPlace, type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import { anchorProblem } from "@runseal/core/verify/anchor-check"
import { type AppendedLeaf, anchorOf, type EntryCheckpoint, type LogIdentity } from "../keys/embedded-log.ts"
import type { LogBuilder } from "../keys/log-builder.ts"
import type { BatchContext, ChainDocument, SealedEnd, SealedOpening } from "./batch.ts"

type Chained<Body, Leaf> = {
  readonly body: Body
  readonly leaf: Leaf
  readonly bytes: Uint8Array
  readonly leaf_digest: string
}

/** Gives an opening its place in the tenant's chain and moves the chain's head. */
export function chainOpening(draft: OpeningDraft, tenants: Map<string, TenantHead>): Chained<OpeningBody, OpeningLeaf> {
  const tenant = tenantOf(tenants, draft.tenant_id)
  const body = { ...draft, tenant_salt: tenant.salt }
  return chained(body, OPENING_FORM.leaf(body, nextPlace(tenant)), tenant, tenants)
}

/** The same for an end. */
export function chainEnd(body: PermitEndBody, tenants: Map<string, TenantHead>): Chained<PermitEndBody, PermitEndLeaf> {
  const tenant = tenantOf(tenants, body.tenant_id)
  return chained(body, PERMIT_END_FORM.leaf(body, nextPlace(tenant)), tenant, tenants)
}

function chained<Body, Leaf extends OpeningLeaf | PermitEndLeaf>(
  body: Body,
  leaf: Leaf,
  tenant: TenantHead,
  tenants: Map<string, TenantHead>,
): Chained<Body, Leaf> {
  const leaf_digest = leafDigest(leaf)
  moveHead(tenants, tenant, leaf_digest, 0)
  return { body, leaf, bytes: leafBytes(leaf), leaf_digest }
}

type AppendedDocument<Pending, Body, Leaf extends OpeningLeaf | PermitEndLeaf> = {
  readonly pending: Pending
  readonly body: Body
  readonly leaf_digest: string
  readonly appended: AppendedLeaf<Leaf>
}

/** The document of an opening, proven against a checkpoint that includes it. */
export function sealOpening(
  { pending, body, leaf_digest, appended }: AppendedDocument<PendingOpening, OpeningBody, OpeningLeaf>,
  log: LogIdentity,
  builder: LogBuilder,
  checkpoint: EntryCheckpoint,
): SealedOpening {
  const document = OPENING_FORM.document(body, anchorOf(log, builder, appended, checkpoint))
  return {
    ...placeOf(appended, leaf_digest),
    pending,
    document,
    text: canonicalUtf8(document, pending.run.facts.texts),
  }
}

/** The document of an end, proven against a checkpoint that includes it. */
export function sealEnd(
  { pending, body, leaf_digest, appended }: AppendedDocument<PendingEnd, PermitEndBody, PermitEndLeaf>,
  log: LogIdentity,
  builder: LogBuilder,
  checkpoint: EntryCheckpoint,
): SealedEnd {
  const document = PERMIT_END_FORM.document(body, anchorOf(log, builder, appended, checkpoint))
  return { ...placeOf(appended, leaf_digest), pending, document, text: canonicalUtf8(document) }
}

/**
 * The redemption of a permit, as its row holds it. Its entry is verified here, as every document is before its batch is committed: the
 * document that closes or ends the permit will hold it.
 */
export function sealRedemption(
  appended: AppendedLeaf<RedemptionLeaf>,
  { log, trust }: Pick<BatchContext, "log" | "trust">,
  builder: LogBuilder,
  checkpoint: EntryCheckpoint,
): PermitRedemption {
  const anchor = anchorOf(log, builder, appended, checkpoint)
  const { permit_id, redeemed_clock } = anchor.leaf
  const problem = anchorProblem(anchor, redeemed_clock, trust)
  if (problem !== undefined) throw unverified(problem)
  return { permit_id, redeemed_at: Date.parse(redeemed_clock), redemption_entry: canonicalize(anchor.entry) }
}

const placeOf = (
  { leaf, index }: AppendedLeaf<OpeningLeaf | PermitEndLeaf>,
  leaf_digest: string,
): Omit<ChainDocument, "text" | "packed"> => ({ tenant_ordinal: leaf.tenant_ordinal, leaf_digest, log_index: index })
