/** Completeness of a tenant's chain over a run of documents. docs/formats.md section 7.3. */
import type { ChainLeaf } from "../artifacts/anchor.ts"
import { leafDigest } from "../formulas/leaves.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import type { ChainDocument } from "./chain-document.ts"

/**
 * Why the documents, in the order given, are not an unbroken piece of one tenant's chain; empty when they are.
 * It proves that between the first and the last nothing is missing, doubled or reordered; not that nothing follows.
 * Each must be verified on its own as well.
 */
export function chainProblems(documents: readonly ChainDocument[]): readonly string[] {
  const problems: string[] = []
  let previous: ChainLeaf | undefined
  for (const document of documents) {
    const leaf = document.anchor?.leaf
    if (leaf === undefined) problems.push(`${nameOf(document)} has no complete-record anchor`)
    else problems.push(...linkProblems(previous, leaf, nameOf(document)))
    previous = leaf ?? previous
  }
  return problems
}

function nameOf({ run_id, anchor, brief, long }: ChainDocument): string {
  if (run_id === undefined) return long
  return anchor === undefined ? brief : `${brief} (record ${anchor.leaf.tenant_ordinal})`
}

function linkProblems(previous: ChainLeaf | undefined, leaf: ChainLeaf, name: string): readonly string[] {
  if (previous === undefined) {
    const first = leaf.tenant_ordinal === 1
    return first && leaf.previous_record !== ZERO_HASH ? [`${name} is the first and names a predecessor`] : []
  }
  if (leaf.tenant_commitment !== previous.tenant_commitment) return [`${name} belongs to another tenant`]
  if (leaf.tenant_ordinal !== previous.tenant_ordinal + 1)
    return [`${name} does not follow document ${previous.tenant_ordinal}: documents are missing, doubled or reordered`]
  return leaf.previous_record === leafDigest(previous) ? [] : [`${name} does not name the document before it`]
}
