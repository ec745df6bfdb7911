/**
 * What a verified token of the identity provider says of a person: the ID token of a sign-in and the access token of an end user alike. So a
 * subject that approves is compared with the subject that asks by one reading, and a group is in a token for both or for neither.
 */
import { END_USER_MAX_GROUPS, END_USER_TEXT_MAX_LENGTH } from "@runseal/core/artifacts/end-user"
import { lineSchema, SUBJECT_MAX_LENGTH } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import type { IdentityProvider } from "../../options/identity-options.ts"

export type Claims = Readonly<Record<string, unknown>>

export type PersonClaims = {
  /** Undefined where the claim is no text that names a person. */
  readonly subject: string | undefined
  /**
   * All of them, each once. `absent`: the token does not speak of groups. `unreadable`: it does not list them all here, or not as texts. Some of the
   * groups are never taken for all: nobody may leave a group by a token that does not say it.
   */
  readonly groups: readonly string[] | "absent" | "unreadable"
}

/** OpenID Connect Core 1.0 section 2 has 255 characters at most; one line, since events and reports write it into one. */
const subjectSchema = wellFormed(SUBJECT_MAX_LENGTH)
/**
 * As many groups as a record may hold of its end user, and as long: what a policy names must be there for approvers and end users alike. A
 * provider with more groups of a person has a setting that lists those of the application alone.
 */
const groupsSchema = v.pipe(v.array(wellFormed(END_USER_TEXT_MAX_LENGTH)), v.maxLength(END_USER_MAX_GROUPS))

/** A line that JSON carries: half a character cannot be sealed. */
function wellFormed(maxLength: number): v.GenericSchema<string> {
  return v.pipe(
    lineSchema(maxLength),
    v.check(text => text.isWellFormed()),
  )
}

const memberOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined)

export function personClaims(claims: Claims, { personClaim, groupClaim }: IdentityProvider): PersonClaims {
  const subject = v.safeParse(subjectSchema, memberOf(claims, personClaim))
  return { subject: subject.success ? subject.output : undefined, groups: groupsIn(claims, groupClaim) }
}

function groupsIn(claims: Claims, claim: string): PersonClaims["groups"] {
  if (areElsewhere(claims, claim)) return "unreadable"
  const listed = memberOf(claims, claim) ?? undefined
  if (listed === undefined) return "absent"
  // Some providers write a list of one as the text itself.
  const groups = v.safeParse(groupsSchema, typeof listed === "string" ? [listed] : listed)
  return groups.success ? [...new Set(groups.output)] : "unreadable"
}

/** Whether the provider names another place for the groups: OpenID Connect Core 1.0 section 5.6.2; `hasgroups` of Microsoft Entra ID. */
function areElsewhere(claims: Claims, claim: string): boolean {
  if (Object.hasOwn(claims, "hasgroups")) return true
  const names = memberOf(claims, "_claim_names") ?? undefined
  return names !== undefined && (!v.is(v.looseObject({}), names) || Object.hasOwn(names, claim))
}
