/** The documents of a tenant's chain, as their comparisons see them: records, openings and ends of permits; and admin events. */
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import type { AdminEvent } from "../artifacts/admin-event.ts"
import type { Anchor, ChainLeaf } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { Opening } from "../artifacts/opening.ts"
import { type PermitEnd, redemptionOf } from "../artifacts/permit-end.ts"
import type { ReadDocument } from "./read-document.ts"
import { VERDICTS, type Verdict } from "./report.ts"

/** A document of a chain. */
export type ChainDocument =
  | { readonly kind: "record"; readonly value: Bundle }
  | { readonly kind: "opening"; readonly value: Opening }
  | { readonly kind: "end"; readonly value: PermitEnd }
  | { readonly kind: "event"; readonly value: AdminEvent }

/** The document of a chain that a line holds; undefined for a document of another kind. */
export function chainDocument({ document, value }: ReadDocument): ChainDocument | undefined {
  switch (document) {
    case "bundle":
      return { kind: "record", value: value.bundle }
    case "opening":
      return { kind: "opening", value }
    case "permit_end":
      return { kind: "end", value }
    case "admin_event":
      return { kind: "event", value }
    default:
      return undefined
  }
}

/** The anchor that puts a document into its chain; undefined for a record that has none. */
export const chainAnchor = ({ kind, value }: ChainDocument): Anchor<ChainLeaf> | undefined =>
  kind === "record" ? value.anchors.complete_record : value

/** The entry that a record has in the log before the one that puts it into its chain. */
export const firstEntry = ({ kind, value }: ChainDocument): TransparencyLogEntry | undefined =>
  kind === "record" ? (value.anchors.pre_anchor ?? value.anchors.receipt)?.entry : undefined

/** The entries of the redemptions that a document holds. */
export function redemptionEntries({ kind, value }: ChainDocument): readonly TransparencyLogEntry[] {
  if (kind === "end") return value.openings.flatMap(ended => redemptionOf(ended)?.entry ?? [])
  const redemption = kind === "record" ? value.sections.permit?.redemption : undefined
  return redemption === undefined ? [] : [redemption.entry]
}

/** The document's own clock: the instant of its decision. */
export function chainClock({ kind, value }: ChainDocument): string {
  if (kind === "record") return value.run.created_at
  if (kind === "event") return value.seal_clock
  return kind === "opening" ? value.sections.envelope.admission_clock : value.end_clock
}

/** A document beside which another is missing: "run 7", "opening 3". */
export const briefName = ({ kind, value }: ChainDocument): string =>
  kind === "record" ? `run ${value.run.run_id}` : `${kind} ${value.leaf.tenant_ordinal}`

/** A document in a sentence: "record 4 (run 7)", "opening 3 (pmt-…)". */
export function longName(document: ChainDocument): string {
  const { kind, value } = document
  if (kind === "end") return briefName(document)
  if (kind === "event") return `${briefName(document)} (${value.action})`
  if (kind === "opening") return `${briefName(document)} (${value.permit_id})`
  return `record ${value.anchors.complete_record?.leaf.tenant_ordinal} (run ${value.run.run_id})`
}

/** The verdict that each kind must get. */
export const CHAIN_VERDICTS: Readonly<Record<ChainDocument["kind"], Verdict>> = {
  record: VERDICTS.complete,
  opening: VERDICTS.opening,
  end: VERDICTS.permit_end,
  event: VERDICTS.admin_event,
}
