/** The form with which a person decides on a request for an approval, with a passkey or without. */
import { encodeBase64, utf8Encode } from "@runseal/canonical"
import { requestedAct } from "@runseal/core/verify/signed-approvals"
import { meetsProof } from "@runseal/core/vocabulary/approvals-satisfy"
import { type ApprovalRecord, approvalPage } from "@runseal/core/wire/approval-answers"
import { COMMENT_MAX_LENGTH } from "@runseal/core/wire/approval-requests"
import type { PasskeySummary } from "@runseal/core/wire/passkey-messages"
import { isOpen, ownDecision } from "../parts/approval-pieces.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { formTokens, notice } from "../parts/pieces.ts"
import type { Visit } from "../visit.ts"
import { countingPasskeys, PASSKEYS_PATH } from "./passkeys-page.ts"

/** With what the visitor can approve, as far as the rules and the own decision say. */
type Ways = {
  readonly plain: boolean
  /** Passkeys of the visitor that count. */
  readonly passkeys: readonly PasskeySummary[]
  /** A rule asks for a passkey, and the visitor has none that counts. */
  readonly lacksPasskey: boolean
}

const NO_WAY: Ways = { plain: false, passkeys: [], lacksPasskey: false }

async function waysOf(visit: Visit, record: ApprovalRecord): Promise<Ways> {
  const { person } = visit.session
  const own = ownDecision(record, visit.session)
  if (record.state !== "waiting" || own?.proof === "passkey") return NO_WAY
  if (person === undefined) return { ...NO_WAY, plain: own === undefined }
  const rules = record.needed.filter(({ by }) => by.some(group => person.groups.includes(group)))
  const passkeys = await countingPasskeys(visit)
  return {
    // A sign-in takes the place of what a key of the same person approved, and a passkey that of a sign-in.
    plain: own?.proof !== "idp" && (rules.length === 0 || rules.some(({ proof }) => meetsProof("idp", proof))),
    passkeys,
    lacksPasskey: passkeys.length === 0 && rules.some(({ proof }) => proof === "passkey"),
  }
}

export async function decideCard(visit: Visit, record: ApprovalRecord): Promise<Markup> {
  const { session } = visit
  const isApprover = session.scope === "approver" || session.person !== undefined
  if (!isApprover) return html``
  if (!isOpen(record)) return notice("warn", "This request is over: nothing can be decided any more.")
  const { approval_id, payload, request, request_digest, end_user } = record
  if (end_user !== undefined && end_user.subject === session.person?.subject)
    return notice("warn", "You are the end user of this request: others decide on it.")
  const { plain, passkeys, lacksPasskey } = await waysOf(visit, record)
  const mayApprove = plain || passkeys.length > 0
  const status =
    payload === undefined
      ? "Without its payload it cannot be approved here."
      : "Read the payload to its end, and Approve becomes active."
  return html`<section class="card deciding"><h2>Your decision</h2>
<form method="post" action="${approvalPage(approval_id)}" class="decide" autocomplete="off" data-hash="${request.sections.payload.payload_hash}" ${payload === undefined ? "" : html`data-payload="${encodeBase64(utf8Encode(payload))}"`}>
${formTokens(session.csrf_token)}<input type="hidden" name="request_digest" value="${request_digest}">
${ownText(visit, record)}${lacksPasskey ? LACKS_PASSKEY : ""}
<details class="comment"><summary>Add a comment</summary><label>Comment, for the others<textarea name="comment" rows="3" maxlength="${COMMENT_MAX_LENGTH}"></textarea></label></details>
${mayApprove ? html`<p id="approve-status" role="status">${status}</p>` : ""}
<p class="buttons">${passkeyButton(visit, record, passkeys)}${plain ? html`<button name="decision" value="approve" disabled>Approve</button>` : ""}<button name="decision" value="reject" class="danger">Reject</button></p>
<p class="quiet sealed">A rejection ends the request. Your decision is sealed with your name.</p>
</form></section>`
}

const LACKS_PASSKEY = notice(
  "warn",
  html`<p>A rule asks for a passkey of yours, and you have none that counts. <a href="${PASSKEYS_PATH}">Your passkeys</a></p>`,
)

function ownText({ session }: Visit, record: ApprovalRecord): Markup | "" {
  const own = ownDecision(record, session)
  if (own === undefined) return ""
  const stronger =
    session.person === undefined || own.proof === "passkey"
      ? ""
      : own.proof === "key"
        ? " with a key: approve it here if a rule wants a sign-in"
        : " with a sign-in: approve it with a passkey if a rule asks for one"
  return html`<p>You approved this${stronger}. Until the permit is given you can still reject it.</p>`
}

/** It holds what a passkey signs besides the hash of the payload, which the browser computes of what is shown. */
function passkeyButton(
  { session: { person } }: Visit,
  record: ApprovalRecord,
  passkeys: readonly PasskeySummary[],
): Markup | "" {
  const [first] = passkeys
  if (person === undefined || first === undefined) return ""
  const act = requestedAct(record.request)
  const members = [
    ["expires-at", record.request.expires_at],
    ["valid-for-seconds", `${act.valid_for_seconds}`],
    ["log-origin", act.log_origin],
    ["tenant-id", act.tenant_id],
    ["audience", act.audience],
    ["program-id", act.program_id],
    ["route-id", act.route_id],
    ["issuer", person.issuer],
    ["subject", person.subject],
    ["rp-id", first.rp_id],
    ["keys", passkeys.map(({ passkey_id, credential_id }) => `${passkey_id}:${credential_id}`).join(" ")],
  ] as const
  return html`<button name="decision" value="passkey" disabled ${members.map(([name, value]) => html`data-${name}="${verbatim(value)}" `)}>Approve with a passkey</button>`
}
