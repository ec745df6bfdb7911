/** Sessions of people in a browser on the wire. docs/api.md, "Sessions". */
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  ISSUER_MAX_LENGTH,
  lineSchema,
  nonEmptySchema,
  type Shape,
  SUBJECT_MAX_LENGTH,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { KEY_SCOPES, readsSchema } from "./key-requests.ts"

/** The header that a request with a session cookie needs for every method but GET and HEAD. */
export const CSRF_HEADER = "X-CSRF-Token"

const SECRET_MAX_LENGTH = 128

/** What a person may be, the greatest right first. An approver decides on approvals, and sees nothing else. */
export const PERSON_ROLES = ["admin", "auditor", "approver"] as const
export type PersonRole = (typeof PERSON_ROLES)[number]

/** Longest address within the console, in UTF-16 units. */
const NEXT_MAX_LENGTH = 512
/** It begins with one slash, so that it leads to no other host. */
const CONSOLE_PAGE = /^\/console(?:[/?][\w/.?=&%+-]*)?$/
/** A browser takes such a part of a path away, `..` with the part before it, also where its dots are escaped. RFC 3986, 5.2.4 */
const DOT_SEGMENT = /^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i
/** An address within the console; that of its first page for any other text, and for one that is too long. */
export const consolePage = (text: string | undefined): string =>
  text !== undefined && text.length <= NEXT_MAX_LENGTH && CONSOLE_PAGE.test(text) && !DOT_SEGMENT.test(text)
    ? text
    : "/console"
/** Longest query of an answer of an identity provider, in UTF-16 units. */
const PROVIDER_ANSWER_MAX_LENGTH = 8192

/** The body of `POST /session`. Other members are refused. */
export const openSessionRequestSchema = v.strictObject({
  /** The secret of an API key. */
  key: v.pipe(v.string(), v.minLength(1), v.maxLength(SECRET_MAX_LENGTH)),
})
export type OpenSessionRequest = Shape<typeof openSessionRequestSchema>

/** A person who signed in. */
export const sessionPersonSchema = v.strictObject({
  /** The identity provider, and whom it names so. */
  issuer: lineSchema(ISSUER_MAX_LENGTH),
  subject: lineSchema(SUBJECT_MAX_LENGTH),
  /** Those that have a role here or that a rule names as approvers, as of the sign-in. */
  groups: v.array(nonEmptySchema),
  signed_in_at: clockSchema,
})

export const sessionAnswerSchema = v.strictObject({
  ok: v.literal(true),
  /** Id of the calling key; 0 for the anonymous caller of open mode. Absent for a person. */
  key_id: v.exactOptional(countSchema),
  name: nonEmptySchema,
  scope: v.picklist([...KEY_SCOPES, "anonymous"]),
  /** Absent for a key. */
  person: v.exactOptional(sessionPersonSchema),
  /** The keys that an auditor reads; absent: all, or it is none. */
  reads: v.exactOptional(readsSchema),
  /** Of an auditor that shares what it reads. */
  share: v.exactOptional(v.literal(true)),
  /** The rest is absent for a caller without a session: one with a key in the header, or in open mode. What `X-CSRF-Token` must be. */
  csrf_token: v.exactOptional(sha256Schema),
  /** When the session ends unless it is used before. */
  idle_ends_at: v.exactOptional(clockSchema),
  /** When the session ends, however much it is used. */
  ends_at: v.exactOptional(clockSchema),
})
/** `POST /session` and `GET /session`: who calls. */
export type SessionAnswer = Shape<typeof sessionAnswerSchema>

/** The body of `POST /session/sign-in`. */
export const startSignInRequestSchema = v.strictObject({
  /** The page of the console to be led to. An address of anything else is the console's first page. */
  next: v.exactOptional(v.pipe(v.string(), v.maxLength(NEXT_MAX_LENGTH))),
})
export type StartSignInRequest = Shape<typeof startSignInRequestSchema>

export const startedSignInSchema = v.strictObject({
  ok: v.literal(true),
  /** Where the browser goes: the identity provider. */
  url: nonEmptySchema,
})
/** `POST /session/sign-in`. */
export type StartedSignIn = Shape<typeof startedSignInSchema>

/** The body of `POST /session/sign-in/answer`. */
export const finishSignInRequestSchema = v.strictObject({
  /** The query with which the identity provider sent the browser back, without the question mark. */
  query: v.pipe(v.string(), v.maxLength(PROVIDER_ANSWER_MAX_LENGTH)),
})
export type FinishSignInRequest = Shape<typeof finishSignInRequestSchema>

export const finishedSignInSchema = v.strictObject({
  ...sessionAnswerSchema.entries,
  /** The page of the console that the sign-in was started for. */
  next: nonEmptySchema,
})
/** `POST /session/sign-in/answer`: a session was opened. */
export type FinishedSignIn = Shape<typeof finishedSignInSchema>

export const closedSessionSchema = v.strictObject({ ok: v.literal(true), closed: v.literal(true) })
/** `DELETE /session`. */
export type ClosedSession = Shape<typeof closedSessionSchema>
