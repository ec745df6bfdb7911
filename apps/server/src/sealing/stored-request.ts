/** A request for an approval as the database has it: what was changed there is not acted on, and not shown. */
import { parseStrictJson } from "@runseal/canonical"
import { type ApprovalRequest, approvalRequestSchema } from "@runseal/core/artifacts/approval-request"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { APPROVAL_REQUEST } from "@runseal/core/verify/verify-approval-request"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { unavailable } from "../http-error.ts"
import type { FoundApproval } from "../store/tables/approvals-table.ts"

/** The sealed document of a request. @throws HttpError 503 where the database has another one than was sealed */
export function storedRequest(
  { approval_id, request_hash, request }: FoundApproval,
  trust: TrustedKeys,
): ApprovalRequest {
  const value = parseStrictJson(request)
  const stored = parseExact(approvalRequestSchema, value)
  const read = APPROVAL_REQUEST.read(Object(value))
  const isSealed = !("unreadable" in read) && read.verify([trust]).verdict === APPROVAL_REQUEST.verdict
  if (!stored.ok || !isSealed || stored.value.request_hash !== request_hash || stored.value.approval_id !== approval_id)
    throw unavailable("The stored request is not the one that was sealed: its operator has to find out why.")
  return stored.value
}
