/** Verifies the end of permits that nobody closed, without their openings. docs/formats.md section 7.9. */

import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { areOfTwoTrees, entryView } from "@runseal/log/entries/one-tree"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { parseExact } from "../artifacts/parse-exact.ts"
import {
  type EndedOpening,
  movedBy,
  PERMIT_END_KIND,
  type PermitEnd,
  permitEndSchema,
  redemptionOf,
  reservedBy,
} from "../artifacts/permit-end.ts"
import { PERMIT_END_FORM } from "../formulas/chain-forms.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { isBudgetWindow } from "./budgets.ts"
import type { ChainDocument, ChainMovement } from "./chain-document.ts"
import { checkRedemption } from "./close.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import { collectFindings, conclude } from "./examination.ts"
import { type EvidenceLine, kindOf, line } from "./kind.ts"
import type { EndFacts, RecordFacts } from "./record-facts.ts"
import { chainRules, isBetween, tenantRule } from "./record-places.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

export const PERMIT_END = /* @__PURE__ */ kindOf<PermitEnd>({
  document: "permit_end",
  title: "End of permits",
  genuine: "The end is genuine.",
  verdict: "permit_end",
  recognizes: ({ kind }) => kind === PERMIT_END_KIND,
  parse: value => parseExact(permitEndSchema, value),
  verify: verifyPermitEnd,
  anchors: anchorsOf,
  evidence: evidenceOf,
  inChain: { counted: "ends", document: endInChain },
})

/** As the comparisons of an export see it. */
export function endInChain(end: PermitEnd): ChainDocument {
  const brief = `end ${end.leaf.tenant_ordinal}`
  return {
    anchor: end,
    clock: end.end_clock,
    brief,
    long: brief,
    redemptions: redemptionsOf(end),
    movements: end.openings.map(movementOf),
    ends: end,
  }
}

function verifyPermitEnd(end: PermitEnd, trusts: readonly TrustedKeys[]): Report {
  const { leaf, entry, end_clock, end_hash } = end
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), findings }
  findings.fail("decision", ...brokenRules(movementRules(end)))
  findings.fail(
    "leaf",
    ...brokenRules([
      [PERMIT_END_FORM.hash(end) === end_hash, "the end does not match its hash"],
      [leaf.end_hash === end_hash, "the anchored leaf names another end"],
      tenantRule(end, leaf),
    ]),
  )
  checkAnchor({ leaf, entry }, { leaf, clock: end_clock }, examination)
  for (const ended of end.openings) {
    const redemption = redemptionOf(ended)
    if (redemption !== undefined) checkRedemption(ended.permit_id, redemption, examination)
  }
  const isBehind = leaf.tenant_ordinal > end.openings.length
  findings.fail(
    "inclusion",
    ...brokenRules([
      ...chainRules(leaf, entry),
      [isBehind, "the end comes before openings that it ends"],
      ...redemptionRules(end),
    ]),
  )
  return conclude(examination, {
    document: "permit_end",
    good: VERDICTS.permit_end,
    passed: {
      shape: "kinds and fields of the end are as they must be",
      decision: "what is released or charged follows in each budget window",
      leaf: "the end and its tenant are those of the anchored leaf",
      ...passedEntry(entry),
      log_time: "logged within 600 s of the end's clock",
    },
    clock: end_clock,
    facts: endFacts(end),
    withheld: [],
    limitations: [limitation("operator_log"), limitation("ended_openings")],
    anchors: anchorsOf(end),
    redemptions: redemptionsOf(end),
  })
}

/** The redemptions of ended openings are before the end in the log, each at an entry of its own and in one tree with it. */
function redemptionRules({ openings, end_clock, entry }: PermitEnd): readonly Rule[] {
  const redemptions = openings.flatMap(ended => redemptionOf(ended) ?? [])
  const views = redemptions.map(({ entry: redeemed }) => entryView(redeemed))
  const tree = entryView(entry)
  const indices = redemptions.map(({ entry: { logIndex } }) => logIndex)
  return [
    [redemptions.every(({ redeemed_clock }) => redeemed_clock <= end_clock), "a permit was redeemed after it ended"],
    [
      // Before a redemption are the log's birth and its opening.
      redemptions.every(({ entry: redeemed }) => isBetween(redeemed, 1, entry)),
      "a redemption is not before the end in the log",
    ],
    [new Set(indices).size === indices.length, "two redemptions are one log entry"],
    [
      !views.some(view => areOfTwoTrees(tree, view)),
      "a redemption and the end prove themselves in two trees: the log was forked",
    ],
  ]
}

/** Each opening ends once, and in one window one movement follows the other. */
function movementRules({ openings, end_clock }: PermitEnd): readonly Rule[] {
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
    [follows, "the movements of a window do not follow each other"],
    // The reservation is a movement before.
    [openings.every(({ ordinal }) => ordinal > 1), "the movement of an ended permit is the first of its window"],
    [openings.every(isBudgetWindow), "the movement of an ended permit is of no budget window"],
    [
      openings.every(({ window_start }) => window_start <= end_clock),
      "the movement of an ended permit is of a window that begins later",
    ],
  ]
}

/** A movement at the next ordinal takes the window from the total of the one before; others may have moved it between two that are apart. */
const isAfter = (ended: EndedOpening, before: EndedOpening): boolean =>
  ended.ordinal === before.ordinal + 1
    ? ended.total_after === before.total_after + movedBy(ended)
    : ended.ordinal > before.ordinal

function anchorsOf({ leaf, entry }: PermitEnd): readonly SlottedAnchor[] {
  return [{ slot: "permit_end", anchor: { leaf, entry } }]
}

const redemptionsOf = ({ openings }: PermitEnd): readonly TransparencyLogEntry[] =>
  openings.flatMap(ended => redemptionOf(ended)?.entry ?? [])

function movementOf(ended: EndedOpening): ChainMovement {
  const kind = redemptionOf(ended) === undefined ? "release" : "settle"
  return [ended, { ...ended, kind, tokens: movedBy(ended) }]
}

function endFacts({ tenant_id, reason, openings }: PermitEnd): RecordFacts & { readonly ended: EndFacts } {
  const redeemed = openings.filter(ended => redemptionOf(ended) !== undefined)
  const tokensOf = (some: PermitEnd["openings"]): number => some.reduce((sum, ended) => sum + reservedBy(ended), 0)
  const charged_tokens = tokensOf(redeemed)
  return {
    tenant_id,
    ended: {
      reason,
      permits: openings.length,
      released_tokens: tokensOf(openings) - charged_tokens,
      redeemed: redeemed.length,
      charged_tokens,
    },
  }
}

function evidenceOf(end: PermitEnd): readonly EvidenceLine[] {
  const { tenant_id, reason, end_clock, openings, end_hash, leaf, entry } = end
  const { ended } = endFacts(end)
  return [
    ...line("ended_at", end_clock),
    ...line("reason", reason),
    ...line("tenant", tenant_id),
    ...line("permits", openings.length),
    ...line("released_tokens", ended.released_tokens),
    ...(ended.redeemed === 0
      ? []
      : [...line("redeemed_and_not_closed", ended.redeemed), ...line("charged_tokens", ended.charged_tokens)]),
    ...line("log_entry", entry.logIndex),
    ...line("tenant_ordinal", leaf.tenant_ordinal),
    ...line("end_hash", end_hash),
  ]
}
