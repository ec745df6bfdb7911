/** Verifies the opening of a permit, without its close. docs/formats.md section 7.8. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { shown, WITHHOLDABLE_NAMES } from "../artifacts/declared-sections.ts"
import {
  CLOSE_SECONDS_MAX,
  CLOSE_SECONDS_MIN,
  OPENING_KIND,
  type Opening,
  openingSchema,
  REDEEMED_VALID_SECONDS_MAX,
  VALID_SECONDS_MAX,
} from "../artifacts/opening.ts"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import { OPENING_FORM } from "../formulas/chain-forms.ts"
import { permitId } from "../formulas/moment.ts"
import { isObject, member } from "../vocabulary/json-members.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { movementRule } from "./budgets.ts"
import type { ChainDocument } from "./chain-document.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import { checkPolicyDecision } from "./decisions.ts"
import { approvalLines, declaredStates, signatureMatch } from "./evidence-summary.ts"
import { collectFindings, conclude, type PassedChecks } from "./examination.ts"
import { type EvidenceLine, kindOf, line } from "./kind.ts"
import { checkHeldSections, checkRequest, intactSections } from "./links.ts"
import { type Unreadable, unreadable } from "./parsed-text.ts"
import { approvalFacts, enforcementOf, type RecordFacts, runFacts } from "./record-facts.ts"
import { chainRules, tenantRule } from "./record-places.ts"
import { type Limitation, limitation, type Report, VERDICTS } from "./report.ts"

export const OPENING = /* @__PURE__ */ kindOf<Opening>({
  document: "opening",
  title: "Opening of a permit",
  genuine: "The opening is genuine.",
  verdict: "opening",
  recognizes: value => value.kind === OPENING_KIND || (isObject(value.opening) && Object.hasOwn(value, "permit_id")),
  parse: value =>
    value.kind !== OPENING_KIND && isObject(value.opening)
      ? readPermitAnswer(value, value.opening)
      : parseExact(openingSchema, value),
  verify: verifyOpening,
  anchors: anchorsOf,
  evidence: evidenceOf,
  named: opening => ({ opening }),
  inChain: { counted: "openings", document: openingInChain },
})

/** The answer on a permit holds its sealed documents: its opening, and its end if nobody closed it. */
const readPermitAnswer = (answer: JsonObject, opening: JsonObject): Parsed<Opening> | Unreadable =>
  Object.hasOwn(answer, "end")
    ? unreadable(
        "this answer holds two documents of a permit: save its opening and its end each by itself, and verify both",
      )
    : parseExact(openingSchema, opening)

/** As the comparisons of an export see it. */
export function openingInChain(opening: Opening): ChainDocument {
  const { sections, reservation: window, run_limit, leaf, permit_id } = opening
  const { ordinal, tokens, total_after } = window
  const brief = `opening ${leaf.tenant_ordinal}`
  return {
    anchor: opening,
    clock: sections.envelope.admission_clock,
    brief,
    long: `${brief} (${permit_id})`,
    redemptions: [],
    decided: opening,
    budget: { run_limit, window },
    movements: ordinal === undefined ? [] : [[window, { kind: "reserve", ordinal, tokens, total_after }]],
    opens: opening,
  }
}

/** Verifies an opening whose shape is known to be right, against keys from outside it. Never throws. */
export function verifyOpening(opening: Opening, trusts: readonly TrustedKeys[], known?: KnownTexts): Report {
  const { sections, allow_token, leaf, entry } = opening
  const { envelope } = sections
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), known, findings }
  const examined = { intact: intactSections(sections, known), findings }
  findings.fail("shape", ...brokenRules(timeRules(opening)))
  checkHeldSections(sections, opening.tenant_id, examined)
  checkRequest(sections, { ...envelope, tenant_id: opening.tenant_id }, examined)
  const run = { outcome_kind: "ok", route_id: envelope.route_id, tenant_id: opening.tenant_id } as const
  checkPolicyDecision({ bundle: { sections, allow_token, run }, entry, known, findings })
  findings.fail("decision", ...brokenRules(permitRules(opening)))
  findings.fail("leaf", ...brokenRules(leafRules(opening)))
  checkAnchor({ leaf, entry }, { leaf, clock: envelope.admission_clock }, examination)
  findings.fail("inclusion", ...brokenRules(chainRules(leaf, entry)))
  const withheld = WITHHOLDABLE_NAMES.filter(name => name !== "closing" && "withheld" in (sections[name] ?? {}))
  return conclude(examination, {
    document: "opening",
    good: VERDICTS.opening,
    passed: passedOpening(opening, withheld),
    clock: envelope.admission_clock,
    facts: openingFacts(opening),
    withheld,
    limitations: limitationsOf(opening, withheld.length > 0),
    anchors: anchorsOf(opening),
  })
}

/** How long a permit may be acted on and closed: whole seconds within the bounds of a request. */
function timeRules({ sections, expires_at, close_by, redeem_required }: Opening): readonly Rule[] {
  const [expires = 0, closes = 0] = [expires_at, close_by].map(clockMillis)
  const valid = validSeconds(sections, expires_at)
  const closing = (closes - expires) / 1000
  const longest = redeem_required === true ? REDEEMED_VALID_SECONDS_MAX : VALID_SECONDS_MAX
  return [
    [
      Number.isInteger(valid) && valid >= 1 && valid <= longest,
      "the permit is valid for a time that no request can ask for",
    ],
    [
      Number.isInteger(closing) && closing >= CLOSE_SECONDS_MIN && closing <= CLOSE_SECONDS_MAX,
      "the run may be closed for a time that no request can ask for",
    ],
  ]
}

