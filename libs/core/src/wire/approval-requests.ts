/** The body of `POST /approvals/{id}/decision`. docs/api.md, "Approvals". */
import * as v from "valibot"
import { assertionEntries } from "../artifacts/passkey.ts"
import { type Shape, sha256Schema } from "../vocabulary/scalars.ts"
import { passkeyIdSchema } from "./passkey-messages.ts"

/** Longest comment of a decision, in UTF-16 units. */
export const COMMENT_MAX_LENGTH = 1000

/** What a person writes beside a decision; several lines are fine. */
export const commentSchema = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(COMMENT_MAX_LENGTH, `must have at most ${COMMENT_MAX_LENGTH} characters`),
  v.check(text => !text.includes("\u0000") && text.isWellFormed(), "must not hold U+0000 or half a character"),
  v.description("Length in UTF-16 units; U+0000 is refused."),
)

export const decideApprovalRequestSchema = v.strictObject({
  /** `request_digest` of the request that the person was shown. */
  request_digest: sha256Schema,
  decision: v.picklist(["approve", "reject"], "must be approve or reject"),
  /** For the others; what is sealed of it is a hash. */
  comment: v.exactOptional(commentSchema),
  /** Of the comment's hash, 64 hex digits: a passkey signs that hash. Only with a comment and a passkey; the service makes it otherwise. */
  comment_salt: v.exactOptional(sha256Schema),
  /** What the person's passkey signed of this decision. docs/formats.md section 2.8. */
  passkey: v.exactOptional(v.strictObject({ passkey_id: passkeyIdSchema, ...assertionEntries })),
})
export type DecideApprovalRequest = Shape<typeof decideApprovalRequestSchema>
