/**
 * What a batch is built from, and what becomes of it. An item of the queue says what it locks and how it is built; what it became says what is
 * written and who is answered. Every kind of item goes through a batch in the same steps: `seal-batch.ts`.
 */
import type { Anchor, Leaf } from "@runseal/core/artifacts/anchor"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Draft } from "@runseal/core/seal/draft"
import type { PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import type { Book, PermitLocks } from "@runseal/core/seal/permits/settle-permits"
import type { WindowKey } from "@runseal/core/seal/permits/windows"
import type { StageFault, Watch } from "@runseal/core/seal/stage-failure"
import type { TenantHead } from "@runseal/core/seal/tenant-chain"
import type { Tenant } from "@runseal/core/wire/submission"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { AppendedLeaf, LogBuilder, LogFrontier, LogIdentity, WrittenLeaf } from "../keys/embedded-log.ts"
import type { Tx } from "../store/driver/session.ts"
import type { SealedEventRow } from "../store/tables/admin-events.ts"
import type { ApprovalRow, EndedApproval, LockedApproval } from "../store/tables/approvals-table.ts"
import type { AttestationRow } from "../store/tables/attestations-table.ts"
import type { NewDocumentRow } from "../store/tables/documents-table.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { PermitOutcome, PermitRow } from "../store/tables/permits-table.ts"
import type { TermsOfRun } from "../store/tables/run-terms.ts"
import type { NewRunRow } from "../store/tables/runs-table.ts"
import type { ReportFault, Telemetry } from "../telemetry.ts"
import type { FinishedText, VerifyTexts } from "./verification.ts"

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

/** What the batch has locked and read. */
export type BatchStart = {
  readonly frontier: LogFrontier
  readonly next_run_id: number
  readonly tenants: ReadonlyMap<string, TenantHead>
  /** How many attestations each owner in the batch has already. */
  readonly attested: ReadonlyMap<number, number>
  /** The requests for an approval that its items end, locked; absent without any. */
  readonly requests?: ReadonlyMap<string, LockedApproval>
  /** What the batch has locked for its permits; absent without permits. */
  readonly permits?: PermitLocks
  /** Unix seconds: the log time of every entry of the batch. */
  readonly time: number
  /** Milliseconds since the epoch: when the batch is sealed, never before `time`. */
  readonly now: number
}

// The items, as they wait in the queue. An item is never changed, and holds nothing of a batch: it can be built as often as need be.

/**
 * Kinds of items, in the order in which a round opens them. Closes come before ends, and both before redemptions: a permit that is over is
 * not redeemed. Openings come after all of these: what is given back can be reserved again.
 */
export const ITEM_KINDS = [
  "export",
  "run",
  "close",
  "end",
  "redemption",
  "opening",
  "request",
  "event",
  "attestation",
  "events",
  "act",
] as const

/** What an item locks, and what is counted for it behind the lock of the log's head. */
export type Locks = {
  /** Whose chain it is sealed into, or states. */
  readonly tenant?: Tenant
  /** Id of the API key whose attestations are counted. */
  readonly attests?: number
  /** Id of the API key that is held against its revocation, and whose permits are counted. */
  readonly opens?: number
  /** The window of its reservation. */
  readonly window?: WindowKey
  /** Permits that it closes or ends, with their windows. */
  readonly settles?: readonly string[]
  /** The permit that it redeems. */
  readonly redeems?: string
  /** The request for an approval that it ends. */
  readonly ends?: string
}

/** What it becomes in a round. @param fault of a run that failed in a round before: it is a stage_error now. Whatever it throws is the item's refusal */
export type Open = (round: Round, fault?: StageFault) => ItemPart

export type Item = {
  readonly kind: (typeof ITEM_KINDS)[number]
  readonly locks: Locks
  /** Bytes of canonical text that its sections have; 0 for what has none. */
  readonly bytes: number
  /** Of an item under an idempotency key. */
  readonly claim?: KeyClaim | undefined
  /** The charge that its record shows and that moves with its key; "" when there is none. */
  readonly charge_id: string
  /** Of items that are sealed one behind the other: where one fails, those behind it wait for the next batch. */
  readonly waitsForEarlier?: true
} & (
  | { readonly open: Open }
  /** Says what it is only behind the locks. Where it reads what is corrupt, it is refused alone. */
  | { readonly read: (tx: Tx, tenants: ReadonlyMap<string, TenantHead>) => Promise<Open> }
  /** That admin events are due: the batch takes those that are stored, in their order. */
  | { readonly eventsSealed: (count: number) => void }
  /** An act of an administrator, alone in its batch. It is done in the batch's transaction and records its own event. Gives how it is answered */
  | { readonly act: (tx: Tx) => Promise<() => void> }
)

/** An item that says at once what it is. */
export type OpenItem = Item & { readonly open: Open }

/** An item that the rounds of a batch build. */
export type Attempt = {
  readonly item: Item
  readonly open: Open
  readonly fault?: StageFault
}

// The steps of an item in a round: a leaf before the records where it has one, its document's leaf, its document.

/** What the items of a round share. */
export type Round = {
  readonly start: BatchStart
  readonly context: Pick<BatchContext, "trust" | "watch">
  /** What its permits move. */
  readonly book: Book
  /** Requests for an approval that it ends; acts that it asks an approval for; and how many, by key and by end user. */
  readonly ended: Set<string>
  readonly asked: Set<string>
  readonly asking: Map<string, number>
  /** The chains, as the documents so far have moved their heads. */
  readonly tenants: Map<string, TenantHead>
  readonly nextRunId: () => number
  /** The ordinal of an owner's next attestation. */
  readonly nextAttestation: (owner: number) => number
  /** Appends a leaf that was signed. */
  readonly append: <L extends Leaf>(leaf: L) => AppendedLeaf<L>
  /** The anchor of a leaf under the head behind the leaves that come before the records. */
  readonly firstAnchor: <L extends Leaf>(appended: AppendedLeaf<L>) => Anchor<L>
  /** The anchor of a leaf under the last head of the round. */
  readonly anchor: <L extends Leaf>(appended: AppendedLeaf<L>) => Anchor<L>
}

/**
 * Where things are in the log, in this order. A statement describes exactly the documents that come before it, so that it is the first. The
 * documents of a tenant's chain are appended in the order of the chain.
 */
export const LOG_PLACES = [
  "statement",
  "run",
  "close",
  "refused opening",
  "opening",
  "request",
  "end",
  "event",
  "redemption",
  "attestation",
] as const

/** An item in a round. A step that throws fails its item alone. */
export type ItemPart = {
  readonly place: (typeof LOG_PLACES)[number]
  /** The run that it seals: one that fails is tried again as a stage_error. */
  readonly draft?: Draft
  readonly before: () => Leafed<Chain>
}
/** Gives the document its place in its chain. */
export type Chain = () => Leafed<Make>
/** Makes the document under the last head. */
export type Make = () => Made

/** A step with the leaf that is signed for it, where it has one, and the step after the leaf is in the log. */
export type Leafed<Next> = { readonly written?: WrittenLeaf; readonly append: () => Next }

export const withoutLeaf = <Next>(next: Next): Leafed<Next> => ({ append: () => next })

export const leafed = <L extends Leaf, Next>(
  { append }: Round,
  { leaf, bytes }: WrittenLeaf<L>,
  next: (appended: AppendedLeaf<L>) => Next,
): Leafed<Next> => ({ written: { leaf, bytes }, append: () => next(append(leaf)) })

/** What was made of an item, before it is verified. */
export type Made = {
  /** Absent for what is verified already. */
  readonly document?: Pick<FinishedText, "text" | "verdict" | "pack">
  /** @param packed the document as it is stored, where that was asked for */
  readonly seal: (packed: Uint8Array | undefined) => Sealed
}

// What became of a batch.

/** A run as it was sealed. */
export type SealedRun = {
  readonly draft: Draft
  readonly bundle: Bundle
  /** The UTF-8 bytes of the bundle's canonical text, as served. */
  readonly text: Uint8Array
}

/** An item that was sealed. */
export type Sealed = {
  readonly rows: Rows
  /** The id that its idempotency key names: of a run its number. */
  readonly record_id: string
} & Answered

/** How an item is answered once its batch is committed and the log's head is remembered. */
export type Answered = {
  /** What was sealed, for the metrics. */
  readonly counted: readonly SealedName[]
  readonly acknowledge: () => void
}
export type SealedName = Parameters<Telemetry["sealed"]>[0]

export type Outcome = Sealed | { readonly refusal: unknown }

/** The rows that an item writes: its document, and what lists and searches show of it. */
export type Rows = {
  readonly document?: NewDocumentRow
  readonly run?: { readonly row: NewRunRow; readonly terms: TermsOfRun }
  /** Its owner's next ordinal is given to it when the batch is written. */
  readonly permit?: Omit<PermitRow, "owner_ordinal">
  /** What became of permits that were open. */
  readonly settled?: readonly PermitOutcome[]
  readonly redemption?: PermitRedemption
  readonly attestation?: AttestationRow
  /** A request for an approval that it makes, and how one ended. */
  readonly asked?: ApprovalRow
  readonly ended?: EndedApproval
  readonly event?: SealedEventRow
}

export type Batch = {
  /** Items that were sealed, in the order of the log. */
  readonly sealed: readonly (Sealed & { readonly item: Item })[]
  /** What became of each item; nothing for one that failed and is refused alone. */
  readonly outcomes: ReadonlyMap<Item, Outcome>
  /** What permits moved in the windows, and the windows as they are afterwards. */
  readonly book: Pick<Book, "movements" | "moved">
  /** Every entry appended, in log order. */
  readonly entries: readonly { readonly index: number; readonly body: string }[]
  readonly tenants: ReadonlyMap<string, TenantHead>
  readonly log: LogBuilder
}