/** Seconds for which a permit may be acted on. */
const validSeconds = ({ envelope }: Opening["sections"], expires_at: string): number =>
  ((clockMillis(expires_at) ?? 0) - (clockMillis(envelope.admission_clock) ?? 0)) / 1000

/** What every opening is: allowed, within both budgets, and before its act. */
function permitRules({ permit_id, sections, reservation, run_limit, ...terms }: Opening): readonly Rule[] {
  const { envelope, payload, request_substance, policy_evaluation } = sections
  const { audience, redeem_required, valid_for_seconds } = policy_evaluation.facts
  const { tokens, total_after, cap, ordinal, reserved } = reservation
  return [
    [permit_id === permitId(envelope.hash), "the permit is of another envelope"],
    [
      audience === terms.audience &&
        redeem_required === (terms.redeem_required ?? false) &&
        valid_for_seconds === validSeconds(sections, terms.expires_at),
      "the policy was given other terms than those of the permit",
    ],
    [policy_evaluation.facts.tokens === tokens, "the policy was given other tokens than the opening reserves"],
    [payload.ai_output_hash === undefined, "there is an AI output before the act"],
    [
      member(shown(request_substance)?.declared, "cost") === undefined,
      "the opening declares the cost of an act that it precedes",
    ],
    [tokens <= run_limit, "the opening reserves more tokens than one run may use"],
    [total_after < cap, "the reservation takes the window to its cap"],
    [ordinal !== undefined && reserved === undefined, "a reservation is one movement of its window"],
    movementRule(reservation, tokens, envelope),
  ]
}

/** The leaf is this opening's, of this tenant. */
function leafRules(opening: Opening): readonly Rule[] {
  const { leaf, opening_hash, permit_id } = opening
  return [
    [OPENING_FORM.hash(opening) === opening_hash, "the opening does not match its hash"],
    [leaf.opening_hash === opening_hash, "the anchored leaf names another opening"],
    [leaf.permit_id === permit_id, "the anchored leaf names another permit"],
    tenantRule(opening, leaf),
  ]
}

const passedOpening = ({ entry, sections }: Opening, withheld: readonly string[]): PassedChecks => {
  const count = Object.keys(sections).length
  return {
    shape: "kinds, fields and times of the opening are as they must be",
    sections:
      withheld.length === 0
        ? `${count} sections match their hashes and each other`
        : { id: "sections", result: "withheld", message: `${count} sections match; withheld: ${withheld.join(", ")}` },
    decision: "the policy allows the act, and what is reserved is within both budgets",
    leaf: "opening, permit and tenant are those of the anchored leaf",
    ...passedEntry(entry),
    log_time: "logged within 600 s of the opening's clock",
  }
}

const limitationsOf = (
  { sections: { envelope, end_user, approvals } }: Opening,
  isWithheld: boolean,
): readonly Limitation[] => [
  limitation("operator_log"),
  limitation("declared_content"),
  ...(end_user === undefined ? [] : [limitation("stated_end_user")]),
  ...(approvals === undefined ? [] : [limitation("stated_approvals")]),
  limitation("open_permit"),
  limitation("opening_before_act"),
  limitation("software_attestation"),
  ...(envelope.enforcement === undefined ? [] : [limitation("observed_only")]),
  ...(isWithheld ? [limitation("withheld_section")] : []),
]

function anchorsOf({ leaf, entry }: Opening): readonly SlottedAnchor[] {
  return [{ slot: "opening", anchor: { leaf, entry } }]
}

function openingFacts({ sections, entry, reservation, ...opening }: Opening): RecordFacts {
  const { envelope, payload, policy_evaluation } = sections
  const { tenant_id, permit_id, audience, expires_at, close_by } = opening
  const { program_id, route_id, admission_clock: permitted_at } = envelope
  const { policy_hash } = policy_evaluation
  return {
    ...runFacts({ tenant_id, program_id, route_id, policy_hash, payload_hash: payload.payload_hash }),
    ...enforcementOf(envelope),
    ...approvalFacts(sections),
    permit: {
      permit_id,
      permitted_at,
      log_index: entry.logIndex,
      reserved_tokens: reservation.tokens,
      audience,
      expires_at,
      close_by,
    },
  }
}

function evidenceOf({ sections, reservation, leaf, entry, ...opening }: Opening): readonly EvidenceLine[] {
  const { envelope, payload, policy_evaluation, mcd_finding } = sections
  return [
    ...line("permit", opening.permit_id),
    ...line("permitted_at", envelope.admission_clock),
    ...line("enforcement", envelope.enforcement),
    ...line("audience", opening.audience),
    ...line("expires_at", opening.expires_at),
    ...line("close_by", opening.close_by),
    ...line("redeem_required", opening.redeem_required === true ? "yes" : undefined),
    ...line("tenant", opening.tenant_id),
    ...line("program", envelope.program_id),
    ...line("route", envelope.route_id),
    ...line("region", envelope.execution_region),
    ...line("payload_hash", payload.payload_hash),
    ...line("policy_rule", policy_evaluation.fired_rule_id),
    ...line("signature_match", signatureMatch({ policy_evaluation, ...(mcd_finding && { mcd_finding }) })),
    ...approvalLines(sections, true),
    ...line("reserved_tokens", reservation.tokens),
    ...line("window_total_after", reservation.total_after),
    ...line("declared_sections", declaredStates(sections)),
    ...line("log_entry", entry.logIndex),
    ...line("tenant_ordinal", leaf.tenant_ordinal),
    ...line("opening_hash", opening.opening_hash),
  ]
}
