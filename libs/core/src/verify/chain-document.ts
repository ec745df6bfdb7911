/**
 * A document of a tenant's chain as the comparisons of an export see it: what its kind states of log, chain, budget windows, permits and
 * policies. A kind that states nothing of one of them leaves it out, and the comparison has nothing to compare. docs/formats.md section 13.
 */
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import type { Anchor, ChainLeaf, Counts } from "../artifacts/anchor.ts"
import type { ApprovalRequest } from "../artifacts/approval-request.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { Opening } from "../artifacts/opening.ts"
import type { PermitEnd } from "../artifacts/permit-end.ts"
import type { BudgetWindow, SealedSections } from "../artifacts/sealed-sections.ts"
import type { MovementKind } from "../vocabulary/movement-kind.ts"

export type ChainDocument = {
  /** The anchor that puts it into its chain; undefined for a record that has none. */
  readonly anchor: Anchor<ChainLeaf> | undefined
  /** The entry that a record has in the log before that one. */
  readonly firstEntry?: TransparencyLogEntry | undefined
  /** The entries of the redemptions that it holds. */
  readonly redemptions: readonly TransparencyLogEntry[]
  /** Its own clock: the instant of its decision. RFC 3339. */
  readonly clock: string
  /** As a document beside which another is missing: "run 7", "opening 3". */
  readonly brief: string
  /** In a sentence: "record 4 (run 7)", "opening 3 (pmt-…)". */
  readonly long: string
  /** Of a record. */
  readonly run_id?: number
  /** What was decided of it by a policy. */
  readonly decided?: DecidedByPolicy
  /** The operator's settings that it was held to. */
  readonly budget?: { readonly run_limit: number | undefined; readonly window: BudgetWindow | undefined }
  /** What it moved in budget windows, in the order of the movements. */
  readonly movements: readonly ChainMovement[]
  /** The request for an approval that it is. */
  readonly asks?: ApprovalRequest
  /** What it does to permits. */
  readonly opens?: Opening
  readonly closes?: Bundle
  readonly ends?: PermitEnd
}

/** With the name under which an export statement counts it. */
export type CountedDocument = ChainDocument & { readonly counted: keyof Counts }

/** What of a record or an opening was decided by a policy. */
export type DecidedByPolicy = Pick<Bundle, "attestation_gap_receipt"> & {
  readonly sections: Pick<Bundle["sections"], "envelope" | "policy_evaluation" | "mcd_finding" | "attested_context"> &
    Partial<SealedSections>
}

/** Which window of the chain's tenant. */
export type WindowName = Pick<BudgetWindow, "window_seconds" | "window_start">

export type Movement = {
  readonly kind: MovementKind
  readonly ordinal: number
  readonly tokens: number
  readonly total_after: number
}
export type ChainMovement = readonly [WindowName, Movement]
