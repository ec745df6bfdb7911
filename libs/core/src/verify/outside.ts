/**
 * Checks the anchors of a record in logs other than the service's own against the record and its own anchors. docs/formats.md
 * section 9.
 */

import { entryPlaceProblem } from "@runseal/log/entries/check-entry"
import { entryTime, tiledEntryProblem } from "@runseal/log/entries/check-tiled-entry"
import { parseEntryCheckpoint, parseTiledCheckpoint } from "@runseal/log/notes/checkpoint"
import { timeOfTimestamp } from "@runseal/log/timestamps/timestamp"
import { isPublicRekor, PUBLIC_REKOR } from "@runseal/log/trust/rekor-root"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { hostOf } from "@runseal/log/trust/trusted-root"
import type { Anchor, Leaf, OutsideAnchor, OutsideAnchors, OutsideEntry } from "../artifacts/anchor.ts"
import type { Anchors, BundleBody } from "../artifacts/bundle-schema.ts"
import { decisionClock } from "../formulas/moment.ts"
import { logTimeProblems } from "./anchor-check.ts"
import { type Slot, slotted } from "./anchor-slots.ts"
import { rises } from "./contradictions.ts"
import type { ExaminedBundle } from "./examination.ts"
import type { AnchorFacts, LimitationCode } from "./report.ts"

const UNKNOWN_LOG =
  "an outside log is none that the trust document lists: pin the service's current one, obtained from the service itself"

const UNKNOWN_AUTHORITY =
  "a timestamp is of no authority that the trust document lists: pin the service's current one, obtained from the service itself"

/** The anchors of a record in its outside logs, in their order, with the log that the trust document lists; undefined for another. */
export const anchorsOutside = (
  { outside = [] }: Anchors,
  trust: TrustedKeys,
): readonly (readonly [log: TrustedKeys | undefined, anchors: ReturnType<typeof slotted<OutsideAnchors>>])[] =>
  outside.map(anchors => [trustedLog(new Set([logIdOf(anchors)]), trust), slotted(anchors)])

/** Public Rekor need not be listed: the service's own anchor, whose body is the same, shows that the service signed it. */
const trustedLog = (ids: ReadonlySet<string>, trust: TrustedKeys | undefined): TrustedKeys | undefined =>
  [...(trust?.outside ?? []), PUBLIC_REKOR].find(({ logKeys }) => logKeys.some(key => ids.has(key.logId)))

/** The record's own time for an anchor: what the 600 seconds are counted from. */
const clockOf = ({ run, sections: { envelope, permit } }: Pick<BundleBody, "run" | "sections">, slot: Slot): string =>
  slot === "complete_record" || envelope === undefined
    ? run.created_at
    : decisionClock({ envelope, ...(permit && { permit }) })

/** The time that an entry in an outside log has by the log's word, or by its timestamp, in Unix seconds. Unchecked; 0 where it shows none. */
export const timeOfOutside = (entered: OutsideEntry): number =>
  "timestamp" in entered ? (timeOfTimestamp(entered.timestamp) ?? 0) : Number(entered.entry.integratedTime)

/** Whether an entry in an outside log came too late, or too early, to speak of the record's time. */
const isLate = (record: Pick<BundleBody, "run" | "sections">, slot: Slot, leaf: Leaf, entered: OutsideEntry): boolean =>
  logTimeProblems(leaf, timeOfOutside(entered), clockOf(record, slot)).length > 0

/**
 * The anchors of a record in one outside log: its own leaves with that log's entries, marked where they are late.
 * @param entryOf that log's entry for an anchor of the record; undefined where it has none
 */
export function outsideAnchors(record: BundleBody, entryOf: (own: Anchor) => OutsideEntry | undefined): OutsideAnchors {
  const { pre_anchor, receipt, complete_record } = record.anchors
  const enter = <L extends Leaf>(slot: Slot, own: Anchor<L> | undefined): OutsideAnchor<L> | undefined => {
    const entered = own && entryOf(own)
    if (own === undefined || entered === undefined) return undefined
    const anchor = { ...entered, leaf: own.leaf }
    return isLate(record, slot, own.leaf, entered) ? { ...anchor, late: true } : anchor
  }
  const [first, refused, last] = [
    enter("pre_anchor", pre_anchor),
    enter("receipt", receipt),
    enter("complete_record", complete_record),
  ]
  return {
    ...(first && { pre_anchor: first }),
    ...(refused && { receipt: refused }),
    ...(last && { complete_record: last }),
  }
}

/** Runs every check on the anchors in outside logs. */
export function checkOutside(examined: ExaminedBundle): void {
  const { outside = [] } = examined.bundle.anchors
  const inOrder = rises(outside.map(logIdOf))
  examined.findings.require("outside", inOrder, "the outside logs are not listed once each by rising log id")
  checkOwners(examined)
  for (const anchors of outside) checkLog(anchors, examined)
}

