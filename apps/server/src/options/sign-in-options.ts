/** The options with which people sign in to the console. docs/identity.md, "People who sign in". */
import { PERSON_ROLES, type PersonRole } from "@runseal/core/wire/session-requests"
import * as v from "valibot"
import type { IdentityProvider } from "./identity-options.ts"
import { isLoopback } from "./operator-url.ts"
import { StartupError } from "./startup-error.ts"
import { option, readBy, word } from "./values.ts"

/** More than any deployment has groups of people: a larger number is a mistake. */
const MAX_ROLES = 64
/** Longest name of a group, in UTF-16 units: longer than a distinguished name of LDAP needs. */
const MAX_GROUP_LENGTH = 256

/** The role of each group. */
export type RolesOfGroups = ReadonlyMap<string, PersonRole>

/** Reads `treasury=approver,ops=admin`. The last `=` ends the name of the group. Undefined for anything else, and for a group named twice. */
function rolesOf(text: string): RolesOfGroups | undefined {
  const pairs = text.split(",").map(pair => {
    const at = pair.lastIndexOf("=")
    return { group: pair.slice(0, at).trim(), role: PERSON_ROLES.find(role => role === pair.slice(at + 1).trim()) }
  })
  const roles = new Map<string, PersonRole>()
  for (const { group, role } of pairs) {
    if (group === "" || group.length > MAX_GROUP_LENGTH || role === undefined || roles.has(group)) return undefined
    roles.set(group, role)
  }
  return roles.size > MAX_ROLES ? undefined : roles
}

export const SIGN_IN_OPTIONS = {
  oidcClientId: option(
    "--oidc-client-id <id>",
    "client id of the console at the identity provider, with which people [sign in](identity.md#people-who-sign-in); its secret is read from RUNSEAL_OIDC_CLIENT_SECRET only",
    v.optional(word(/^[\x21-\x7e]{1,256}$/, "1 to 256 printable ASCII characters without spaces")),
    { otherwise: "nobody signs in with the provider" },
  ),
  oidcRoles: option(
    "--oidc-roles <roles>",
    "which groups of the provider are `approver`, `auditor` or `admin` in the console, with commas between: `treasury=approver,compliance=auditor`",
    v.optional(
      readBy(
        rolesOf,
        `1 to ${MAX_ROLES} groups, each once, as group=role with commas between; a role is approver, auditor or admin`,
      ),
    ),
    { otherwise: "nobody has a role" },
  ),
  oidcScopes: option(
    "--oidc-scopes <scopes>",
    "scopes that the console asks the provider for besides `openid`, with spaces between; some providers give groups for a scope of that name only",
    v.optional(
      word(/^[\x21\x23-\x5b\x5d-\x7e ]{1,256}$/, "1 to 256 characters of scopes, with spaces between"),
      "profile",
    ),
  ),
} as const

/** How people sign in with the identity provider. */
export type SignInOptions = {
  readonly provider: IdentityProvider
  readonly clientId: string
  readonly clientSecret: string
  readonly roles: RolesOfGroups
  /** With spaces between. */
  readonly scopes: string
  /** To which the provider sends the browser back. */
  readonly redirectUri: string
}

/** Path of the console to which the provider sends the browser back. */
export const CALLBACK_PATH = "/console/callback"

type Given = {
  readonly oidcClientId?: string | undefined
  readonly oidcRoles?: RolesOfGroups | undefined
  readonly oidcScopes: string
  readonly endUserAudiences?: readonly string[] | undefined
  readonly baseUrl?: string | undefined
}

/**
 * Undefined where nobody signs in with a provider.
 * @param secret of the client
 * @throws StartupError for options that contradict each other
 */
export function signInOptionsOf(
  { oidcClientId: clientId, oidcRoles: roles, oidcScopes: scopes, endUserAudiences = [], baseUrl }: Given,
  provider: IdentityProvider | undefined,
  secret: string | undefined,
): SignInOptions | undefined {
  if (clientId === undefined) {
    if (roles !== undefined) throw new StartupError("--oidc-roles needs --oidc-client-id")
    return undefined
  }
  const needs = (option: string): StartupError => new StartupError(`--oidc-client-id needs ${option}`)
  if (provider === undefined) throw needs("--issuer")
  if (roles === undefined) throw needs("--oidc-roles")
  if (baseUrl === undefined) throw needs("--base-url: the address to which the provider sends browsers back")
  if (!secret) throw needs("RUNSEAL_OIDC_CLIENT_SECRET, or RUNSEAL_OIDC_CLIENT_SECRET_FILE")
  const { protocol, hostname, origin } = new URL(baseUrl)
  if (protocol !== "https:" && !isLoopback(hostname))
    throw new StartupError("--oidc-client-id needs a --base-url of https: over plain HTTP others read the session")
  // A token for the console must not name the end user of a run.
  if (endUserAudiences.includes(clientId))
    throw new StartupError("--end-user-audience must not be the client id of the console, --oidc-client-id")
  return { provider, clientId, clientSecret: secret, roles, scopes, redirectUri: `${origin}${CALLBACK_PATH}` }
}
