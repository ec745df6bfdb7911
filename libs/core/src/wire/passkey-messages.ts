/** Passkeys of people who approve. docs/api.md, "Passkeys". */
import { base64Schema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import { approverKeySchema, assertionEntries } from "../artifacts/passkey.ts"
import { clockSchema, countSchema, lineSchema, type Shape, sha256Schema } from "../vocabulary/scalars.ts"

/** Longest name that a person gives its passkey, in UTF-16 units. */
const PASSKEY_NAME_MAX_LENGTH = 64
/** Longest credential id. WebAuthn section 4 */
const CREDENTIAL_ID_MAX_BYTES = 1023
/** Most passkeys of one person that are not revoked. */
export const PASSKEYS_OF_PERSON_MAX = 8
/** Most passkeys that one person enrols in 24 hours, those that are revoked again among them: each is a row and an event for ever. */
export const PASSKEYS_A_DAY_MAX = 32
/** Most passkeys of one answer, the newest first. */
export const PASSKEYS_LISTED_MAX = 1000
/** A passkey counts so long after it was enrolled, or once another person confirms it. Milliseconds. */
export const PASSKEY_WAIT_MS = 86_400_000
/** Who enrols or confirms one signed in at most so long ago. Milliseconds. */
export const PASSKEY_SIGN_IN_MAX_MS = 300_000

const opt = v.exactOptional
const ok = { ok: v.literal(true) }

/** SHA-256 of the public key's DER, 64 hex digits. */
export const passkeyIdSchema = sha256Schema

/** `pending`: enrolled, and not counted yet. */
export const PASSKEY_STATES = ["pending", "counts", "revoked"] as const
export type PasskeyState = (typeof PASSKEY_STATES)[number]

const nameSchema = lineSchema(PASSKEY_NAME_MAX_LENGTH)
const credentialIdSchema = base64Schema(1, CREDENTIAL_ID_MAX_BYTES)
const { issuer, subject, public_key, origin, rp_id } = approverKeySchema.entries

/** The body of `POST /passkeys`. */
export const enrolPasskeyRequestSchema = v.strictObject({
  /** For its person, to tell it from others. */
  name: nameSchema,
  /** By which a browser finds it; base64. */
  credential_id: credentialIdSchema,
  public_key,
  /** What the new key signed: that this person enrols it. */
  ...assertionEntries,
})
export type EnrolPasskeyRequest = Shape<typeof enrolPasskeyRequestSchema>

const summary = {
  passkey_id: passkeyIdSchema,
  state: v.picklist(PASSKEY_STATES),
  /** Whose it is: the identity provider, and whom it names so. */
  issuer,
  subject,
  name: nameSchema,
  credential_id: credentialIdSchema,
  public_key,
  /** Where it signs. */
  origin,
  rp_id,
  enrolled_at: clockSchema,
  counts_from: clockSchema,
  /** The person who confirmed it; absent where it counts by time. */
  confirmed_by: opt(v.strictObject({ issuer, subject })),
  revoked_at: opt(clockSchema),
}
export const passkeySummarySchema = v.strictObject(summary)
export type PasskeySummary = Shape<typeof passkeySummarySchema>

/** `POST /passkeys`, `POST /passkeys/{id}/confirmation`, `DELETE /passkeys/{id}`. */
export const passkeyAnswerSchema = v.strictObject({ ...ok, ...summary })
export type PasskeyAnswer = Shape<typeof passkeyAnswerSchema>

/** `GET /passkeys`: the newest first. */
export const passkeyListSchema = v.strictObject({
  ...ok,
  /** Where people enrol passkeys, and as what relying party. Absent where they cannot. */
  enrolment: opt(v.strictObject({ origin, rp_id })),
  /** All that the caller may see, of the state that was asked for, of which so many are listed as one answer has. */
  total: countSchema,
  passkeys: v.pipe(v.array(passkeySummarySchema), v.maxLength(PASSKEYS_LISTED_MAX)),
})
export type PasskeyList = Shape<typeof passkeyListSchema>
