/** The facts that a record states of its run. The report's verdict says whether they can be relied on. */
import { isSha256Hex } from "@runseal/canonical"
import { type GivenApprovals, shownApprovals } from "../artifacts/approvals.ts"
import { type Bundle, receiptOf } from "../artifacts/bundle-schema.ts"
import { causeOf, type ExplainedSections, explainReceipt } from "../artifacts/explanation.ts"
import type { EndReason } from "../artifacts/permit-end.ts"
import type { ActFailureCode, ActOutcome } from "../artifacts/permit-sections.ts"
import type { Receipt } from "../artifacts/sealed-artifacts.ts"
import { declaredView } from "../derivation/v2/declared-view.ts"
import { member, textMember } from "../vocabulary/json-members.ts"
import type { Enforcement } from "../vocabulary/scalars.ts"
import { refusalBeforeFailure } from "./stage-error.ts"

/** Absent: the document does not state it. */
export type RecordFacts = {
  /** Why the run did not complete, as a phrase. */
  readonly cause?: string
  /** Present exactly when the decisions were observed and not enforced. */
  readonly enforcement?: Enforcement
  readonly tenant_id?: string
  readonly program_id?: string
  readonly route_id?: string
  readonly policy_hash?: string
  readonly payload_hash?: string
  readonly ai_output_hash?: string
  /** Of an output that the service never had: the SHA-256 that the caller declared. */
  readonly declared_output_hash?: string
  /** Of an opening, and of the run that closes one. */
  readonly permit?: PermitFacts
  /** Of what ended a request for an approval, and of the run that closes a permit which one was given for. */
  readonly approvals?: GivenApprovals
  /** Of an end of permits. */
  readonly ended?: EndFacts
  /** Of an admin event. */
  readonly event?: AdminFacts
}

/** What a document states of a permit. */
export type PermitFacts = {
  readonly permit_id: string
  readonly permitted_at: string
  /** Log index of the opening, decimal. */
  readonly log_index: string
  readonly reserved_tokens: number
  /** Of an opening: who is to act, and until when. */
  readonly audience?: string
  readonly expires_at?: string
  readonly close_by?: string
  /** Of a close: what became of the act. */
  readonly outcome?: ActOutcome
  readonly code?: ActFailureCode
  readonly redeemed_at?: string
  readonly closed_at?: string
  readonly used_tokens?: number
}

/** What an end states of its permits. */
export type EndFacts = {
  readonly reason: EndReason
  readonly permits: number
  /** Of permits that were not redeemed. */
  readonly released_tokens: number
  /** Permits that were redeemed: their acts were started, and nobody reported them. */
  readonly redeemed: number
  /** Of those. */
  readonly charged_tokens: number
}

/** What an admin event states. */
export type AdminFacts = {
  readonly actor: string
  readonly name?: string
  /** The identity provider of a person that acted, and whom it names so. */
  readonly issuer?: string
  readonly person?: string
  readonly action: string
  /** `key 3`, `run 17`. */
  readonly subject: string
  readonly done_at: string
}

/** What the record of a close states of its permit; undefined for any other. */
function closeFacts({ sections: { permit, envelope, budget_snapshot } }: Bundle): PermitFacts | undefined {
  if (permit === undefined || envelope === undefined) return undefined
  const { permit_id, opening_log_index: log_index, outcome, code, redemption, closed_clock: closed_at } = permit
  const { reserved: reserved_tokens = 0, tokens: used_tokens = 0 } = budget_snapshot?.window ?? {}
  return {
    permit_id,
    permitted_at: envelope.admission_clock,
    log_index,
    reserved_tokens,
    outcome,
    ...(code === undefined ? {} : { code }),
    ...(redemption === undefined ? {} : { redeemed_at: redemption.redeemed_clock }),
    closed_at,
    used_tokens,
  }
}

