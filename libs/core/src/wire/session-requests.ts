/** Sessions of people in a browser on the wire. docs/api.md, "Sessions". */
import * as v from "valibot"
import { clockSchema, countSchema, nonEmptySchema, type Shape, sha256Schema } from "../vocabulary/scalars.ts"
import { KEY_SCOPES, readsSchema } from "./key-requests.ts"

/** The header that a request with a session cookie needs for every method but GET and HEAD. */
export const CSRF_HEADER = "X-CSRF-Token"

const SECRET_MAX_LENGTH = 128

/** The body of `POST /session`. Other members are refused. */
export const openSessionRequestSchema = v.strictObject({
  /** The secret of an API key. */
  key: v.pipe(v.string(), v.minLength(1), v.maxLength(SECRET_MAX_LENGTH)),
})
export type OpenSessionRequest = Shape<typeof openSessionRequestSchema>

export const sessionAnswerSchema = v.strictObject({
  ok: v.literal(true),
  /** Id of the calling key; 0 for the anonymous caller of open mode. */
  key_id: countSchema,
  name: nonEmptySchema,
  scope: v.picklist([...KEY_SCOPES, "anonymous"]),
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

export const closedSessionSchema = v.strictObject({ ok: v.literal(true), closed: v.literal(true) })
/** `DELETE /session`. */
export type ClosedSession = Shape<typeof closedSessionSchema>
