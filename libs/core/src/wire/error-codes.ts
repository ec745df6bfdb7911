/**
 * Codes of refused requests: the closed list that the service answers with. docs/api.md, "Errors", and the OpenAPI document have the same
 * rows. A program decides by the code, a person reads the sentence beside it.
 */

type Row = { readonly status: number; readonly meaning: string }

export const ERROR_CODES = {
  malformed_http: {
    status: 400,
    meaning: "The request is not HTTP/1.1 with one Host header field, or its path has dot segments or a backslash.",
  },
  invalid_body: {
    status: 400,
    meaning: "The body is not sent as application/json, is not strict JSON, is not an object, or has too many values.",
  },
  invalid_field: {
    status: 400,
    meaning: "A member of the body is missing, has a wrong value or is not accepted. The sentence names it.",
  },
  invalid_parameter: {
    status: 400,
    meaning: "A query parameter is missing, unknown, given twice or has a wrong value. The sentence names it.",
  },
  invalid_idempotency_key: { status: 400, meaning: "The header Idempotency-Key is malformed." },
  unreadable_document: { status: 400, meaning: "The document to verify is none of this service's kinds." },
  key_required: {
    status: 401,
    meaning: "The deployment is locked, and the key is missing, malformed, unknown, revoked or expired.",
  },
  permit_invalid: {
    status: 401,
    meaning: "What was sent is not this permit, signed by a service key in force, or it has expired.",
  },
  end_user_required: {
    status: 401,
    meaning: "The deployment decides for end users only, and the header X-End-User-Token is missing.",
  },
  end_user_token_invalid: {
    status: 401,
    meaning: "The token in X-End-User-Token is not accepted: wrong, expired, for others, or of an unknown key.",
  },
  permits_off: { status: 403, meaning: "This deployment opens no permits." },
  csrf_token_required: {
    status: 403,
    meaning: "The request was sent with a session cookie, and its X-CSRF-Token is not that of the session.",
  },
  https_required: { status: 403, meaning: "A session cannot be opened over plain HTTP from another machine." },
  admin_key_required: { status: 403, meaning: "The endpoint needs an admin key." },
  person_not_allowed: {
    status: 403,
    meaning: "The caller is a person who signed in: the endpoint is for keys, or for another role.",
  },
  sign_in_off: { status: 403, meaning: "People do not sign in with an identity provider here." },
  sign_in_refused: {
    status: 403,
    meaning:
      "The sign-in did not begin in this browser, is older than ten minutes, or the identity provider refused it.",
  },
  role_missing: { status: 403, meaning: "The person has signed in, and none of its groups has a role here." },
  read_only_key: { status: 403, meaning: "The key is an auditor's: it reads and verifies, and does nothing." },
  approver_key: {
    status: 403,
    meaning: "The key is an approver's: it sees approvals and decides on them, and nothing else.",
  },
  not_an_approver: {
    status: 403,
    meaning:
      "The caller may not decide: it has no group of a rule, is the end user, or is named by the key that asks. Or only a sign-in counts.",
  },
  sign_in_again: {
    status: 403,
    meaning:
      "Only a person who signed in may do this, at most 15 minutes ago for a decision and 5 for passkeys. Sign in, then do it again.",
  },
  passkeys_off: { status: 403, meaning: "People cannot enrol passkeys here. The sentence says what is missing." },
  passkey_required: { status: 403, meaning: "A rule asks for a passkey, and the decision was sent without one." },
  passkey_invalid: {
    status: 403,
    meaning:
      "What the passkey signed is not this, or the passkey is not the person's, does not count yet, or is revoked.",
  },
  observe_not_allowed: {
    status: 403,
    meaning:
      "The key may not ask for what is only observed: it was not made with observe, or the deployment lets nobody.",
  },
  endpoint_not_found: { status: 404, meaning: "There is no such endpoint." },
  not_found: {
    status: 404,
    meaning:
      "There is no such run, permit, approval, key, destination, tile, entry or file, or it belongs to another key.",
  },
  other_outcome: { status: 404, meaning: "The run ended with an outcome that has no such artifact or statement." },
  not_published: { status: 404, meaning: "No run is published under this address." },
  not_shared: { status: 404, meaning: "No run is shared under this address, or not any more." },
  method_not_allowed: { status: 405, meaning: "The endpoint has no such method. The header Allow lists those it has." },
  not_acceptable: { status: 406, meaning: "Accept-Encoding allows no form in which the answer is sent." },
  request_timeout: {
    status: 408,
    meaning: "The request did not arrive before the timeout, or nothing of its body for 10 s.",
  },
  approval_over: {
    status: 409,
    meaning:
      "The request for an approval was decided, withdrawn or collected, or its time has passed, or it is not the one that was shown.",
  },
  approval_waiting: {
    status: 409,
    meaning: "The same payload waits for an approval under other terms: collect or withdraw that request first.",
  },
  idempotency_key_reused: {
    status: 409,
    meaning: "The idempotency key was used with another body, or for another end user.",
  },
  request_in_progress: {
    status: 409,
    meaning: "The first request under this idempotency key is not answered yet. Retry after Retry-After.",
  },
  already_done: { status: 409, meaning: "The action was done before, under this idempotency key." },
  key_revoked: { status: 409, meaning: "The key is revoked, and gets no new secret." },
  already_claimed: { status: 409, meaning: "The runs of open mode were given to another key." },
  nothing_to_claim: { status: 409, meaning: "No run was made in open mode." },
  passkey_enrolled: { status: 409, meaning: "This passkey was enrolled before, by whomever: make another one." },
  too_many_passkeys: {
    status: 409,
    meaning:
      "The person has as many passkeys as it may have, or enrolled too many in one day. The sentence says which.",
  },
  permit_not_open: { status: 409, meaning: "The permit is closed or ended, or its time to be closed is over." },
  already_redeemed: { status: 409, meaning: "The permit was redeemed before." },
  too_many_destinations: { status: 409, meaning: "The deployment has as many destinations of events as it may have." },
  approval_payload_too_large: {
    status: 413,
    meaning: "The payload needs an approval and is too large for people to read. The sentence has the limit.",
  },
  body_too_large: { status: 413, meaning: "The body is too large. The sentence has the limit." },
  expectation_failed: { status: 417, meaning: "The header Expect asks for something other than 100-continue." },
  rate_limited: { status: 429, meaning: "The rate limit is reached. Retry after Retry-After." },
  trial_quota_exceeded: { status: 429, meaning: "The trial key has used up its runs. Retry after Retry-After." },
  too_many_approvals: {
    status: 429,
    meaning:
      "The key or its end user has as many requests for an approval as may wait. Retry once one of them is decided, collected or withdrawn.",
  },
  too_many_open_permits: {
    status: 429,
    meaning: "The key has as many open permits as it may have. Retry once one of them is closed or ended.",
  },
  head_too_large: { status: 431, meaning: "The request line and header fields are larger than 16 KiB." },
  internal_error: { status: 500, meaning: "A fault of the server. The operator finds its cause by the request id." },
  too_much_work: {
    status: 500,
    meaning:
      "The answer takes more time or memory than one answer may. A retry seldom helps; the sentence says what does.",
  },
  not_implemented: { status: 501, meaning: "CONNECT, or a transfer coding other than chunked." },
  unavailable: {
    status: 503,
    meaning:
      "Database, log or signer cannot serve now. Nothing was acknowledged. Retry after Retry-After; the sentence says where only the operator can help.",
  },
  sign_in_unavailable: {
    status: 503,
    meaning: "The identity provider does not answer, or not as it must. Try again later; keys still work.",
  },
  overloaded: {
    status: 503,
    meaning: "Too many requests are under way. Nothing was recorded. Retry after Retry-After.",
  },
  outcome_unknown: {
    status: 503,
    meaning: "It is not known whether the request took effect. Retry under the same Idempotency-Key, or check first.",
  },
  end_user_unavailable: {
    status: 503,
    meaning:
      "The identity provider gives no keys now, so the token of the end user cannot be verified. Retry after Retry-After.",
  },
  entry_pending: {
    status: 503,
    meaning: "The record is sealed, and its entry is not in the outside log yet. Retry under the same Idempotency-Key.",
  },
} as const satisfies Readonly<Record<string, Row>>

export type ErrorCode = keyof typeof ERROR_CODES
export type ErrorStatus = (typeof ERROR_CODES)[ErrorCode]["status"]

const isCode = (name: string): name is ErrorCode => Object.hasOwn(ERROR_CODES, name)
/** Every code, in the order of the table: by status. */
export const ERROR_CODE_NAMES: readonly ErrorCode[] = Object.keys(ERROR_CODES).filter(isCode)

/** Longest request id, in characters. */
export const REQUEST_ID_MAX_LENGTH = 128
/** The header that carries a request id in and out. */
export const REQUEST_ID_HEADER = "X-Request-Id"
/** What a request id consists of: a caller's with any other character is replaced by a UUID. */
export const REQUEST_ID_PATTERN: RegExp = /^[\w=-]{1,128}$/