/** The facts of a bundle. */
export function bundleFacts(bundle: Bundle): RecordFacts {
  const { run, sections } = bundle
  const receipt = receiptOf(bundle)?.receipt
  const { tenant_id, program_id, route_id } = run
  const { payload_hash, ai_output_hash } = sections.payload
  const policy_hash = sections.policy_evaluation?.policy_hash
  const declared_output_hash = declaredOutputHash(sections)
  const permit = closeFacts(bundle)
  return {
    ...(receipt === undefined ? {} : receiptFacts(receipt, sections)),
    ...(run.outcome_kind === "stage_error" ? { cause: failureCause(bundle) } : {}),
    ...enforcementOf(sections.envelope),
    ...runFacts({ tenant_id, program_id, route_id, policy_hash, payload_hash, ai_output_hash }),
    ...(declared_output_hash === undefined ? {} : { declared_output_hash }),
    ...(permit === undefined ? {} : { permit }),
    ...approvalFacts(sections),
  }
}

/** What persons decided, where that is shown. */
export function approvalFacts({
  approvals: section,
}: Pick<Bundle["sections"], "approvals">): Pick<RecordFacts, "approvals"> {
  const shown = section && shownApprovals(section)
  if (shown === undefined) return {}
  const { kind: _kind, salt: _salt, hash: _hash, ...approvals } = shown
  return { approvals }
}

/**
 * SHA-256 of an output that the service never had, as the caller declared it in `request_substance.output.hash`; undefined where the
 * service had the output, where none was declared, and where a section that could declare it is withheld.
 */
export function declaredOutputHash(sections: Bundle["sections"]): string | undefined {
  const hash = unseenOutput(sections)
  return hash !== undefined && isSha256Hex(hash) ? hash : undefined
}

/** As `declaredOutputHash`, also a text that is no SHA-256. */
const unseenOutput = (sections: Bundle["sections"]): string | undefined =>
  sections.payload.ai_output_hash === undefined
    ? textMember(member(declaredView(sections, "request_substance")?.declared, "output"), "hash")
    : undefined

/** Whether the caller declared an output that the service never had. Where the declaration is withheld, kernel AIVP says so. */
export const isOutputUnseen = (sections: Bundle["sections"]): boolean =>
  unseenOutput(sections) !== undefined ||
  (sections.efa?.kernels ?? []).some(({ findings }) => findings.some(({ code }) => code === "AI_OUTPUT_HASH_UNCHECKED"))

type FactsOfRun = Required<Pick<RecordFacts, "tenant_id" | "program_id" | "route_id" | "payload_hash">> & {
  readonly policy_hash?: string | undefined
  readonly ai_output_hash?: string | undefined
}

/** Members that every document of a run states. */
export const runFacts = ({
  tenant_id,
  program_id,
  route_id,
  policy_hash,
  payload_hash,
  ai_output_hash,
}: FactsOfRun) => ({
  tenant_id,
  program_id,
  route_id,
  ...(policy_hash === undefined ? {} : { policy_hash }),
  payload_hash,
  ...(ai_output_hash === undefined ? {} : { ai_output_hash }),
})

/** The mark of an observed run, as a member; none of an enforced one. */
export const enforcementOf = ({
  enforcement,
}: {
  readonly enforcement?: Enforcement
} = {}): Pick<RecordFacts, "enforcement"> => (enforcement === undefined ? {} : { enforcement })

const failureCause = (bundle: Bundle): string => refusalBeforeFailure(bundle) ?? `stage ${bundle.run.error_stage}`

/** The facts of a receipt. @param sections of its bundle; none without it */
export function receiptFacts(receipt: Receipt, sections?: ExplainedSections): RecordFacts {
  const cause = causeOf(receipt, explainReceipt(receipt, sections))
  switch (receipt.version) {
    case "vfa.deny_receipt.v1":
    case "vfa.attestation_gap_receipt.v1":
      return { cause, policy_hash: receipt.policy_hash }
    case "vfa.macc_halt.v1":
      return { cause, tenant_id: receipt.tenant_id }
    case "vfa.aivp_t4_halt.v1":
      return { cause, ai_output_hash: receipt.ai_output_hash }
    case "vfa.ccv_halt.v1":
      return { cause }
  }
}