/** An outside anchor has the leaf of the record's own, so the full form lacks one whose own the record has not: nothing would look at it. */
function checkOwners({ sealed, bundle, findings }: ExaminedBundle): void {
  for (const slot of (sealed.anchors.outside ?? []).flatMap(log => slotted(log).map(({ slot }) => slot)))
    findings.require(
      "outside",
      bundle.anchors[slot] !== undefined,
      `an outside log holds a ${slot} that the record has not`,
    )
}

function checkLog(anchors: OutsideAnchors, { bundle, trust, findings }: ExaminedBundle): void {
  const found = slotted(anchors)
  const own = slotted(bundle.anchors)
  const inOrder = found.length > 0 && found.every(({ slot }, at) => slot === own[at]?.slot)
  findings.require("outside", inOrder, "an outside log holds a later entry of the record and not an earlier one")
  const ids = new Set(found.map(({ anchor }) => anchor.entry.logId.keyId))
  findings.require("outside", ids.size === 1, "anchors of several logs are listed as one outside log")
  const log = trustedLog(ids, trust)
  if (log === undefined) (trust === undefined ? findings.lack : findings.fail)("outside", UNKNOWN_LOG)
  for (const { slot, anchor } of found) {
    const same = bundle.anchors[slot]
    if (same === undefined) continue
    const problem = log && placeProblem(anchor, same.entry.canonicalizedBody, log, trust)
    if (problem !== undefined) findings.fail("outside", problem)
    const late = isLate(bundle, slot, anchor.leaf, anchor)
    findings.require("outside", late === (anchor.late === true), late ? UNMARKED : "an entry in time is marked as late")
  }
}

/** Why an entry does not show that this log holds it, at the time that it has. @param body base64 of the record's own */
function placeProblem(
  entered: OutsideEntry,
  body: string,
  log: TrustedKeys,
  trust: TrustedKeys | undefined,
): string | undefined {
  if (!("timestamp" in entered)) return entryPlaceProblem(entered.entry, body, log)
  const stamped = entryTime(entered.timestamp, body, trust?.timestampAuthorities ?? [])
  if ("problem" in stamped) return stamped.ofNobody ? UNKNOWN_AUTHORITY : stamped.problem
  return tiledEntryProblem(entered.entry, body, log, stamped.time)
}

const UNMARKED = "an entry outside of the 600 s, or of the sealed anchoring window, is not marked as late"

const logIdOf = (anchors: OutsideAnchors): string => slotted(anchors)[0]?.anchor.entry.logId.keyId ?? ""

/** The entries of the record in outside logs. @param trust the trust document that it was held to */
export const outsideFacts = (anchors: Anchors, trust: TrustedKeys | undefined): readonly AnchorFacts[] =>
  (anchors.outside ?? []).flatMap(log =>
    slotted(log).map(({ slot, anchor }) => ({
      slot,
      leaf_version: anchor.leaf.leaf_version,
      log_index: anchor.entry.logIndex,
      integrated_time: `${timeOfOutside(anchor)}`,
      outside_log: hostOfEntry(anchor),
      ...authorityOf(anchor, anchors[slot], trust),
      ...(anchor.late === undefined ? {} : { late: anchor.late }),
    })),
  )

/** The authority whose timestamp an anchor carries, by the host at which it is asked. */
function authorityOf(
  anchor: OutsideEntry,
  own: Anchor | undefined,
  trust: TrustedKeys | undefined,
): Pick<AnchorFacts, "timestamp_authority"> {
  if (!("timestamp" in anchor)) return {}
  const body = own?.entry.canonicalizedBody ?? ""
  const stamped = entryTime(anchor.timestamp, body, trust?.timestampAuthorities ?? [])
  return { timestamp_authority: ("problem" in stamped ? undefined : hostOf(stamped.authority.uri)) ?? "unknown" }
}

/** The log's name as its checkpoint gives it. */
function hostOfEntry(entered: OutsideEntry): string {
  const { envelope } = entered.entry.inclusionProof.checkpoint
  const parse = "timestamp" in entered ? parseTiledCheckpoint : parseEntryCheckpoint
  return parse(envelope)?.host ?? "unknown"
}

/** What the report says when the anchors in outside logs are good; undefined when there are none. */
export function passedOutside(anchors: Anchors): string | undefined {
  const facts = outsideFacts(anchors, undefined)
  if (facts.length === 0) return undefined
  const logs = [...new Set(facts.map(({ outside_log }) => outside_log))].join(", ")
  const late = facts.filter(fact => fact.late === true).length
  return `${facts.length} of its entries are also in ${logs}, ${late === 0 ? "in time" : `${late} of them late`}`
}

/** What the outside logs leave open of a record that is anchored: public Rekor vouches for its times when it holds all of it. */
export function outsideLimitations(anchors: Anchors): readonly LimitationCode[] {
  const { outside = [] } = anchors
  const wanted = slotted(anchors)
  const inTime = (log: OutsideAnchors): boolean =>
    isPublicRekor({ logId: logIdOf(log) }) &&
    wanted.every(({ slot }) => log[slot] !== undefined && log[slot].late !== true)
  const late = outside.some(log => slotted(log).some(({ anchor }) => anchor.late === true))
  return [outside.some(inTime) ? "own_log_alone" : "operator_log", ...(late ? (["late_entry"] as const) : [])]
}
