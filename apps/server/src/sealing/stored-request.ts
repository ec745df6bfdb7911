/** A request for an approval as the database has it: what was changed there is not acted on, and not shown. */
import { parseStrictJson } from "@runseal/canonical"
import { type ApprovalRequest, approvalRequestSchema } from "@runseal/core/artifacts/approval-request"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { APPROVAL_REQUEST } from "@runseal/core/verify/verify-approval-request"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { HttpError } from "../http-error.ts"
import type { FoundApproval } from "../store/tables/approvals-table.ts"

/** The sealed document of a request. @throws HttpError 409 where the database has another one than was sealed, or columns of another */
export function storedRequest(found: FoundApproval, trust: TrustedKeys): ApprovalRequest {
  const value = parseStrictJson(found.request)
  const stored = parseExact(approvalRequestSchema, value)
  const read = APPROVAL_REQUEST.read(Object(value))
  const isSealed = !("unreadable" in read) && read.verify([trust]).verdict === APPROVAL_REQUEST.verdict
  if (!stored.ok || !isSealed || !isRowOf(found, stored.value))
    throw new HttpError(
      "approval_over",
      "The stored request is not the one that was sealed, so nothing can be decided or collected: its operator has to find out why.",
    )
  return stored.value
}

/** Whether what lists show and decisions are judged by is what the document has. */
function isRowOf(row: FoundApproval, request: ApprovalRequest): boolean {
  const { envelope, policy_evaluation, end_user } = request.sections
  const person = end_user && shownEndUser(end_user)
  const sealed = {
    approval_id: request.approval_id,
    request_hash: request.request_hash,
    tenant_id: request.tenant_id,
    audience: request.audience,
    program_id: envelope.program_id,
    route_id: envelope.route_id,
    requested_at: Date.parse(envelope.admission_clock),
    expires_at: Date.parse(request.expires_at),
    end_user_subject: person?.subject ?? "",
    end_user_issuer: person?.issuer ?? "",
    needed: JSON.stringify(policy_evaluation.needed ?? []),
  }
  return Object.entries(sealed).every(([name, sealedValue]) => Object(row)[name] === sealedValue)
}
