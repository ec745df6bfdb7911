/** Part 5: the hash that identifies the record, and its log entries. */
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import type { Block } from "@runseal/pdf/block"
import { fact, facts, heading, line, mono, paragraph, remark, table } from "../spans.ts"
import { type Part, toneOf, wordsOf } from "../subject.ts"
import { ANCHOR_COLUMNS, anchorRows, anchorSentence } from "./anchors.ts"
import { proofHash } from "./cover.ts"

const UNANCHORED =
  "No part of this record is anchored: its hashes agree with each other, and nothing outside it vouches for them."

const LOG_AROUND = "The log around the record, as the verifier says with the service's own trust document: "

export const proof: Part = subject => {
  const { bundle } = subject
  const { title, hash_name, meaning } = wordsOf(subject).proof
  const banner: Block = {
    kind: "callout",
    tone: toneOf(subject),
    title: hash_name,
    lines: [line(mono(proofHash(subject))), line(meaning)],
  }
  const rows = anchorRows(bundle)
  const anchors = rows.length === 0 ? [remark(UNANCHORED)] : table("Log entries", ANCHOR_COLUMNS, rows)
  const inBrief = subject.format === "brief" && rows.length > 0
  const witnessed = subject.context.verification.checks.find(
    ({ id, result }) => id === "witnessed" && result === "pass",
  )
  const unanchored = receiptOf(bundle) !== undefined && bundle.anchors.receipt === undefined
  return [
    heading(1, title),
    banner,
    ...(unanchored ? [paragraph(anchorSentence(bundle))] : []),
    ...facts([
      ...(bundle.partial_manifest === undefined
        ? []
        : [fact("Partial manifest hash", mono(bundle.partial_manifest.ManifestHash))]),
      ...(proofHash(subject) === bundle.bundle_hash ? [] : [fact("Bundle hash", mono(bundle.bundle_hash))]),
    ]),
    ...(inBrief ? [] : anchors),
    ...(witnessed === undefined ? [] : [paragraph(LOG_AROUND, witnessed.message, ".")]),
  ]
}
