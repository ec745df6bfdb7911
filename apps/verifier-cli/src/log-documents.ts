/** `--holds`: checks that records are in the audited log. A record's own verification shows only some tree that the log signed. */
import { decodeBase64 } from "@runseal/canonical"
import { isUnreadable } from "@runseal/core/verify/document"
import { anchorsOf } from "@runseal/core/verify/document-anchors"
import { VERDICTS } from "@runseal/core/verify/report"
import { clockMillis } from "@runseal/core/vocabulary/scalars"
import { hashLeaf, verifyInclusion } from "@runseal/log/merkle/rfc6962"
import { buildInclusionProof, type ReadTile } from "@runseal/log/merkle/tiles"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./input-error.ts"
import { AuditFailure } from "./log-failure.ts"
import { readInput } from "./read-input.ts"
import { verifyAny } from "./verify-any.ts"

/** Documents of one audit. */
const MAX_DOCUMENTS = 1000

/** An entry that a document says is in the log. */
export type ClaimedEntry = {
  readonly document: string
  readonly index: number
  readonly leafHash: Uint8Array
  /** The times it claims: that of the log, and the record's own clock where it has one. */
  readonly dates: readonly { readonly millis: number; readonly whose: string }[]
}

/** The entries of documents that verify with this trust; one that does not fails the audit. Throws InputError. */
export async function claimedEntries(
  documents: readonly string[],
  trust: TrustedKeys,
): Promise<readonly ClaimedEntry[]> {
  if (documents.length > MAX_DOCUMENTS)
    throw new InputError(`At most ${MAX_DOCUMENTS} documents are checked in one audit.`)
  const claimed: ClaimedEntry[] = []
  for (const document of documents) {
    const { report, record } = await verifyAny(await readInput(document), [trust])
    if (isUnreadable(report)) throw new InputError(`${document} cannot be verified: ${report.unreadable}`)
    if (report.verdict === VERDICTS.failed || report.anchors.length === 0)
      throw new AuditFailure(
        "documents",
        `${document} does not verify as a record of this log's service: verify it by itself to see why.`,
      )
    for (const { anchor } of anchorsOf(record)) {
      const { canonicalizedBody, inclusionProof, integratedTime } = anchor.entry
      const body = decodeBase64(canonicalizedBody) ?? Uint8Array.of()
      const logged = { millis: Number(integratedTime) * 1000, whose: "the log's time" }
      const own = report.clock === undefined ? undefined : clockMillis(report.clock)
      claimed.push({
        document,
        index: Number(inclusionProof.logIndex),
        leafHash: hashLeaf(body),
        dates: [logged, ...(own === undefined ? [] : [{ millis: own, whose: "its own clock" }])],
      })
    }
  }
  return claimed
}

/**
 * Proves that entries are in an audited tree.
 * @param size of it, of which `readTile` reads
 * @param within entries that are accepted, such as those that were witnessed
 */
export async function checkClaimed(
  claimed: readonly ClaimedEntry[],
  { size, root }: { readonly size: number; readonly root: Uint8Array },
  within: number,
  readTile: ReadTile,
): Promise<void> {
  for (const { document, index, leafHash } of claimed) {
    if (index >= within)
      throw new AuditFailure(
        "documents",
        `Entry ${index} of ${document} is not among the first ${within}, ${within < size ? "which are what was witnessed" : "which are all of this log"}.`,
      )
    const proof = await buildInclusionProof(index, size, readTile)
    if (!verifyInclusion({ leafHash, index, size, proof, root }))
      throw new AuditFailure("documents", `Entry ${index} of this log is not the one that ${document} holds.`)
  }
}
