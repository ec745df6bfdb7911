/** What waits for the sealer: runs, attestations, exports and permits, acts of administrators, and that admin events do, each as it was submitted. */

import type { Draft } from "../run/pipeline/draft.ts"
import type { PendingClose, PendingOpening } from "../run/pipeline/permits/pending.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { KeyedItem } from "./keyed-items.ts"
import type { AttestationDraft } from "./seal-attestation.ts"
import type { BatchWork } from "./seal-batch.ts"
import type { ExportDraft } from "./seal-export-statement.ts"
import type { PendingEnd, PendingRedemption } from "./settle-permits.ts"

export type Item = (
  | { readonly run: Draft }
  | { readonly attestation: AttestationDraft }
  | { readonly export: ExportDraft }
  | { readonly opening: PendingOpening }
  | { readonly close: PendingClose }
  | { readonly end: PendingEnd }
  | { readonly redemption: PendingRedemption }
  | { readonly events: true }
  /** Alone in its batch. */
  | { readonly act: NonNullable<BatchWork["act"]> }
) & {
  /** Of an item under an idempotency key. */
  readonly claim: KeyClaim | undefined
}

/** The items by kind, and the index of each within its kind. */
export function partition(items: readonly Item[]): { readonly work: BatchWork; readonly indices: readonly number[] } {
  const drafts: Draft[] = []
  const attestations: AttestationDraft[] = []
  const exports: ExportDraft[] = []
  const [openings, closes, ends]: [PendingOpening[], PendingClose[], PendingEnd[]] = [[], [], []]
  const redemptions: PendingRedemption[] = []
  const keyed: KeyedItem[] = []
  let events = false
  let act: BatchWork["act"]
  const indices = items.map(item => {
    const { kind, at } = place(item)
    if (item.claim !== undefined && kind !== undefined) keyed.push({ kind, at, claim: item.claim })
    return at
  })
  const permits = { openings, closes, ends, redemptions }
  return { work: { drafts, attestations, exports, keyed, permits, events, ...(act && { act }) }, indices }

  /** @returns no kind for what has no idempotency key */
  function place(item: Item): { readonly kind: KeyedItem["kind"] | undefined; readonly at: number } {
    if ("run" in item) return { kind: "run", at: drafts.push(item.run) - 1 }
    if ("attestation" in item) return { kind: "attestation", at: attestations.push(item.attestation) - 1 }
    if ("opening" in item) return { kind: "opening", at: openings.push(item.opening) - 1 }
    if ("close" in item) return { kind: "close", at: closes.push(item.close) - 1 }
    if ("events" in item) {
      events = true
      return { kind: undefined, at: 0 }
    }
    if ("act" in item) {
      act = item.act
      return { kind: undefined, at: 0 }
    }
    if ("end" in item) return { kind: undefined, at: ends.push(item.end) - 1 }
    if ("redemption" in item) return { kind: undefined, at: redemptions.push(item.redemption) - 1 }
    return { kind: undefined, at: exports.push(item.export) - 1 }
  }
}
