/** The record of a close against itself: the permit that it names, its clocks, and what it adds to its opening's declaration. */
import type { Anchor } from "../artifacts/anchor.ts"
import { shown } from "../artifacts/declared-sections.ts"
import { CLOSING_PARTS, type Redemption } from "../artifacts/permit-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import { permitId } from "../formulas/moment.ts"
import { redemptionLeaf } from "../formulas/permit.ts"
import { member } from "../vocabulary/json-members.ts"
import { checkAnchor } from "./anchor-check.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import type { Examination, ExaminedBundle } from "./examination.ts"

/** Checks the two sections that only a close has. docs/formats.md section 2.5. */
export function checkClose(examined: ExaminedBundle): void {
  const { bundle, findings } = examined
  const { run, sections } = bundle
  const { permit, envelope } = sections
  if (permit === undefined || envelope === undefined) return
  const { permit_id, outcome, code, closed_clock, redemption } = permit
  findings.fail(
    "decision",
    ...brokenRules([
      [permit_id === permitId(envelope.hash), "the permit is of another envelope"],
      [(outcome === "failed") === (code !== undefined), "an act that failed, and no other, has a code"],
      [closed_clock >= envelope.admission_clock, "the run was closed before its permit was opened"],
      [
        redemption === undefined || redemption.redeemed_clock >= envelope.admission_clock,
        "the permit was redeemed before it was opened",
      ],
      [run.outcome_kind !== "attestation_gap", "a run whose permit was opened is admitted already"],
      ...additionRules(sections),
    ]),
  )
  if (redemption !== undefined) checkRedemption(permit_id, redemption, examined)
}

/** The anchor of a redemption: its leaf follows from the permit. */
export const redemptionAnchor = (permitId: string, { redeemed_clock, entry }: Redemption): Anchor => ({
  leaf: redemptionLeaf(permitId, redeemed_clock),
  entry,
})

/** Checks the log entry of a redemption, under the keys of the document that holds it. */
export const checkRedemption = (permitId: string, redemption: Redemption, examination: Examination): void =>
  checkAnchor(
    redemptionAnchor(permitId, redemption),
    { leaf: undefined, clock: redemption.redeemed_clock, reportedAs: "inclusion" },
    examination,
  )

/** A close adds members, and changes none. The cost of an act is not known before it. */
function additionRules(sections: Sections): readonly Rule[] {
  const added = sections.closing && shown(sections.closing)?.declared
  const cost = member(shown(sections.request_substance)?.declared, "cost")
  const repeated = CLOSING_PARTS.flatMap(part => {
    const opened = shown(sections[part])?.declared ?? {}
    return Object.keys(opened).filter(name => member(member(added, part), name) !== undefined)
  })
  return [
    [repeated.length === 0, "the close declares again what its opening declared"],
    [cost === undefined, "the opening declares the cost of an act that it precedes"],
  ]
}
