/**
 * The end user behind a run: what an access token of the identity provider states, after the service verified it. It can be withheld as the
 * declared sections can; no kernel reads it. docs/formats.md section 2.7.
 */
import * as v from "valibot"
import { clockSchema, ISSUER_MAX_LENGTH, type Shape, sha256Schema } from "../vocabulary/scalars.ts"

/** Longest subject, audience, client or group of an end user, in UTF-16 units. */
export const END_USER_TEXT_MAX_LENGTH = 512
/** Most groups that a token may name: a person in more of them is one whose groups cannot be read. */
export const END_USER_MAX_GROUPS = 64

/** A token that the service verified, as the parts of it that a record may hold. */
export type EndUser = {
  /** The issuer, as the operator configured it and the token says it. */
  readonly issuer: string
  /** The person, as the claim says that the operator chose for it. */
  readonly subject: string
  /** The audience of the operator's that the token names. */
  readonly audience: string
  /** The client that the token was issued to. */
  readonly client?: string
  /** Claims `iat` and `exp`: RFC 3339 UTC with milliseconds. */
  readonly issued_at: string
  readonly expires_at: string
  /** `tokenHash` of a token that has an id. */
  readonly token_hash?: string
  /** All groups that the token names, at most 64. Absent where they cannot be read: they are elsewhere, or more. */
  readonly groups?: readonly string[]
}

const END_USER_KIND = "vfa.end_user.v1"
const kind = v.literal(END_USER_KIND)

export const endUserTextSchema = v.pipe(v.string(), v.nonEmpty(), v.maxLength(END_USER_TEXT_MAX_LENGTH))

const issuerSchema = v.pipe(v.string(), v.nonEmpty(), v.maxLength(ISSUER_MAX_LENGTH))

const shownEndUserSchema = v.strictObject({
  kind,
  /** Keeps a withheld person from being guessed from the hash: 64 hex, derived from a seed that is never shown. */
  salt: sha256Schema,
  issuer: issuerSchema,
  subject: endUserTextSchema,
  audience: endUserTextSchema,
  client: v.exactOptional(endUserTextSchema),
  issued_at: clockSchema,
  expires_at: clockSchema,
  /** Names the token without showing it: who has it finds the records that it was presented for. */
  token_hash: v.exactOptional(sha256Schema),
  /** The groups that rules of the policy name, sorted, each once; absent where no rule reads groups. */
  groups: v.exactOptional(v.pipe(v.array(endUserTextSchema), v.maxLength(END_USER_MAX_GROUPS))),
  /** Rules read groups, and the token does not say them all: the policy denies with END_USER_UNREADABLE. */
  groups_unreadable: v.exactOptional(v.literal(true)),
  hash: sha256Schema,
})
const withheldEndUserSchema = v.strictObject({ kind, withheld: v.literal(true), hash: sha256Schema })

export type ShownEndUser = Shape<typeof shownEndUserSchema>
export type EndUserSection = ShownEndUser | Shape<typeof withheldEndUserSchema>
export const endUserSectionSchema: v.GenericSchema<unknown, EndUserSection> = v.union([
  shownEndUserSchema,
  withheldEndUserSchema,
])

/** The section's shown form; undefined when it is withheld. */
export const shownEndUser = (section: EndUserSection): ShownEndUser | undefined =>
  "withheld" in section ? undefined : section

/** The person and who names it, as reports and pages show it in one line. */
export function endUserText(section: EndUserSection): string {
  const person = shownEndUser(section)
  return person === undefined ? "withheld" : `${person.subject}, by ${person.issuer}`
}
