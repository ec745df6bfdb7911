/** Verifies the end of permits that nobody closed, without their openings. docs/formats.md section 7.9. */
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { EndedOpening, PermitEnd } from "../artifacts/permit-end.ts"
import { endHash } from "../formulas/permit.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import { isBudgetWindow } from "./budgets.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import { collectFindings, conclude } from "./examination.ts"
import { endFacts } from "./record-facts.ts"
import { chainRules, tenantRule } from "./record-places.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

/** Verifies an end whose shape is known to be right, against keys from outside it. Never throws. */
export function verifyPermitEnd(end: PermitEnd, trusts: readonly TrustedKeys[]): Report {
  const { leaf, entry, end_clock, end_hash } = end
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), findings }
  findings.fail("decision", ...brokenRules(releaseRules(end)))
  findings.fail(
    "leaf",
    ...brokenRules([
      [endHash(end) === end_hash, "the end does not match its hash"],
      [leaf.end_hash === end_hash, "the anchored leaf names another end"],
      tenantRule(end, leaf),
    ]),
  )
  checkAnchor({ leaf, entry }, { leaf, clock: end_clock }, examination)
  const isBehind = leaf.tenant_ordinal > end.openings.length
  findings.fail(
    "inclusion",
    ...brokenRules([...chainRules(leaf, entry), [isBehind, "the end comes before openings that it ends"]]),
  )
  return conclude(examination, {
    document: "permit_end",
    good: VERDICTS.permit_end,
    passed: {
      shape: "kinds and fields of the end are as they must be",
      decision: "what is released follows in each budget window",
      leaf: "the end and its tenant are those of the anchored leaf",
      ...passedEntry(entry),
      log_time: "logged within 600 s of the end's clock",
    },
    clock: end_clock,
    facts: endFacts(end),
    withheld: [],
    limitations: [limitation("operator_log"), limitation("ended_openings")],
    anchors: [{ slot: "permit_end", anchor: { leaf, entry } }],
  })
}

/** Each opening ends once, and in one window one release follows the other. */
function releaseRules({ openings, end_clock }: PermitEnd): readonly Rule[] {
  const distinct = (values: readonly string[]): boolean => new Set(values).size === values.length
  const last = new Map<string, EndedOpening>()
  const follows = openings.every(ended => {
    const window = `${ended.window_seconds} ${ended.window_start}`
    const before = last.get(window)
    last.set(window, ended)
    return before === undefined || isAfter(ended, before)
  })
  return [
    [distinct(openings.map(({ permit_id }) => permit_id)), "a permit ends twice"],
    [distinct(openings.map(({ opening_hash }) => opening_hash)), "an opening ends twice"],
    [follows, "the releases of a window do not follow each other"],
    // The reservation is a movement before.
    [openings.every(({ ordinal }) => ordinal > 1), "a release is the first movement of its window"],
    [openings.every(isBudgetWindow), "a release is of no budget window"],
    [openings.every(({ window_start }) => window_start <= end_clock), "a release is of a window that begins later"],
  ]
}

/** A release at the next ordinal takes the window from the total of the one before; others may have moved it between two that are apart. */
const isAfter = ({ ordinal, released, total_after }: EndedOpening, before: EndedOpening): boolean =>
  ordinal === before.ordinal + 1 ? total_after === before.total_after - released : ordinal > before.ordinal
