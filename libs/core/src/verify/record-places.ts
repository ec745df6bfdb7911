/**
 * The places of one record in log and chain, held to each other: what commits to a tree came after it. docs/formats.md section
 * 16, check 12.
 */

import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { areOfTwoTrees, claimOf, type TreeView, viewOf } from "@runseal/log/entries/one-tree"
import type { Anchors } from "../artifacts/bundle-schema.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import type { Findings } from "./report.ts"

/**
 * Notes what cannot be true of any log or chain. That each entry holds by itself is checked elsewhere.
 * @param anchors of the record
 */
export function checkPlaces(anchors: Anchors, findings: Findings): void {
  const { pre_anchor, receipt, complete_record: complete } = anchors
  const first = pre_anchor ?? receipt
  const require = (holds: boolean, problem: string): void => findings.require("complete_record", holds, problem)
  if (complete !== undefined) {
    const { tenant_ordinal, previous_record, run_id } = complete.leaf
    const begins = tenant_ordinal === 1
    require(begins || previous_record !== ZERO_HASH, `record ${tenant_ordinal} of its chain names no record before it`)
    require(!begins || previous_record === ZERO_HASH, "record 1 of its chain names a record before it")
    // Runs of a chain have rising numbers, and the first run of a service has number 1.
    require(run_id >= tenant_ordinal, `run ${run_id} cannot be record ${tenant_ordinal} of a chain`)
    // Before it stand the log's birth, the records before it, and the record's own first entry.
    const before = tenant_ordinal + (first === undefined ? 0 : 1)
    require(Number(complete.entry.logIndex) >=
      before, `before log entry ${complete.entry.logIndex} there is no room for the ${tenant_ordinal - 1} records before it`)
  }
  if (complete !== undefined && first !== undefined) {
    const { treeSize } = first.entry.inclusionProof
    const index = complete.entry.logIndex
    require(Number(index) >=
      Number(
        treeSize,
      ), `the record was logged at entry ${index}, within the ${treeSize} entries of the checkpoint that it holds`)
    require(Number(complete.entry.integratedTime) >=
      Number(first.entry.integratedTime), "the record was logged before the log entry that it holds")
  }
  if (areForked([pre_anchor, receipt, complete]))
    findings.fail(complete === undefined ? "inclusion" : "complete_record", FORKED)
  for (const { pre_anchor: pre, receipt: halt, complete_record: whole } of anchors.outside ?? [])
    if (areForked([pre, halt, whole])) findings.fail("outside", FORKED)
}

const FORKED = "two log entries of the record prove themselves in two trees of one log: the log was forked"

type Proven = { readonly entry: Pick<TransparencyLogEntry, "inclusionProof" | "canonicalizedBody"> }

/** Whether entries that name one log are proven in trees that cannot be one, as far as their proofs meet. */
function areForked(anchors: readonly (Proven | undefined)[]): boolean {
  const seen: { readonly origin: string; readonly view: TreeView }[] = []
  for (const anchor of anchors) {
    if (anchor === undefined) continue
    // An outside log may be sharded into several trees, each with an origin of its own.
    const [origin = ""] = anchor.entry.inclusionProof.checkpoint.envelope.split("\n", 1)
    const view = viewOf(claimOf(anchor.entry))
    if (seen.some(other => other.origin === origin && areOfTwoTrees(other.view, view))) return true
    seen.push({ origin, view })
  }
  return false
}
