/** Decisions that passkeys signed: whether each signed this act, and which of them keys that a reader trusts prove. docs/formats.md section 2.8. */
import { checkpointOrigin, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import type { ApprovalRequest } from "../artifacts/approval-request.ts"
import type { ApprovalDecision, GivenApprovals } from "../artifacts/approvals.ts"
import { shownApprovals } from "../artifacts/approvals.ts"
import type { ApproverKey } from "../artifacts/passkey.ts"
import type { Sections } from "../artifacts/sections.ts"
import { decisionDigest, type SignedDecision } from "../formulas/signed-decision.ts"
import { assertionProblem } from "./assertion.ts"

/** An act, as the one who is to act knows it. */
export type DecidedAct = Pick<
  SignedDecision,
  "log_origin" | "tenant_id" | "audience" | "program_id" | "route_id" | "payload_hash" | "valid_for_seconds"
>
/** The request that was decided on. */
type DecidedRequest = Pick<GivenApprovals, "request_hash" | "expires_at">
/** What a passkey signs of a decision, and its signature. */
type SignedPart = Pick<ApprovalDecision, "decision" | "person" | "comment_hash" | "passkey">

/** What is wrong with the signature of a decision on this act, as the end of a sentence; undefined where its passkey made it, and without a passkey. */
function passkeyProblem(
  { decision, person, comment_hash, passkey }: SignedPart,
  { request_hash, expires_at }: DecidedRequest,
  act: DecidedAct,
): string | undefined {
  const { issuer = "", subject } = person
  return (
    passkey &&
    assertionProblem(
      passkey,
      decisionDigest({ ...act, request_hash, expires_at, decision, issuer, subject, comment_hash }),
    )
  )
}

/** Whose a document is, and in which log. */
export type DecidedIn = {
  readonly tenant_id: string
  /** An entry of the document in the log of its service; undefined where it is in none. */
  readonly entry: TransparencyLogEntry | undefined
}

/** The act that a record, an opening or a refused run is of; undefined for one that no policy judged, or that is in no log. */
export function decidedAct(
  { envelope, policy_evaluation: evaluation }: Sections,
  { tenant_id, entry }: DecidedIn,
): DecidedAct | undefined {
  if (envelope === undefined || evaluation === undefined || entry === undefined) return undefined
  const { program_id, route_id, payload_hash } = envelope
  const { audience = "", valid_for_seconds = 0 } = evaluation.facts
  const log_origin = checkpointOrigin(entry)
  return { log_origin, tenant_id, audience, program_id, route_id, payload_hash, valid_for_seconds }
}

/** The act that a request asks for: that of the opening that ends it. */
export function requestedAct({ sections, tenant_id, audience, valid_for_seconds, entry }: ApprovalRequest): DecidedAct {
  const { program_id, route_id, payload_hash } = sections.envelope
  const log_origin = checkpointOrigin(entry)
  return { log_origin, tenant_id, audience, program_id, route_id, payload_hash, valid_for_seconds }
}

/** What a report says of a record in no log. A passkey signs the name of a log, so its signature cannot be checked there. */
export const UNCHECKED_PASSKEYS =
  "the signatures of passkeys were not checked, since each names the log of the service and this record is in none"

/** Whether persons signed what was decided with passkeys. */
export const hasPasskeys = ({ decisions }: Pick<GivenApprovals, "decisions">): boolean =>
  decisions.some(({ passkey }) => passkey !== undefined)

/** What is wrong with signatures of shown approvals: sentences. */
export function passkeyProblems(sections: Sections, place: DecidedIn): readonly string[] {
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  const act = decidedAct(sections, place)
  if (approvals === undefined || act === undefined) return []
  return approvals.decisions.flatMap((decision, at) => {
    const problem = passkeyProblem(decision, approvals, act)
    return problem === undefined ? [] : [`the passkey of person ${at + 1} ${problem}`]
  })
}

/**
 * The decisions on this act, rejections too, that are signed with one of these keys, each by the person whose key it is. Who trusts the keys needs
 * no word of the service for them.
 */
export const provenDecisions = <Decision extends SignedPart>(
  approvals: DecidedRequest & { readonly decisions: readonly Decision[] },
  act: DecidedAct,
  keys: readonly ApproverKey[],
): readonly Decision[] =>
  approvals.decisions.filter(
    each => keys.some(key => isKeyOf(key, each)) && passkeyProblem(each, approvals, act) === undefined,
  )

const isKeyOf = ({ issuer, subject, ...key }: ApproverKey, { person, passkey }: SignedPart): boolean =>
  passkey !== undefined &&
  person.issuer === issuer &&
  person.subject === subject &&
  passkey.public_key === key.public_key &&
  passkey.origin === key.origin &&
  passkey.rp_id === key.rp_id
