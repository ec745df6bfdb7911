/** Lists of requests for an approval: those of a key that asks, and those that the persons of some groups may decide on. */
import type { ApprovalState } from "@runseal/core/wire/approval-answers"
import type { Source } from "../driver/session.ts"
import type { ApprovalRow, FoundApproval } from "./approvals-table.ts"
import { unpackBundle } from "./bundle-text.ts"

/** Whose list it is: a key's own requests, or those with a rule that names one of these groups. */
export type ApprovalViewer = { readonly owner: number } | { readonly groups: readonly string[] }

export type ApprovalPage = {
  readonly limit: number
  /** The last request of the page before; absent: from the newest on. */
  readonly before?: Pick<ApprovalRow, "requested_at" | "approval_id"> | undefined
}

/** What a list shows of a request, but for what people decided. */
export type ListedApproval = Omit<ApprovalRow, "payload" | "payload_key_day" | "seed" | "act_digest"> &
  Pick<FoundApproval, "asked_by" | "request">

const COLUMNS = `approval_id, owner, tenant_id, log_index, state, requested_at, expires_at, request_hash, program_id, route_id, audience,
  end_user_subject, end_user_issuer, needed, groups, decisions, permit_id, run_id, ended_at,
  (select packed from document where document.log_index = approval.log_index) as packed,
  coalesce((select name from api_key where key_id = approval.owner), '') as asked_by`

/** The next requests, newest first. @param state only these; absent: all */
export function listApprovals(
  source: Source,
  viewer: ApprovalViewer,
  state: ApprovalState | undefined,
  { limit, before }: ApprovalPage,
): Promise<readonly ListedApproval[]> {
  const own =
    "owner" in viewer
      ? "owner = $1::bigint"
      : `exists (select from json_array_elements_text(groups::json) as named(name)
          where name = any(array(select json_array_elements_text($1::text::json))))`
  const text = `select ${COLUMNS} from approval
    where ${own} and ($2::text = '' or state = $2::text)
      and ($3::bigint < 0 or (requested_at, approval_id) < ($3::bigint, $4::text))
    order by requested_at desc, approval_id desc limit $5::bigint`
  const values = [
    "owner" in viewer ? viewer.owner : JSON.stringify(viewer.groups),
    state ?? "",
    before?.requested_at ?? -1,
    before?.approval_id ?? "",
    limit,
  ]
  return source.read(async ({ sql }) => {
    const rows = await sql.unsafe<(Omit<ListedApproval, "request"> & { readonly packed: Uint8Array })[]>(text, values)
    return rows.map(({ packed, ...row }) => ({ ...row, request: unpackBundle(packed) }))
  })
}
