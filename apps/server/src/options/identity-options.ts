/** The options of the identity provider: who signs people in, and whose access tokens requests carry. docs/identity.md. */

import { END_USER_TEXT_MAX_LENGTH } from "@runseal/core/artifacts/end-user"
import { ISSUER_MAX_LENGTH } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import { operatorUrl } from "./operator-url.ts"
import { StartupError } from "./startup-error.ts"
import { option, readBy, word } from "./values.ts"

/** More than any deployment has APIs for its agents: a larger number is a mistake. */
const MAX_AUDIENCES = 16

/** Whether a request names its end user. */
const END_USER = ["optional", "required"] as const

/** The text as it was given: an issuer is compared by its characters (docs/identity.md), a final slash included. */
const ISSUER = readBy(
  text => (operatorUrl(text) === undefined || text.length > ISSUER_MAX_LENGTH ? undefined : text),
  `an https address (http on this machine only) of at most ${ISSUER_MAX_LENGTH} characters, without credentials, query and fragment`,
)

const AUDIENCE = word(
  new RegExp(`^[\\x21-\\x7e]{1,${END_USER_TEXT_MAX_LENGTH}}$`),
  `1 to ${END_USER_TEXT_MAX_LENGTH} printable ASCII characters without spaces`,
)

const AUDIENCES = v.pipe(
  v.string(),
  v.transform(text => [...new Set(text.split(/\s+/).filter(one => one !== ""))]),
  v.array(AUDIENCE),
  v.maxLength(MAX_AUDIENCES, `may be given ${MAX_AUDIENCES} times at most`),
)

/** Names of claims are often addresses, as `https://example.com/groups` is. */
const CLAIM = word(/^[\x21-\x7e]{1,128}$/, "1 to 128 printable ASCII characters without spaces")

export const IDENTITY_OPTIONS = {
  issuer: option(
    "--issuer <url>",
    "issuer of the [identity provider](identity.md) (OpenID Connect), as its discovery document writes it",
    v.optional(ISSUER),
    { otherwise: "no identity provider" },
  ),
  endUserAudiences: option(
    "--end-user-audience <audience>",
    "audience of the access tokens that requests carry for their [end user](identity.md#end-users); repeatable, the variable holds several with spaces between",
    v.optional(AUDIENCES),
    { otherwise: "a request with such a token is refused", repeatable: true },
  ),
  endUser: option(
    "--end-user <mode>",
    "whether a run or permit without the token of an [end user](identity.md#end-users) is refused: `optional`, or `required`",
    v.optional(v.picklist(END_USER), "optional"),
    { choices: END_USER },
  ),
  personClaim: option(
    "--person-claim <claim>",
    "claim of the provider's tokens that says [who the person is](identity.md#which-claim-is-the-person)",
    v.optional(CLAIM),
    { otherwise: "`sub`" },
  ),
  groupClaim: option(
    "--group-claim <claim>",
    "claim of the provider's tokens that lists the person's groups",
    v.optional(CLAIM),
    { otherwise: "`groups`" },
  ),
} as const

/** The identity provider of the operator. */
export type IdentityProvider = {
  /** Compared by its characters. */
  readonly issuer: string
  readonly personClaim: string
  readonly groupClaim: string
}

/** How requests name their end user. */
export type EndUserOptions = {
  readonly provider: IdentityProvider
  /** One to sixteen; a token names one of them. */
  readonly audiences: readonly string[]
  readonly mode: (typeof END_USER)[number]
}

type Given = {
  readonly issuer?: string | undefined
  readonly endUserAudiences?: readonly string[] | undefined
  readonly endUser: (typeof END_USER)[number]
  readonly personClaim?: string | undefined
  readonly groupClaim?: string | undefined
}

/** Undefined without `--issuer`. @throws StartupError for an option that means nothing without it */
export function identityProviderOf({ issuer, personClaim, groupClaim }: Given): IdentityProvider | undefined {
  if (issuer !== undefined) return { issuer, personClaim: personClaim ?? "sub", groupClaim: groupClaim ?? "groups" }
  if (personClaim !== undefined) throw new StartupError("--person-claim needs --issuer")
  if (groupClaim !== undefined) throw new StartupError("--group-claim needs --issuer")
  return undefined
}

/** Undefined where requests name no end user. @throws StartupError for options that contradict each other */
export function endUserOptionsOf(given: Given): EndUserOptions | undefined {
  const { endUserAudiences: audiences = [], endUser: mode } = given
  const provider = identityProviderOf(given)
  if (audiences.length === 0) {
    if (mode === "required") throw new StartupError("--end-user required needs --end-user-audience")
    return undefined
  }
  if (provider === undefined) throw new StartupError("--end-user-audience needs --issuer")
  return { provider, audiences, mode }
}
