/** Verifies a request for an approval, without what it came to. docs/formats.md section 7.12. */
import type { KnownTexts } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { APPROVAL_REQUEST_KIND, type ApprovalRequest, approvalRequestSchema } from "../artifacts/approval-request.ts"
import { shown, WITHHOLDABLE_NAMES } from "../artifacts/declared-sections.ts"
import { CLOSE_SECONDS_MAX, CLOSE_SECONDS_MIN, REDEEMED_VALID_SECONDS_MAX } from "../artifacts/opening.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import { APPROVAL_REQUEST_FORM } from "../formulas/chain-forms.ts"
import { approvalId } from "../formulas/moment.ts"
import { isObject, member } from "../vocabulary/json-members.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import type { ChainDocument } from "./chain-document.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import { checkPolicyDecision } from "./decisions.ts"
import { actLines, declaredStates, endUserLines } from "./evidence-summary.ts"
import { collectFindings, conclude, type PassedChecks } from "./examination.ts"
import { type EvidenceLine, kindOf, line } from "./kind.ts"
import { checkHeldSections, checkRequest, intactSections } from "./links.ts"
import { type RecordFacts, runFacts } from "./record-facts.ts"
import { chainRules, tenantRule } from "./record-places.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

export const APPROVAL_REQUEST = /* @__PURE__ */ kindOf<ApprovalRequest>({
  document: "approval_request",
  title: "Request for an approval",
  genuine: "The request is genuine. Whether it was approved is in what it ended in.",
  verdict: "approval_request",
  recognizes: value =>
    value.kind === APPROVAL_REQUEST_KIND || (isObject(value.request) && Object.hasOwn(value, "approval_id")),
  // The answer on a request holds it.
  parse: value =>
    parseExact(
      approvalRequestSchema,
      value.kind !== APPROVAL_REQUEST_KIND && isObject(value.request) ? value.request : value,
    ),
  verify: verifyApprovalRequest,
  anchors: anchorsOf,
  evidence: evidenceOf,
  inChain: { counted: "requests", document: requestInChain },
  named: request => ({ request }),
})

/** As the comparisons of an export see it. */
export function requestInChain(request: ApprovalRequest): ChainDocument {
  const { sections, leaf, approval_id } = request
  const brief = `request ${leaf.tenant_ordinal}`
  return {
    anchor: request,
    clock: sections.envelope.admission_clock,
    brief,
    long: `${brief} (${approval_id})`,
    redemptions: [],
    decided: request,
    movements: [],
    asks: request,
  }
}

/** Verifies a request whose shape is known to be right, against keys from outside it. Never throws. */
function verifyApprovalRequest(request: ApprovalRequest, trusts: readonly TrustedKeys[], known?: KnownTexts): Report {
  const { sections, leaf, entry } = request
  const { envelope } = sections
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), known, findings }
  const examined = { intact: intactSections(sections, known), findings }
  findings.fail("shape", ...brokenRules(timeRules(request)))
  checkHeldSections(sections, request.tenant_id, examined)
  checkRequest(sections, { ...envelope, tenant_id: request.tenant_id }, examined)
  const run = { outcome_kind: "pepg_deny", route_id: envelope.route_id, tenant_id: request.tenant_id } as const
  checkPolicyDecision({ bundle: { sections, run }, entry, known, findings })
  findings.fail("decision", ...brokenRules(requestRules(request)))
  findings.fail("leaf", ...brokenRules(leafRules(request)))
  checkAnchor({ leaf, entry }, { leaf, clock: envelope.admission_clock }, examination)
  findings.fail("inclusion", ...brokenRules(chainRules(leaf, entry)))
  const withheld = withheldOf(request)
  return conclude(examination, {
    document: "approval_request",
    good: VERDICTS.approval_request,
    passed: passedRequest(request, withheld),
    clock: envelope.admission_clock,
    facts: requestFacts(request),
    withheld,
    limitations: [
      limitation("operator_log"),
      limitation("declared_content"),
      ...(sections.end_user === undefined ? [] : [limitation("stated_end_user")]),
      limitation("open_request"),
      limitation("software_attestation"),
      ...(withheld.length > 0 ? [limitation("withheld_section")] : []),
    ],
    anchors: anchorsOf(request),
  })
}

const withheldOf = ({ sections }: ApprovalRequest) =>
  WITHHOLDABLE_NAMES.filter(name => name !== "closing" && name !== "approvals" && "withheld" in (sections[name] ?? {}))

