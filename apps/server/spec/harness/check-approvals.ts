/** Every request for an approval: its document verifies, and it has ended once, in the permit or the run that its row names. */
import type { ApprovalRequest } from "@runseal/core/artifacts/approval-request"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { VERDICTS } from "@runseal/core/verify/report"
import { expect } from "vitest"
import { type Auditor, referenceDigest } from "./auditor.ts"
import type { SealedPermits } from "./check-permits.ts"
import type { Tables } from "./read-tables.ts"

/** Judges the documents of requests, and gives them. */
export function judgeRequests(
  { judge, checkEntry }: Auditor,
  { requests }: Pick<Tables, "requests">,
): readonly ApprovalRequest[] {
  return requests.map(row => {
    judge(row.document, VERDICTS.approval_request, `request ${row.approval_id}`)
    const request: ApprovalRequest = JSON.parse(row.document)
    checkEntry(request)
    expect(row).toMatchObject({
      approval_id: request.approval_id,
      request_hash: request.request_hash,
      audience: request.audience,
      requested_at: Date.parse(request.sections.envelope.admission_clock),
      expires_at: Date.parse(request.expires_at),
      chain_ordinal: request.leaf.tenant_ordinal,
      leaf_digest: referenceDigest(request.leaf),
      log_index: Number(request.entry.logIndex),
    })
    return request
  })
}

/** Each request is ended by as many openings and runs as its row says: one or none. No payload is stored of one that ended. */
export function checkRequests(
  { requests }: Pick<Tables, "requests">,
  bundles: readonly Bundle[],
  { openings }: Pick<SealedPermits, "openings">,
): void {
  const ended = [
    ...openings.flatMap(({ permit_id, sections }) =>
      endOf(sections.policy_evaluation.approval_request_hash, permit_id),
    ),
    ...bundles.flatMap(({ run, sections }) =>
      sections.permit === undefined ? endOf(sections.policy_evaluation?.approval_request_hash, `${run.run_id}`) : [],
    ),
  ]
  const rows = requests.flatMap(row => {
    expect(row.ended_at > 0).toBe(row.permit_id !== "" || row.run_id > 0)
    if (row.ended_at > 0) expect(row.payload.length).toBe(0)
    return row.ended_at === 0 ? [] : endOf(row.request_hash, row.permit_id === "" ? `${row.run_id}` : row.permit_id)
  })
  expect(ended.toSorted()).toEqual(rows.toSorted())
}

const endOf = (request_hash: string | undefined, cameTo: string): readonly string[] =>
  request_hash === undefined ? [] : [`${request_hash} ${cameTo}`]
