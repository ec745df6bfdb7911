/**
 * Compares the positions of one record's entries in log and chain: an entry that commits to a tree comes after that tree.
 * docs/formats.md section 16, check 12.
 */
import { checkpointOrigin, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { areOfTwoTrees, entryView, type TreeView } from "@runseal/log/entries/one-tree"
import type { Anchor, ChainLeaf, CompleteRecordLeaf } from "../artifacts/anchor.ts"
import type { PermitUseSection } from "../artifacts/permit-sections.ts"
import { tenantCommitment } from "../formulas/decision.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import { type Slot, slotted } from "./anchor-slots.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import type { ExaminedBundle } from "./examination.ts"

/** Checks the positions of a record's entries in log and chain, each of which is right by itself. */
export function checkPlaces({ bundle: { anchors, sections }, findings }: ExaminedBundle): void {
  const { pre_anchor, receipt, complete_record: complete, outside = [] } = anchors
  const first = pre_anchor ?? receipt
  if (complete !== undefined) findings.fail("complete_record", ...placeProblems(complete, first))
  const own = first ?? complete
  if (sections.permit !== undefined && own !== undefined)
    findings.fail(
      complete === undefined ? "inclusion" : "complete_record",
      ...permitProblems(sections.permit, own, complete),
    )
  if (areForked(anchors, sections.permit?.redemption))
    findings.fail(complete === undefined ? "inclusion" : "complete_record", FORKED)
  for (const log of outside) if (areForked(log)) findings.fail("outside", FORKED)
}

const FORKED = "two log entries of the record prove themselves in two trees of one log: the log was forked"

/** What cannot be true of the place of any document in log and chain. @param own entries of the document before this one */
export function chainRules(
  { tenant_ordinal, previous_record }: ChainLeaf,
  entry: TransparencyLogEntry,
  own = 0,
): readonly Rule[] {
  const index = Number(entry.logIndex)
  const isFirst = tenant_ordinal === 1
  return [
    [isFirst || previous_record !== ZERO_HASH, `document ${tenant_ordinal} of its chain names none before it`],
    [!isFirst || previous_record === ZERO_HASH, "document 1 of its chain names one before it"],
    // Before it are the log's birth, the documents of the chain before it, and the document's own first entry.
    [
      index >= tenant_ordinal + own,
      `before log entry ${index} there is no room for the ${tenant_ordinal - 1} documents of its chain before it`,
    ],
  ]
}

/** The tenant that a document names is the one that its leaf commits to. */
export const tenantRule = (
  { tenant_id, tenant_salt }: { readonly tenant_id: string; readonly tenant_salt: string },
  leaf: { readonly tenant_commitment: string },
): Rule => [
  tenantCommitment(tenant_id, tenant_salt) === leaf.tenant_commitment,
  "tenant and salt are not those of the leaf",
]

/** What cannot be true of any log or chain. */
function placeProblems({ leaf, entry }: Anchor<CompleteRecordLeaf>, first: Anchor | undefined): readonly string[] {
  const index = Number(entry.logIndex)
  const treeSize = Number(first?.entry.inclusionProof.treeSize ?? 0)
  return brokenRules([
    ...chainRules(leaf, entry, first === undefined ? 0 : 1),
    [
      index >= treeSize,
      `the record was logged at entry ${index}, within the ${treeSize} entries of the checkpoint that it holds`,
    ],
    [
      Number(entry.integratedTime) >= Number(first?.entry.integratedTime ?? 0),
      "the record was logged before the log entry that it holds",
    ],
  ])
}

/** The opening of a close is in the log and in the chain before it, and its redemption is between the two in the log. */
const permitProblems = (
  { opening_log_index, redemption }: PermitUseSection,
  first: Anchor,
  complete: Anchor<CompleteRecordLeaf> | undefined,
): readonly string[] =>
  brokenRules([
    [Number(opening_log_index) > 0, "entry 0 of a log is its birth, and holds no opening"],
    [
      Number(opening_log_index) < Number(first.entry.logIndex),
      `the close was logged at entry ${first.entry.logIndex}, and its opening only at entry ${opening_log_index}`,
    ],
    [
      redemption === undefined || isBetween(redemption.entry, Number(opening_log_index), first.entry),
      "the redemption is not between the opening and the close in the log",
    ],
    [
      complete === undefined || complete.leaf.tenant_ordinal > 1,
      "the close is the first of a chain that holds its opening",
    ],
  ])

/** Whether an entry is behind an index and before another entry, which was not logged at an earlier time. */
export const isBetween = (
  { logIndex, integratedTime }: TransparencyLogEntry,
  before: number,
  behind: TransparencyLogEntry,
): boolean =>
  Number(logIndex) > before &&
  Number(logIndex) < Number(behind.logIndex) &&
  Number(integratedTime) <= Number(behind.integratedTime)

type Proven = { readonly entry: Pick<TransparencyLogEntry, "inclusionProof" | "canonicalizedBody"> }

/** Whether entries that name one log are proven in trees that cannot be one, as far as their proofs meet. */
function areForked(slots: Readonly<Partial<Record<Slot, Proven>>>, redemption?: Proven): boolean {
  const seen: { readonly origin: string; readonly view: TreeView }[] = []
  for (const { entry } of [...(redemption ? [redemption] : []), ...slotted(slots).map(({ anchor }) => anchor)]) {
    // An outside log may be sharded into several trees, each with an origin of its own.
    const origin = checkpointOrigin(entry)
    const view = entryView(entry)
    if (seen.some(other => other.origin === origin && areOfTwoTrees(other.view, view))) return true
    seen.push({ origin, view })
  }
  return false
}
