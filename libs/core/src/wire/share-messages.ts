/** Links under which a record is read for a time, without a key, on the wire. docs/api.md, "Shared records". */
import * as v from "valibot"
import { OUTCOME_KINDS } from "../vocabulary/outcomes.ts"
import { clockSchema, countSchema, nonEmptySchema, ordinalSchema, type Shape } from "../vocabulary/scalars.ts"
import { publicationTokenSchema } from "./key-requests.ts"
import { PAGE_LIMIT_MAX } from "./run-summaries.ts"

/** Longest time for which a record is shared, in seconds: 7 days. */
export const SHARE_SECONDS_MAX = 604_800
/** The same where the request names none: a day. */
export const SHARE_SECONDS_DEFAULT = 86_400

const ok = { ok: v.literal(true) }

/** The body of `POST /admin/runs/{id}/share`. Other members are refused. */
export const shareRequestSchema = v.strictObject({
  expires_in_seconds: v.exactOptional(
    v.pipe(ordinalSchema, v.maxValue(SHARE_SECONDS_MAX, `must be at most ${SHARE_SECONDS_MAX}`)),
  ),
})
export type ShareRequest = Shape<typeof shareRequestSchema>

export const madeShareSchema = v.strictObject({
  ...ok,
  share_id: ordinalSchema,
  run_id: ordinalSchema,
  /** As that of a publication, but stored as a hash: shown here and nowhere else. */
  token: publicationTokenSchema,
  /** The page for people; the bundle and the report are below it. */
  url: nonEmptySchema,
  expires_at: clockSchema,
})
/** Status 201 of `POST /admin/runs/{id}/share`. */
export type MadeShare = Shape<typeof madeShareSchema>

export const shareSchema = v.strictObject({
  share_id: ordinalSchema,
  run_id: ordinalSchema,
  /** Id of the key that made the run; 0 = open mode. */
  key_id: countSchema,
  outcome_kind: v.picklist(OUTCOME_KINDS),
  /** Id of the key that shares it. */
  made_by: ordinalSchema,
  made_at: clockSchema,
  expires_at: clockSchema,
})
export type Share = Shape<typeof shareSchema>

export const sharesPageSchema = v.strictObject({
  ...ok,
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGE_LIMIT_MAX)),
  shares: v.pipe(v.array(shareSchema), v.maxLength(PAGE_LIMIT_MAX)),
  next: v.exactOptional(ordinalSchema),
})
/** `GET /admin/shares`: what is shared now, the newest link first. */
export type SharesPage = Shape<typeof sharesPageSchema>

export const revokedShareSchema = v.strictObject({ ...ok, share_id: ordinalSchema, revoked: v.literal(true) })
/** `DELETE /admin/shares/{id}`. */
export type RevokedShare = Shape<typeof revokedShareSchema>
