/** The log entries of a record, in words and rows, and part 5, which shows them. */
import type { Anchor, OutsideAnchor, OutsideAnchors } from "@runseal/core/artifacts/anchor"
import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { timeOfOutside } from "@runseal/core/verify/outside"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import type { Block, Line } from "@runseal/pdf/block"
import {
  count,
  fact,
  facts,
  heading,
  line,
  mono,
  muted,
  onNewLine,
  paragraph,
  readableTime,
  remark,
  shortQuote,
  table,
  unixTime,
} from "../spans.ts"
import { type Part, toneOf, wordsOf } from "../subject.ts"
import { proofHash } from "./cover.ts"

/** Origin of the log, as the entry's checkpoint names it. */
const originOf = ({ entry }: Anchor | OutsideAnchor): string => {
  const { envelope } = entry.inclusionProof.checkpoint
  return parseCheckpoint(envelope)?.origin ?? envelope.split("\n")[0] ?? ""
}

/** "at entry 12 of the log … (logged …)". */
const place = (anchor: Anchor): Line =>
  line(
    "at entry ",
    mono(anchor.entry.logIndex),
    " of the log ",
    shortQuote(originOf(anchor)),
    ` (logged ${readableTime(unixTime(anchor.entry.integratedTime))})`,
  )

/** One sentence on the anchors of a record: its log entries, or that it has none. */
export function anchorSentence(bundle: Bundle): Line {
  const { pre_anchor, receipt, complete_record } = bundle.anchors
  const first =
    receiptOf(bundle) === undefined ? runAnchored(pre_anchor) : line("The receipt ", receiptAnchored(receipt))
  const whole =
    complete_record === undefined
      ? line(" The record as a whole carries no log entry.")
      : line(" The record as a whole is anchored at entry ", mono(complete_record.entry.logIndex), ".")
  if (pre_anchor !== undefined || receipt !== undefined || receiptOf(bundle) !== undefined) return line(first, whole)
  return complete_record === undefined
    ? line("The record carries no log entry.")
    : line("The record is anchored ", place(complete_record), ".")
}

const runAnchored = (anchor: Anchor | undefined): Line =>
  anchor === undefined ? [] : line("The run is anchored ", place(anchor), ".")
const receiptAnchored = (anchor: Anchor | undefined): Line =>
  anchor === undefined ? line("carries no log entry: it is not anchored.") : line("is anchored ", place(anchor), ".")

const SLOTS: readonly (readonly [keyof OutsideAnchors, string])[] = [
  ["pre_anchor", "Run, before its manifest"],
  ["receipt", "Receipt"],
  ["complete_record", "Complete record"],
]

/** A row per anchor: what it anchors, leaf version, entry, time, log; those in outside logs last. */
export const anchorRows = ({ anchors }: Pick<Bundle, "anchors">): readonly (readonly Line[])[] => [
  ...rowsOf(anchors),
  ...(anchors.outside ?? []).flatMap(rowsOf),
]

const rowsOf = (anchors: OutsideAnchors): readonly (readonly Line[])[] =>
  SLOTS.flatMap(([slot, name]) => {
    const anchor = anchors[slot]
    if (anchor === undefined) return []
    const { entry, leaf, late } = anchor
    const time = unixTime(`${timeOfOutside(anchor)}`)
    return [
      [
        line([name, ...("timestamp" in anchor ? ["stamped"] : []), ...(late === undefined ? [] : ["late"])].join(", ")),
        line(mono(leaf.leaf_version)),
        line(count(Number(entry.logIndex))),
        line(readableTime(time), onNewLine(muted(time))),
        shortQuote(originOf(anchor)),
      ],
    ]
  })

export const ANCHOR_COLUMNS = [
  { title: "What is anchored", share: 16 },
  { title: "Leaf", share: 24 },
  { title: "Entry", share: 7, align: "end" },
  { title: "Logged", share: 32 },
  { title: "Log", share: 21 },
] as const

// Part 5: the hash that identifies the record, and its log entries.

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
