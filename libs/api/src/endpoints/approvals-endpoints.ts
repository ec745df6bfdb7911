/** Requests for an approval: who asked, who approves or rejects, and what became of them; and the passkeys of those who decide. */
import { approvalRecordSchema, approvalsPageSchema, decidedApprovalSchema } from "@runseal/core/wire/approval-answers"
import { decideApprovalRequestSchema } from "@runseal/core/wire/approval-requests"
import { enrolPasskeyRequestSchema, passkeyAnswerSchema, passkeyListSchema } from "@runseal/core/wire/passkey-messages"
import { described, type PathParameter, type Routes, SMALL_BODY_MAX_BYTES, shape } from "../endpoint.ts"
import { approvalsQuerySchema, passkeysQuerySchema } from "../queries.ts"
import { APPROVAL_ID } from "./permits-endpoints.ts"

const ONE = { access: "key", limit: "shared", persons: true, path_parameters: { id: APPROVAL_ID } } as const

const PERSONS = { access: "key", limit: "shared", persons: true, auditors: true } as const
const PASSKEY_ID = {
  schema: { type: "string", pattern: "^[0-9a-f]{64}$" },
  description: "SHA-256 of the passkey's public key.",
  example: "0".repeat(64),
} as const satisfies PathParameter
const ONE_PASSKEY = { ...PERSONS, path_parameters: { id: PASSKEY_ID } } as const

export const APPROVAL_ROUTES = {
  approvals: {
    method: "get",
    path: "/approvals",
    access: "key",
    limit: "shared",
    persons: true,
    query: shape(approvalsQuerySchema),
    answers: { 200: shape(approvalsPageSchema) },
  },
  approval: {
    ...ONE,
    method: "get",
    path: "/approvals/{id}",
    sealed: true,
    answers: { 200: shape(approvalRecordSchema) },
  },
  decide_approval: {
    ...ONE,
    method: "post",
    path: "/approvals/{id}/decision",
    // A person who is an auditor may have a group that approves as well: the rules say who decides.
    auditors: true,
    repeatable: true,
    stored: true,
    body: shape(decideApprovalRequestSchema),
    max_bytes: SMALL_BODY_MAX_BYTES,
    answers: { 200: shape(decidedApprovalSchema) },
  },
  delete_comments: {
    ...ONE,
    method: "delete",
    path: "/approvals/{id}/comments",
    auditors: true,
    repeatable: true,
    answers: { 200: shape(decidedApprovalSchema) },
  },
  passkeys: {
    ...PERSONS,
    method: "get",
    path: "/passkeys",
    query: shape(passkeysQuerySchema),
    answers: { 200: shape(passkeyListSchema) },
  },
  enrol_passkey: {
    ...PERSONS,
    method: "post",
    path: "/passkeys",
    stored: true,
    body: shape(enrolPasskeyRequestSchema),
    max_bytes: SMALL_BODY_MAX_BYTES,
    answers: { 201: shape(passkeyAnswerSchema) },
  },
  confirm_passkey: {
    ...ONE_PASSKEY,
    method: "post",
    path: "/passkeys/{id}/confirmation",
    repeatable: true,
    answers: { 200: shape(passkeyAnswerSchema) },
  },
  revoke_passkey: {
    ...ONE_PASSKEY,
    method: "delete",
    path: "/passkeys/{id}",
    repeatable: true,
    answers: { 200: shape(passkeyAnswerSchema) },
  },
} as const satisfies Routes

export const APPROVAL_ENDPOINTS = /* @__PURE__ */ described("Approvals", APPROVAL_ROUTES, () => ({
  approvals: {
    summary: "Requests for an approval, newest first",
    description:
      "To people who signed in and to keys of approvers: those with a rule that names one of their groups. To other keys: their own.",
    answers: { 200: "A page of requests." },
  },
  approval: {
    summary: "A request for an approval, with its sealed document",
    description: "To those who approve also the payload, as long as it is stored.",
    refusals: [404, 409],
    answers: { 200: "Its state, who decided what, and the document." },
  },
  decide_approval: {
    summary: "Approve or reject an act",
    description:
      "The decision names the document that was shown. A person counts once, whatever sessions and keys it has. The same decision again changes nothing. A rejection ends the request.",
    body: {
      example: { request_digest: "0".repeat(64), decision: "approve", comment: "Invoice 4711 was checked." },
    },
    refusals: [403, 404, 409],
    answers: { 200: "The request as it is now." },
  },
  delete_comments: {
    summary: "Delete what people wrote beside their decisions",
    description:
      "Who decided deletes its own comment, an administrator those of all. The decisions stay as they are sealed, with the hashes of the comments, whose salts are deleted too.",
    refusals: [403, 404],
    answers: { 200: "The request as it is now." },
  },
  passkeys: {
    summary: "Passkeys, newest first",
    description: "To a person its own; to administrators and auditors those of all people, their own before others.",
    refusals: [403],
    answers: { 200: "The passkeys, and where people enrol them." },
  },
  enrol_passkey: {
    summary: "Enrol a passkey",
    description:
      "By a person who signed in at most 5 minutes ago. The passkey signs that it is enrolled, and counts 24 hours later, or when another person confirms it.",
    body: {
      // Base64 of zeros: of a credential id, a key, 37 bytes of authenticator data, a browser's data and a signature.
      example: {
        name: "my telephone",
        credential_id: "A".repeat(24),
        public_key: `${"A".repeat(122)}==`,
        authenticator_data: `${"A".repeat(50)}==`,
        client_data_json: "A".repeat(200),
        signature: "A".repeat(96),
      },
    },
    refusals: [409],
    answers: { 201: "The passkey." },
  },
  confirm_passkey: {
    summary: "Confirm a passkey of another person",
    description: "By an administrator who signed in at most 5 minutes ago: the passkey counts at once.",
    refusals: [404],
    answers: { 200: "The passkey as it is now." },
  },
  revoke_passkey: {
    summary: "Revoke a passkey",
    description: "By its person, or by an administrator. It signs no later decision; what it signed before counts.",
    refusals: [404],
    answers: { 200: "The passkey as it is now." },
  },
}))
