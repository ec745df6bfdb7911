/** Stage 7, LEDGER: proof that the pre-anchor leaf was taken into the log. */
import { decodeBase64, encodeHex, type WrittenTexts } from "@runseal/canonical"
import type { Anchor, PreAnchorLeaf } from "@runseal/core/artifacts/anchor"
import type { PoteProofSection } from "@runseal/core/artifacts/sections"
import { leafDigest } from "@runseal/core/formulas/leaves"
import { poteProofSection } from "@runseal/core/formulas/manifest"
import { hashLeaf } from "@runseal/core/transparency-log/merkle"

/** @param texts of the run */
export function ledger({ leaf, entry }: Anchor<PreAnchorLeaf>, texts: WrittenTexts): PoteProofSection {
  const body = decodeBase64(entry.canonicalizedBody)
  const logId = decodeBase64(entry.logId.keyId)
  if (body === undefined || logId === undefined) throw new Error("the log gave an entry that is not strict base64")
  const place = {
    leaf_hash: leafDigest(leaf, texts),
    entry_hash: encodeHex(hashLeaf(body)),
    log_id: encodeHex(logId),
    log_index: entry.logIndex,
    integrated_time: entry.integratedTime,
  }
  return poteProofSection(place, texts.seal)
}
