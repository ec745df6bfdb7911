/** What waits for the sealer: runs, attestations and exports, each as it was submitted. */
import type { Draft } from "../run/pipeline/draft.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { KeyedItem } from "./keyed-items.ts"
import type { AttestationDraft } from "./seal-attestation.ts"
import type { BatchWork } from "./seal-batch.ts"
import type { ExportDraft } from "./seal-export-statement.ts"

export type Item = (
  | { readonly run: Draft }
  | { readonly attestation: AttestationDraft }
  | { readonly export: ExportDraft }
) & {
  /** Of an item under an idempotency key. */
  readonly claim: KeyClaim | undefined
}

/** The items by kind, and the index of each within its kind. */
export function partition(items: readonly Item[]): { readonly work: BatchWork; readonly indices: readonly number[] } {
  const drafts: Draft[] = []
  const attestations: AttestationDraft[] = []
  const exports: ExportDraft[] = []
  const keyed: KeyedItem[] = []
  const indices = items.map(item => {
    if ("export" in item) return exports.push(item.export) - 1
    const isRun = "run" in item
    const at = isRun ? drafts.push(item.run) - 1 : attestations.push(item.attestation) - 1
    if (item.claim !== undefined) keyed.push({ kind: isRun ? "run" : "attestation", at, claim: item.claim })
    return at
  })
  return { work: { drafts, attestations, exports, keyed }, indices }
}
