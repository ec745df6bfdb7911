/**
 * Compares the positions of one record's entries in log and chain: an entry that commits to a tree comes after that tree.
 * docs/formats.md section 16, check 12.
 */
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { areOfTwoTrees, claimOf, type TreeView, viewOf } from "@runseal/log/entries/one-tree"
import type { Anchor, CompleteRecordLeaf } from "../artifacts/anchor.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import { type Slot, slotted } from "./anchor-slots.ts"
import { brokenRules } from "./contradictions.ts"
import type { ExaminedBundle } from "./examination.ts"

/** Checks the positions of a record's entries in log and chain, each of which is right by itself. */
export function checkPlaces({ bundle: { anchors }, findings }: ExaminedBundle): void {
  const { pre_anchor, receipt, complete_record: complete, outside = [] } = anchors
  const first = pre_anchor ?? receipt
  if (complete !== undefined) findings.fail("complete_record", ...placeProblems(complete, first))
  if (areForked(anchors)) findings.fail(complete === undefined ? "inclusion" : "complete_record", FORKED)
  for (const log of outside) if (areForked(log)) findings.fail("outside", FORKED)
}

const FORKED = "two log entries of the record prove themselves in two trees of one log: the log was forked"

/** What cannot be true of any log or chain. */
function placeProblems({ leaf, entry }: Anchor<CompleteRecordLeaf>, first: Anchor | undefined): readonly string[] {
  const { tenant_ordinal, previous_record, run_id } = leaf
  const index = Number(entry.logIndex)
  const isFirst = tenant_ordinal === 1
  // Before it are the log's birth, the records before it, and the record's own first entry.
  const before = tenant_ordinal + (first === undefined ? 0 : 1)
  const treeSize = Number(first?.entry.inclusionProof.treeSize ?? 0)
  return brokenRules([
    [isFirst || previous_record !== ZERO_HASH, `record ${tenant_ordinal} of its chain names no record before it`],
    [!isFirst || previous_record === ZERO_HASH, "record 1 of its chain names a record before it"],
    // Runs of a chain have rising numbers, and the first run of a service has number 1.
    [run_id >= tenant_ordinal, `run ${run_id} cannot be record ${tenant_ordinal} of a chain`],
    [index >= before, `before log entry ${index} there is no room for the ${tenant_ordinal - 1} records before it`],
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

type Proven = { readonly entry: Pick<TransparencyLogEntry, "inclusionProof" | "canonicalizedBody"> }

/** Whether entries that name one log are proven in trees that cannot be one, as far as their proofs meet. */
function areForked(slots: Readonly<Partial<Record<Slot, Proven>>>): boolean {
  const seen: { readonly origin: string; readonly view: TreeView }[] = []
  for (const { anchor } of slotted(slots)) {
    // An outside log may be sharded into several trees, each with an origin of its own.
    const [origin = ""] = anchor.entry.inclusionProof.checkpoint.envelope.split("\n", 1)
    const view = viewOf(claimOf(anchor.entry))
    if (seen.some(other => other.origin === origin && areOfTwoTrees(other.view, view))) return true
    seen.push({ origin, view })
  }
  return false
}
