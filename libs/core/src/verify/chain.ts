/** Completeness of a tenant's chain over a run of documents. docs/formats.md section 7.3. */
import type { AdminEvent } from "../artifacts/admin-event.ts"
import type { ChainLeaf } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { Opening } from "../artifacts/opening.ts"
import type { PermitEnd } from "../artifacts/permit-end.ts"
import { leafDigest } from "../formulas/leaves.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import { ADMIN_EVENT_KIND, OPENING_KIND } from "../vocabulary/versions.ts"
import { type ChainDocument, chainAnchor, longName } from "./chain-document.ts"

/**
 * Why the documents, in the order given, are not an unbroken piece of one tenant's chain; empty when they are.
 * It proves that between the first and the last nothing is missing, doubled or reordered; not that nothing follows.
 * Each must be verified on its own as well.
 */
export function chainProblems(documents: readonly ChainValue[]): readonly string[] {
  const problems: string[] = []
  let previous: ChainLeaf | undefined
  for (const document of documents.map(documentOf)) {
    const leaf = chainAnchor(document)?.leaf
    if (leaf === undefined) problems.push(`${nameOf(document)} has no complete-record anchor`)
    else problems.push(...linkProblems(previous, leaf, nameOf(document)))
    previous = leaf ?? previous
  }
  return problems
}

type ChainValue = Bundle | Opening | PermitEnd | AdminEvent

function documentOf(value: ChainValue): ChainDocument {
  if ("run" in value) return { kind: "record", value }
  if (value.kind === ADMIN_EVENT_KIND) return { kind: "event", value }
  return value.kind === OPENING_KIND ? { kind: "opening", value } : { kind: "end", value }
}

function nameOf(document: ChainDocument): string {
  if (document.kind !== "record") return longName(document)
  const { run, anchors } = document.value
  const ordinal = anchors.complete_record?.leaf.tenant_ordinal
  return ordinal === undefined ? `run ${run.run_id}` : `run ${run.run_id} (record ${ordinal})`
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
