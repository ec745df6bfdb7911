/** Gate PEPG: signature scan, then policy. A deny stops the run before any kernel, and so does a match unless the scan only observes. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import type { ActTable } from "@runseal/core/act/act-table"
import type { ActSection } from "@runseal/core/artifacts/act-section"
import {
  type ContentName,
  DECLARED_NAMES,
  type DeclaredSection,
  isShown,
  type ShownDeclared,
} from "@runseal/core/artifacts/declared-sections"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { AllowToken, McdFinding } from "@runseal/core/artifacts/sealed-artifacts"
import type { Sections } from "@runseal/core/artifacts/sections"
import type { PepgDecision } from "@runseal/core/formulas/decision"
import {
  allowToken,
  declaredTextFingerprint,
  denyReceipt,
  mcdFinding,
  policyEvaluationSection,
} from "@runseal/core/formulas/decision"
import type { DecidedRun, Moment } from "@runseal/core/formulas/moment"
import { actSection } from "@runseal/core/formulas/pre-execution"
import type { Seal, Unsealed } from "@runseal/core/formulas/seal"
import { MCD_REASON_CODE } from "@runseal/core/vocabulary/decision-codes"
import { placePointer } from "@runseal/core/vocabulary/declared-places"
import type { Submission } from "@runseal/core/wire/submission"
import { type DecidedSections, type DecisionFacts, decide } from "@runseal/policy/decide"
import type { CompiledPolicy } from "@runseal/policy/load-policy"
import type { PayloadFacts, ReadPayload } from "../../policy/payload-facts.ts"
import type { Scan, ScanText } from "../../policy/scan.ts"
import { declaredTexts } from "../../policy/scan.ts"
import type { SignatureLibrary } from "../../policy/signature-library.ts"
import type { BaseSections, Decided, Stop } from "../draft.ts"
import type { AskedPermit } from "../permits/permit-terms.ts"

export type PepgContext = {
  readonly policy: CompiledPolicy
  readonly library: SignatureLibrary
  /** Searches texts for the library's signatures. */
  readonly scan: Scan
  /** Reads what rules see of a payload. */
  readonly readPayload: ReadPayload
  readonly region: string
  /** Bound on the declared strings scanned: the largest body the server accepts. */
  readonly max_scan_units: number
}

export type PepgPass = {
  /** The finding is one that was observed. */
  readonly sections: Pick<Sections, "act" | "mcd_finding"> & Required<Pick<Sections, "policy_evaluation">>
  readonly allow_token: AllowToken
}
export type PepgResult = { readonly pass: PepgPass } | { readonly stop: Stop }

/** A text that is scanned, and how a finding names and fingerprints it. */
export type ScannedText = ScanText & { readonly found: () => Pick<McdFinding, "matched_in" | "text_fingerprint"> }

const whole = (matched_in: string, text: string): ScannedText => ({
  location: matched_in,
  text,
  found: () => ({ matched_in, text_fingerprint: sha256Hex(text) }),
})

const outputText = ({ ai_output_text: output }: Pick<Decided, "ai_output_text">, { policy }: PepgContext) =>
  policy.signature_scan.scope.includes("ai_output") && output !== undefined ? [whole("ai_output", output)] : []

/** Every string of a declared section, as a finding names it: with the section's salt. */
const sectionTexts = (
  name: ContentName,
  content: JsonObject | undefined,
  section: DeclaredSection,
  context: PepgContext,
): readonly ScannedText[] => {
  if (content === undefined || !isShown(section)) return []
  return declaredTexts(name, content, context.max_scan_units).map(({ location, text, place }) => ({
    location,
    text,
    found: () => ({
      matched_in: placePointer(place),
      text_fingerprint: declaredTextFingerprint(section.salt, text),
    }),
  }))
}

/** The texts of a request that the policy has scanned. */
export function requestTexts(submission: Submission, base: BaseSections, context: PepgContext): readonly ScannedText[] {
  const { payload, route_id, declared } = submission
  const { scope } = context.policy.signature_scan
  const inSections = DECLARED_NAMES.flatMap(name => sectionTexts(name, declared[name], base[name], context))
  return [
    ...(scope.includes("payload") ? [whole("payload", payload)] : []),
    ...outputText(submission, context),
    ...(scope.includes("declared") ? [whole("/route_id", route_id), ...inSections] : []),
  ]
}

