/** The anchors of a record, each with the slot that it fills. */
import type { Anchor } from "../artifacts/anchor.ts"
import type { AnchorFacts } from "./report.ts"

/** The slots of a record, in the order in which they are logged. */
export const SLOTS = ["pre_anchor", "receipt", "complete_record"] as const
export type Slot = (typeof SLOTS)[number]

/** An anchor of any document, with its slot. */
export type SlottedAnchor = { readonly slot: AnchorFacts["slot"]; readonly anchor: Anchor }

/** The anchors in the slots of a record, in their order. */
export const slotted = <Slots extends Readonly<Partial<Record<Slot, object>>>>(
  slots: Slots,
): readonly { readonly slot: Slot; readonly anchor: NonNullable<Slots[Slot]> }[] =>
  SLOTS.flatMap(slot => {
    const anchor = slots[slot]
    return anchor === undefined ? [] : [{ slot, anchor }]
  })

/** What a report lists of an anchor. */
export const anchorFact = ({ slot, anchor: { leaf, entry } }: SlottedAnchor): AnchorFacts => ({
  slot,
  leaf_version: leaf.leaf_version,
  log_index: entry.logIndex,
  integrated_time: entry.integratedTime,
})
