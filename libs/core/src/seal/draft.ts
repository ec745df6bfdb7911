/** A run in the pipeline: its sections so far. Each stage and gate returns a new draft; none is changed in place. */
import type { WrittenTexts } from "@runseal/canonical"
import type { DeclaredSections } from "../artifacts/declared-sections.ts"
import type { EndUserSection } from "../artifacts/end-user.ts"
import type { AllowToken, Receipt } from "../artifacts/sealed-artifacts.ts"
import type { PayloadSection, SystemProvenanceSection } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import type { Moment } from "../formulas/moment.ts"
import type { OutcomeKind, ReceiptKey, RefusedKind } from "../vocabulary/outcomes.ts"
import type { SubmittedRun, Tenant } from "../wire/submission.ts"
import type { StageFailure, StageFault } from "./stage-failure.ts"
export type BaseSections = DeclaredSections & {
  readonly payload: PayloadSection
  readonly system_provenance: SystemProvenanceSection
  /** Absent from a run without an end user. */
  readonly end_user?: EndUserSection
}

/** What gates and reviewers decide on: a request, or what a close adds to its opening, with the sections of both together. */
export type Decided = Omit<SubmittedRun, "payload">

/** What a run counts against the budgets. */
export type Spending = {
  /** Declared tokens; of an opening those that it reserves, of a close those that were used. */
  readonly tokens: number
  /** Tokens that one run may use; of a close as its opening has them. */
  readonly run_limit: number
  /** Present exactly for an opening. */
  readonly purpose?: "reservation"
}

/** Facts of the run that do not depend on how it ends. */
export type DraftFacts = {
  /** Its instant is the decision clock: the admission, or that of the close. */
  readonly moment: Moment
  readonly tenant: Tenant
  readonly program_id: string
  readonly route_id: string
  readonly execution_region: string
  /** At the admission, by the clock of the `Watch` that finishes the record too. */
  readonly started_ms: number
  /** Canonical texts of the sections sealed so far: the record holds the same bytes that were hashed. */
  readonly texts: WrittenTexts
}

/** A run that passed stages 1–6, or was stopped before: everything but its log entry and its position in the chain. */
export type Draft = DraftFacts & {
  readonly outcome_kind: OutcomeKind
  readonly sections: Sections
  readonly allow_token?: AllowToken
  readonly receipt?: { readonly key: ReceiptKey; readonly receipt: Receipt }
  /** Present exactly for a stage_error. */
  readonly fault?: StageFault
  /** Of a stage that failed before the log: its cause is for the operator's log, never for the record. */
  readonly failure?: StageFailure
  /** Of a run that ended at the opening of a permit: what was asked for. */
  readonly refused_permit?: PermitTerms
}

/** How a gate stops a run: outcome, receipt, and what it adds to the sections. */
export type Stop = {
  readonly outcome: RefusedKind
  readonly key: ReceiptKey
  readonly receipt: Receipt
  readonly sections: Partial<Sections>
}

/** What a permit is asked for, and until when. */
export type PermitTerms = {
  /** `pmt-` and 32 hex digits. */
  readonly permit_id: string
  /** Who is to act. */
  readonly audience: string
  /** RFC 3339: the act is permitted until then. */
  readonly expires_at: string
  /** RFC 3339: a close is in time until then. */
  readonly close_by: string
  readonly redeem_required: boolean
  readonly reserve_tokens: number
}
