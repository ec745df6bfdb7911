/** Requests for an approval: who sees them, and who decides. docs/api.md, "Approvals". */
import { randomBytes } from "node:crypto"
import { approvalPlaceOf, approvalPlaceText } from "@runseal/api/queries"
import { canonicalize } from "@runseal/canonical"
import type { ApprovalRequest } from "@runseal/core/artifacts/approval-request"
import { commentHash } from "@runseal/core/formulas/moment"
import { decisionDigest } from "@runseal/core/formulas/signed-decision"
import { requestedAct } from "@runseal/core/verify/signed-approvals"
import { type ApprovalsPage, type DecidedApproval, REJECTIONS_DAYS } from "@runseal/core/wire/approval-answers"
import type { DecideApprovalRequest } from "@runseal/core/wire/approval-requests"
import { PAGE_LIMIT_DEFAULT } from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { badRequest, HttpError } from "../../http-error.ts"
import { storedRequest } from "../../sealing/stored-request.ts"
import {
  type Approver,
  decideApproval,
  deleteComments,
  groupsOf,
  type NewDecision,
  type Undecided,
} from "../../store/tables/approval-decisions.ts"
import { type ApprovalViewer, listApprovals } from "../../store/tables/approval-lists.ts"
import {
  approvedBefore,
  decisionsOf,
  type FoundApproval,
  findApproval,
  rejectedSince,
} from "../../store/tables/approvals-table.ts"
import { approverKeyOf, countsFor, findPasskey } from "../../store/tables/passkeys-table.ts"
import { type Caller, callerOf, sinceSignIn, whoOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchApproval, readApprovalId } from "../path-ids.ts"
import { approvalRecord, approvalSummary } from "./approval-views.ts"
import { passkeyNotCounted, receivedAssertion } from "./received-assertion.ts"

/** A person's groups count for so long after its sign-in, in milliseconds. */
const SIGNED_IN_MAX_MS = 15 * 60_000
const DAY_MS = 86_400_000
/** Of the salt of a comment. */
const SALT_BYTES = 32

/** The person that a caller is: signed in, or with the key of an approver; undefined for other keys. */
export function approverOf(caller: Caller): Approver | undefined {
  if (caller.person !== undefined) {
    const { display_name: name, issuer, subject, groups } = caller.person
    return { subject, issuer, name, key_name: "", proof: "idp", groups }
  }
  const key_name = caller.authentication.api_key_name ?? ""
  return caller.approver && { ...caller.approver, issuer: "", name: "", key_name, proof: "key" }
}

function viewerOf(caller: Caller): ApprovalViewer {
  const approver = approverOf(caller)
  if (approver !== undefined) return { groups: approver.groups }
  return { owner: caller.person === undefined ? caller.api_key_id : -1 }
}

function sees(viewer: ApprovalViewer, found: FoundApproval): boolean {
  if ("owner" in viewer) return viewer.owner === found.owner
  return groupsOf(found).some(group => viewer.groups.includes(group))
}

/** The request of the path. @throws HttpError 404 when there is none, also when the caller does not see it */
async function seenApproval(
  c: Context,
  { db, rememberStored }: Pick<Deps, "db" | "rememberStored">,
): Promise<FoundApproval> {
  const found = await findApproval(db, readApprovalId(c.req.param("id")))
  if (found !== undefined && sees(viewerOf(callerOf(c)), found)) return found
  await rememberStored()
  throw noSuchApproval()
}

/**
 * The salt of a comment's hash; "" without a comment. A passkey signs the hash, so that its browser made the salt.
 * @throws HttpError 400
 */
function saltOf({ comment, comment_salt, passkey }: DecideApprovalRequest): string {
  const isSigned = comment !== undefined && passkey !== undefined
  if (comment_salt !== undefined && !isSigned)
    throw badRequest("comment_salt is only beside comment and passkey: leave it out.")
  if (comment_salt === undefined && isSigned)
    throw badRequest("comment_salt is missing: a passkey signs the hash of the comment under it.")
  return comment_salt ?? (comment === undefined ? "" : randomBytes(SALT_BYTES).toString("hex"))
}

/**
 * What the person's passkey signed of this decision on the sealed request; undefined without a passkey.
 * @throws HttpError 403 for a key, for a passkey that is not the person's or does not count, and where it signed anything else
 */
async function signedBy(
  { db, nowMs }: Pick<Deps, "db" | "nowMs">,
  sealed: ApprovalRequest,
  { passkey, decision, comment, comment_salt }: DecideApprovalRequest & { readonly comment_salt: string },
  person: Caller["person"],
): Promise<NewDecision["passkey"]> {
  if (passkey === undefined) return undefined
  if (person === undefined)
    throw new HttpError(
      "sign_in_again",
      "A passkey counts beside a sign-in: sign in with the identity provider, and decide there.",
    )
  const { passkey_id } = passkey
  const row = await findPasskey(db, passkey_id)
  if (row === undefined || !countsFor(row, person, nowMs())) throw passkeyNotCounted()
  const { issuer, subject } = person
  const { request_hash, expires_at } = sealed
  const comment_hash = comment === undefined ? undefined : commentHash(comment_salt, comment)
  const decided = { request_hash, expires_at, decision, issuer, subject, comment_hash }
  const digest = decisionDigest({ ...requestedAct(sealed), ...decided })
  return { passkey_id, signed: receivedAssertion(approverKeyOf(row), passkey, digest) }
}

