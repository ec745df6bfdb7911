/** Preimages of permits: a redemption, and what the record of a close adds to its opening. docs/formats.md sections 2.5, 7.8 and 7.11. */
import { decodeHex, digest, hmacSha256Hex } from "@runseal/canonical"
import type { RedemptionLeaf } from "../artifacts/anchor.ts"
import { declaredKind, type ShownDeclared } from "../artifacts/declared-sections.ts"
import type { ExportedWindow } from "../artifacts/export-statement.ts"
import type { Opening } from "../artifacts/opening.ts"
import type { ClosingDeclared, PermitUseSection } from "../artifacts/permit-sections.ts"
import { REDEMPTION_LEAF_VERSION } from "../vocabulary/versions.ts"
import { leafDigest } from "./leaves.ts"
import type { Moment } from "./moment.ts"
import type { Unsealed } from "./seal.ts"

/** The leaf that anchors the redemption of a permit. @param redeemed_clock RFC 3339 */
export const redemptionLeaf = (permit_id: string, redeemed_clock: string): RedemptionLeaf => ({
  leaf_version: REDEMPTION_LEAF_VERSION,
  permit_id,
  redeemed_clock,
})

type UseFacts = Pick<PermitUseSection, "outcome" | "code" | "closed_clock" | "redemption">

/** The section that says which opening a run closes. @param facts `closed_clock` is never before the opening's admission clock */
export const permitUseSection = (
  { permit_id, leaf, entry }: Pick<Opening, "permit_id" | "leaf" | "entry">,
  { outcome, code, closed_clock, redemption }: UseFacts,
): Unsealed<PermitUseSection> => ({
  kind: "vfa.permit_use.v1",
  permit_id,
  opening_leaf_digest: leafDigest(leaf),
  opening_log_index: entry.logIndex,
  outcome,
  ...(code === undefined ? {} : { code }),
  closed_clock,
  ...(redemption === undefined ? {} : { redemption }),
})

/** What a close declares, with its own salt. */
export const closingSection = (
  moment: Pick<Moment, "seed">,
  declared: ClosingDeclared | undefined,
): Unsealed<ShownDeclared> => ({
  kind: declaredKind("closing"),
  salt: closingSalt(moment),
  ...(declared === undefined ? {} : { declared }),
})

/** Salt of the closing section: HMAC-SHA-256 of its name under the disclosure seed of the opening. */
export function closingSalt(moment: Pick<Moment, "seed">): string {
  const seed = decodeHex(moment.seed)
  if (seed === undefined) throw new RangeError("the disclosure seed is 64 lowercase hex digits")
  return hmacSha256Hex(seed, "closing")
}

/** What `windows_hash` of an export statement's leaf must be. */
export const windowsHash = (windows: readonly ExportedWindow[]): string =>
  digest({ kind: "vfa.export_windows.v1", windows })
