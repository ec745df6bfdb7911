/**
 * Hashes of a report's legal evidence section (docs/formats.md section 10). They are made when a report
 * is rendered, are sealed nowhere, and no verifier recomputes them: they let two people say which claim they speak of.
 */
import { digest } from "@runseal/canonical"

/** A claim as it is printed, with the hashes in the bundle that it rests on. */
export type ReportClaim = {
  readonly claim_id: string
  readonly statement: string
  /** Who vouches for it. */
  readonly basis: string
  readonly evidence: readonly { readonly member: string; readonly hash: string }[]
}

/** Hash of one claim about the bundle of that hash. */
export const reportClaimHash = (bundleHash: string, claim: ReportClaim): string =>
  digest({
    kind: "vfa.report_claim.v1",
    bundle_hash: bundleHash,
    claim_id: claim.claim_id,
    statement: claim.statement,
    basis: claim.basis,
    evidence: claim.evidence.map(({ member, hash }) => ({ member, hash })),
  })

/** Hash over all claims of a report, in their order. */
export const reportCompileHash = (bundleHash: string, claimHashes: readonly string[]): string =>
  digest({ kind: "vfa.report_compilation.v1", bundle_hash: bundleHash, claim_hashes: claimHashes })
