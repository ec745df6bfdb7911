/** The log entries of a record, in words and rows. */
import type { Anchor, OutsideAnchor, OutsideAnchors } from "@runseal/core/artifacts/anchor"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { timeOfOutside } from "@runseal/core/verify/outside"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import type { Line } from "@runseal/pdf/block"
import { count, line, mono, muted, onNewLine, readableTime, shortQuote, unixTime } from "../spans.ts"

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
