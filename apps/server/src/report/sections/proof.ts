/** Part 5: the hash that stands for the record, and where it is anchored. */
import type { Block } from "../block.ts"
import { fact, facts, heading, line, mono, remark, table } from "../spans.ts"
import { type Part, toneOf, wordsOf } from "../subject.ts"
import { ANCHOR_COLUMNS, anchorRows, anchorSentence } from "./anchors.ts"
import { proofHash } from "./cover.ts"

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
  const anchors =
    rows.length === 0
      ? [
          remark(
            "No part of this record is anchored: its hashes agree with each other, and nothing outside it vouches for them.",
          ),
        ]
      : table("Log entries", ANCHOR_COLUMNS, rows)
  return [
    heading(1, title),
    banner,
    { kind: "paragraph", line: anchorSentence(bundle) },
    ...anchors,
    ...facts([
      ...(bundle.partial_manifest === undefined
        ? []
        : [fact("Partial manifest hash", mono(bundle.partial_manifest.ManifestHash))]),
      fact("Bundle hash", mono(bundle.bundle_hash)),
    ]),
  ]
}