/** The terms are whole seconds within the bounds of a request, and it ends when the shortest time of the rules is over. */
function timeRules({
  sections,
  expires_at,
  valid_for_seconds,
  close_within_seconds,
}: ApprovalRequest): readonly Rule[] {
  const { envelope, policy_evaluation } = sections
  const shortest = Math.min(...(policy_evaluation.needed ?? []).map(({ within_seconds }) => within_seconds))
  const time = ((clockMillis(expires_at) ?? 0) - (clockMillis(envelope.admission_clock) ?? 0)) / 1000
  return [
    [
      valid_for_seconds >= 1 && valid_for_seconds <= REDEEMED_VALID_SECONDS_MAX,
      "the permit is asked for a time that no request can ask for",
    ],
    [
      close_within_seconds >= CLOSE_SECONDS_MIN && close_within_seconds <= CLOSE_SECONDS_MAX,
      "the run is to be closed in a time that no request can ask for",
    ],
    [time === shortest, "the request ends at another time than that of its rules"],
  ]
}

/** What every request is: left to persons by the policy, under the terms that it was given, and before its act. */
function requestRules({ approval_id, sections, ...terms }: ApprovalRequest): readonly Rule[] {
  const { envelope, payload, request_substance, policy_evaluation, end_user } = sections
  const { audience, redeem_required, valid_for_seconds, tokens } = policy_evaluation.facts
  const needed = policy_evaluation.needed ?? []
  return [
    [approval_id === approvalId(envelope.hash), "the request is of another envelope"],
    [
      audience === terms.audience && redeem_required === true && valid_for_seconds === terms.valid_for_seconds,
      "the policy was given other terms than those of the request",
    ],
    [tokens === terms.reserve_tokens, "the policy was given other tokens than the permit is to reserve"],
    [policy_evaluation.decision_reason_code === "APPROVAL_REQUIRED", "the policy does not leave the act to persons"],
    [
      end_user !== undefined || needed.every(rule => rule.end_user === "optional"),
      "a rule requires an end user, and the request has none",
    ],
    [envelope.enforcement === undefined, "what is only observed asks for no approval"],
    [payload.ai_output_hash === undefined, "there is an AI output before the act"],
    [
      member(shown(request_substance)?.declared, "cost") === undefined,
      "the request declares the cost of an act that it precedes",
    ],
  ]
}

/** The leaf is this request's, of this tenant. */
function leafRules(request: ApprovalRequest): readonly Rule[] {
  const { leaf, request_hash, approval_id } = request
  return [
    [APPROVAL_REQUEST_FORM.hash(request) === request_hash, "the request does not match its hash"],
    [leaf.request_hash === request_hash, "the anchored leaf names another request"],
    [leaf.approval_id === approval_id, "the anchored leaf names another approval"],
    tenantRule(request, leaf),
  ]
}

const passedRequest = ({ entry, sections }: ApprovalRequest, withheld: readonly string[]): PassedChecks => {
  const count = Object.keys(sections).length
  return {
    shape: "kinds, fields and times of the request are as they must be",
    sections:
      withheld.length === 0
        ? `${count} sections match their hashes and each other`
        : { id: "sections", result: "withheld", message: `${count} sections match; withheld: ${withheld.join(", ")}` },
    decision: "the policy leaves the act to persons, and says whose approval it requires",
    leaf: "request, approval and tenant are those of the anchored leaf",
    ...passedEntry(entry),
    log_time: "logged within 600 s of the request's clock",
  }
}

function anchorsOf({ leaf, entry }: ApprovalRequest): readonly SlottedAnchor[] {
  return [{ slot: "approval_request", anchor: { leaf, entry } }]
}

function requestFacts({ sections, tenant_id }: ApprovalRequest): RecordFacts {
  const { envelope, payload, policy_evaluation } = sections
  const { program_id, route_id } = envelope
  const { policy_hash } = policy_evaluation
  return runFacts({ tenant_id, program_id, route_id, policy_hash, payload_hash: payload.payload_hash })
}

function evidenceOf({ sections, leaf, entry, ...request }: ApprovalRequest): readonly EvidenceLine[] {
  const { envelope, payload, policy_evaluation } = sections
  return [
    ...line("approval", request.approval_id),
    ...line("requested_at", envelope.admission_clock),
    ...line("expires_at", request.expires_at),
    ...(policy_evaluation.needed ?? []).flatMap(({ rule_id, by, count }) =>
      line("required", `${count} of ${by.join(" or ")}, by rule ${rule_id}`),
    ),
    ...line("audience", request.audience),
    ...line("tenant", request.tenant_id),
    ...line("program", envelope.program_id),
    ...line("route", envelope.route_id),
    ...line("region", envelope.execution_region),
    ...line("payload_hash", payload.payload_hash),
    ...endUserLines(sections),
    ...actLines(sections),
    ...line("reserve_tokens", request.reserve_tokens),
    ...line("declared_sections", declaredStates(sections)),
    ...line("log_entry", entry.logIndex),
    ...line("tenant_ordinal", leaf.tenant_ordinal),
    ...line("request_hash", request.request_hash),
  ]
}