/** Deletes the caller's comment on the request of the path; an administrator's call those of all. @throws HttpError 403, 404 */
async function deleteOwn(c: Context, deps: Deps): Promise<Response> {
  const { acts, db, nowMs } = deps
  const caller = callerOf(c)
  const isAdmin = caller.scope === "admin"
  const subject = isAdmin ? undefined : approverOf(caller)?.subject
  if (!isAdmin && subject === undefined)
    throw new HttpError("not_an_approver", "Only who decided deletes its comment, or an administrator.")
  const read = async (): Promise<FoundApproval> => {
    if (!isAdmin) return seenApproval(c, deps)
    const found = await findApproval(db, readApprovalId(c.req.param("id")))
    if (found === undefined) throw noSuchApproval()
    return found
  }
  const { approval_id } = await read()
  await deleteComments(acts, approval_id, subject, { at: nowMs(), who: whoOf(caller) })
  const after = await read()
  return c.json({ ok: true, ...approvalSummary(after, after.decided) } satisfies DecidedApproval)
}

export function approvalRoutes(deps: Deps): Handlers {
  const { acts, db, nowMs, payloadKeys, reads } = deps
  return {
    approvals: async (c, { query }) => {
      const { state, limit = PAGE_LIMIT_DEFAULT, before = "" } = query()
      const page = { limit, before: approvalPlaceOf(before) }
      const [rows, decided] = await reads.growing(async source => {
        const listed = await listApprovals(source, viewerOf(callerOf(c)), state, page)
        return [
          listed,
          await decisionsOf(
            source,
            listed.map(({ approval_id }) => approval_id),
          ),
        ]
      })
      const approvals = rows.map(row =>
        approvalSummary(
          row,
          decided.filter(({ approval_id }) => approval_id === row.approval_id),
        ),
      )
      const last = rows.length === limit ? rows.at(-1) : undefined
      const next = last === undefined ? {} : { next: approvalPlaceText(last) }
      return c.json({ ok: true, limit, approvals, ...next } satisfies ApprovalsPage)
    },
    approval: async c => {
      const found = await seenApproval(c, deps)
      await roomForAnswer(c, found.request.length)
      const since = nowMs() - REJECTIONS_DAYS * DAY_MS
      const rejections = await rejectedSince(db, found.act_digest, since)
      const caller = callerOf(c)
      const viewer = viewerOf(caller)
      const before = await approvedBefore(db, found, "groups" in viewer ? viewer.groups : undefined)
      const isApprover = approverOf(caller) !== undefined
      const record = approvalRecord(c, deps, found, {
        payload: isApprover ? payloadKeys.decryptPayload(found) : undefined,
        rejections: rejections.filter(({ approval_id }) => approval_id !== found.approval_id),
        before,
      })
      return c.body(canonicalize(record), 200, { "Content-Type": "application/json" })
    },
    decide_approval: async (c, { body }) => {
      const { request } = await body()
      const found = await seenApproval(c, deps)
      const { approval_id } = found
      // Who decides was shown what was sealed.
      const sealed = storedRequest(found, deps.trust)
      const { request_digest, decision, comment = "" } = request
      const caller = callerOf(c)
      const approver = approverOf(caller)
      if (approver === undefined) throw refusalOf("not_an_approver")
      const at = nowMs()
      if (caller.person !== undefined && sinceSignIn(c, at) > SIGNED_IN_MAX_MS) throw signInAgain()
      if (request_digest !== found.request_hash) throw refusalOf("other_document")
      const comment_salt = saltOf(request)
      const passkey = await signedBy(deps, sealed, { ...request, comment_salt }, caller.person)
      const isReadable: NewDecision["isReadable"] = row => payloadKeys.decryptPayload(row) !== undefined
      const decided = { decision, request_digest, comment, comment_salt, passkey }
      const as = passkey === undefined ? approver : { ...approver, proof: "passkey" as const }
      const made = { at, who: whoOf(caller), approver: as, ...decided, isReadable }
      const undecided = await decideApproval(acts, approval_id, made)
      if (undecided !== undefined) throw refusalOf(undecided)
      // A rejection ends the request: its refused run is sealed soon after this answer.
      if (decision === "reject") void deps.approvalEnds.sweep()
      const after = await seenApproval(c, deps)
      return c.json({ ok: true, ...approvalSummary(after, after.decided) } satisfies DecidedApproval)
    },
    delete_comments: c => deleteOwn(c, deps),
  }
}

const signInAgain = (): HttpError =>
  new HttpError(
    "sign_in_again",
    "You signed in more than 15 minutes ago, and your groups may have changed since. Sign in again, then decide.",
  )

function refusalOf(undecided: Undecided): HttpError {
  switch (undecided) {
    case "over":
      return new HttpError("approval_over", "The request has ended or expired: nothing can be decided any more.")
    case "other_document":
      return new HttpError(
        "approval_over",
        "request_digest is not that of this request: read the request again, and decide on what it shows.",
      )
    case "unreadable":
      return new HttpError(
        "approval_over",
        "The payload cannot be shown any more, so nobody can approve it: reject the request, or withdraw it and make a new one.",
      )
    case "passkey_required":
      return new HttpError(
        "passkey_required",
        "The rules count your approval only with a passkey: enrol one, and send what it signs of this decision.",
      )
    case "passkey_invalid":
      return passkeyNotCounted()
    case "counted":
      return new HttpError(
        "approval_over",
        "The request is approved, and your approval counts as you gave it: nothing is to be added.",
      )
    case "too_many":
      return new HttpError("approval_over", "As many people have decided as are counted. It can still be rejected.")
    case "not_an_approver":
      return new HttpError(
        "not_an_approver",
        "You may not decide this: it needs a group that a rule names, and the sign-in or passkey that the rule asks for; and nobody decides on what was asked for in their own name.",
      )
  }
}