/** The texts that a close adds: those of its opening were scanned at the opening. */
export function closingTexts(
  run: Pick<Decided, "ai_output_text">,
  closing: ShownDeclared,
  context: PepgContext,
): readonly ScannedText[] {
  const { scope } = context.policy.signature_scan
  return [
    ...outputText(run, context),
    ...(scope.includes("declared") ? sectionTexts("closing", closing.declared, closing, context) : []),
  ]
}

async function find(
  run: DecidedRun,
  texts: readonly ScannedText[],
  context: PepgContext,
): Promise<Unsealed<McdFinding> | undefined> {
  const match = await context.scan(texts, context.policy.signature_scan.disabled)
  const found = match && texts[match.index]?.found()
  if (match === undefined || found === undefined) return undefined
  return mcdFinding(run, {
    category: match.category,
    severity: match.severity,
    library_hash: context.library.library_hash,
    matched_signature_id: match.signature_id,
    ...found,
  })
}

const matched = (finding: McdFinding): PepgDecision => ({
  decision: "deny",
  fired_rule_id: finding.matched_signature_id,
  decision_reason_code: MCD_REASON_CODE,
  matched_rule_ids: [],
})

/** What a run is decided on beside its other sections. */
type Grounds = { readonly act?: ActSection; readonly facts: DecisionFacts }

/** The terms of a permit, as rules read them. */
const termsOf = ({ audience, redeem_required, valid_for_seconds }: AskedPermit) => ({
  audience,
  redeem_required,
  valid_for_seconds,
})

/** What rules see of a payload, as a policy asks for it; undefined where no rule sees anything. */
export const payloadAsked = (
  { readerOf, reads }: CompiledPolicy,
  route_id: string,
): { readonly table: ActTable | undefined } | undefined => {
  const table = readerOf(route_id)?.table
  return table === undefined && !reads.has(PAYLOAD_IS_JSON) ? undefined : { table }
}
const PAYLOAD_IS_JSON = "verified.payload_is_json"

/**
 * What a request is decided on.
 * @param asked present exactly for the opening of a permit
 * @param seen what `payloadAsked` asked for
 */
export function requestGrounds(
  { route_id, declared_tokens }: Pick<Submission, "route_id" | "declared_tokens">,
  { asked, seen }: { readonly asked?: AskedPermit | undefined; readonly seen: PayloadFacts | undefined },
  moment: Pick<Moment, "seed">,
  policy: CompiledPolicy,
  seal: Seal,
): Grounds {
  const table = policy.readerOf(route_id)?.table
  return {
    ...(table === undefined || seen?.act === undefined ? {} : { act: seal(actSection(moment, table.name, seen.act)) }),
    facts: {
      tokens: asked?.reserve_tokens ?? declared_tokens,
      ...(seen !== undefined && policy.reads.has(PAYLOAD_IS_JSON) ? { payload_is_json: seen.payload_is_json } : {}),
      ...(asked && termsOf(asked)),
    },
  }
}

/** What a close is decided on: as its opening was, but for the tokens that were used. */
export const closingGrounds = ({ sections }: Pick<Opening, "sections">, tokens: number): Grounds => ({
  ...(sections.act === undefined ? {} : { act: sections.act }),
  facts: { ...sections.policy_evaluation.facts, tokens },
})

/** @param texts that are searched for signatures */
export async function pepgGate(
  run: DecidedRun,
  sections: Omit<DecidedSections, "envelope" | "act">,
  { act, facts }: Grounds,
  texts: readonly ScannedText[],
  context: PepgContext,
  seal: Seal,
): Promise<PepgResult> {
  const { policy, library } = context
  const found = await find(run, texts, context)
  const finding = found && seal(found)
  const acted = act === undefined ? {} : { act }
  const { decision, context_hash }: { readonly decision: PepgDecision; readonly context_hash?: string } =
    finding === undefined || policy.signature_scan.mode === "observe"
      ? decide(policy, { ...sections, ...acted, envelope: run.envelope }, facts)
      : { decision: matched(finding) }
  const grounds = { library_hash: library.library_hash, finding, act, facts, context_hash }
  const evaluation = seal(policyEvaluationSection(run, policy, decision, grounds))
  const made = { ...acted, policy_evaluation: evaluation, ...(finding === undefined ? {} : { mcd_finding: finding }) }
  if (decision.decision === "allow") return { pass: { sections: made, allow_token: seal(allowToken(evaluation)) } }
  const receipt = seal(denyReceipt(evaluation, finding))
  return { stop: { outcome: "pepg_deny", key: "deny_receipt", receipt, sections: made } }
}
