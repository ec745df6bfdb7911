/** What a batch is built from, and what becomes of it. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { PermitEnd } from "@runseal/core/artifacts/permit-end"
import type { Draft } from "@runseal/core/seal/draft"
import type { PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import {
  NO_PERMITS,
  type PendingEnd,
  type PermitLocks,
  type PermitWork,
} from "@runseal/core/seal/permits/settle-permits"
import type { PendingOpening } from "@runseal/core/seal/pipeline"
import type { StageFault, Watch } from "@runseal/core/seal/stage-failure"
import type { TenantHead } from "@runseal/core/seal/tenant-chain"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { LogIdentity } from "../keys/embedded-log.ts"
import type { LogBuilder, LogFrontier } from "../keys/log-builder.ts"
import type { Tx } from "../store/driver/session.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { TenantWindowRow, TokenMovementRow } from "../store/tables/tenant-windows.ts"
import type { ReportFault } from "../telemetry.ts"
import type { Failed } from "./batch-steps.ts"
import type { AttestationDraft, SealedAttestation } from "./seal-attestation.ts"
import type { DueEvent, SealedEvent } from "./seal-events.ts"
import type { ExportDraft, SealedStatement, StatementDraft } from "./seal-export-statement.ts"
import type { VerifyTexts } from "./verification.ts"

export type BatchContext = {
  readonly log: LogIdentity
  /** Verifies every document before the batch is committed. */
  readonly verify: VerifyTexts
  /** The service's own keys: an entry that no document shows yet is verified with them. */
  readonly trust: TrustedKeys
  /** Called with the cause of every failure of stages 7–9 and of every refusal. */
  readonly reportFault: ReportFault
  readonly watch: Watch
}

/** The items of a batch. */
export type BatchWork = {
  readonly drafts: readonly Draft[]
  readonly attestations: readonly AttestationDraft[]
  readonly exports?: readonly ExportDraft[]
  readonly permits?: PermitWork
  /** Whether admin events are due: the batch takes those that are stored, in their order. */
  readonly events?: boolean
  /** An act of an administrator, which is done in the batch's transaction and records its own event. */
  readonly act?: (tx: Tx) => Promise<void>
  /** Items that came under an idempotency key. */
  readonly keyed?: readonly KeyedItem[]
}

export type BatchStart = {
  readonly frontier: LogFrontier
  readonly next_run_id: number
  readonly tenants: ReadonlyMap<string, TenantHead>
  /** How many attestations each owner in the batch has already. */
  readonly attested: ReadonlyMap<number, number>
  /** What the batch has locked for its permits; absent without permits. */
  readonly permits?: PermitLocks
  /** Unix seconds: the log time of every entry of the batch. */
  readonly time: number
  /** Milliseconds since the epoch: when the batch is sealed, never before `time`. */
  readonly now: number
}

export type SealedRun = {
  readonly draft: Draft
  readonly bundle: Bundle
  /** The UTF-8 bytes of the bundle's canonical text, as served. */
  readonly text: Uint8Array
  /** The text as it is stored; absent when it is not packed yet. */
  readonly packed?: Uint8Array
  readonly tenant_ordinal: number
  /** 1, 2, 3 … among the runs of the tenant. */
  readonly owner_ordinal: number
  /** Of its complete-record leaf. */
  readonly leaf_digest: string
}

export type Batch = {
  /** In the order of the drafts, then of the closes, then of the openings; undefined for one that is refused, and for one that is opened. */
  readonly runs: readonly (SealedRun | undefined)[]
  /** In the order of the openings; undefined for one that is refused. */
  readonly openings: readonly (SealedOpening | undefined)[]
  /** In the order of the ends; undefined for one that is refused. */
  readonly ends: readonly (SealedEnd | undefined)[]
  /** In the order of the redemptions; undefined for one that is refused. */
  readonly redemptions: readonly (PermitRedemption | undefined)[]
  readonly refusals: Readonly<Record<keyof PermitWork, Refusals>>
  /** What permits moved in the windows. */
  readonly movements: readonly TokenMovementRow[]
  readonly windows: readonly TenantWindowRow[]
  /** Admin events, in the order of their ordinals. */
  readonly events: readonly SealedEvent[]
  /** In the order of the attestations; undefined for one that is refused. */
  readonly attestations: readonly (SealedAttestation | undefined)[]
  /** In the order of the exports; undefined for one that is refused. */
  readonly statements: readonly (SealedStatement | undefined)[]
  /** Every entry appended, in log order. */
  readonly entries: readonly { readonly index: number; readonly body: string }[]
  readonly tenants: ReadonlyMap<string, TenantHead>
  readonly log: LogBuilder
}

/** The items still to be sealed; undefined at the index of an item that is refused. */
export type Round = {
  readonly drafts: readonly (Draft | undefined)[]
  readonly attestations: readonly (AttestationDraft | undefined)[]
  /** Of exports: each describes its tenant's chain before the batch. */
  readonly statements?: readonly (StatementDraft | undefined)[]
  readonly permits?: PermitWork
  /** Admin events, in the order of their ordinals. */
  readonly due?: readonly DueEvent[]
  /** Of runs that come of permits and failed in a round before, by their index among the batch's runs: each is a stage_error now. */
  readonly faults?: ReadonlyMap<number, StageFault>
}

/** Where among the batch's runs those of its permits are. */
export const permitRuns = ({ drafts, permits = NO_PERMITS }: Pick<Round, "drafts" | "permits">) => ({
  close: (at: number): number => drafts.length + at,
  opening: (at: number): number => drafts.length + permits.closes.length + at,
})

/** Why items of a round could not be sealed, by index. */
export type Failures = Readonly<
  Record<"runs" | "attestations" | "statements" | "openings" | "ends" | "redemptions" | "events", Failed>
>

export type SealedOpening = ChainDocument & { readonly pending: PendingOpening; readonly document: Opening }

export type SealedEnd = ChainDocument & { readonly pending: PendingEnd; readonly document: PermitEnd }

/** An item of a batch under a key, by its index among those of its kind. */
export type KeyedItem = {
  readonly kind: "run" | "attestation" | "opening" | "close"
  readonly at: number
  readonly claim: KeyClaim
}

/** Why items of permits were refused, by index: what their callers get. */
type Refusals = ReadonlyMap<number, unknown>

/** A document of a permit with its place in the log and in its tenant's chain. */
export type ChainDocument = {
  /** The document's UTF-8 bytes, as served. */
  readonly text: Uint8Array
  /** The text as it is stored; absent when it is not packed yet. */
  readonly packed?: Uint8Array
  readonly tenant_ordinal: number
  readonly leaf_digest: string
  readonly log_index: number
}
