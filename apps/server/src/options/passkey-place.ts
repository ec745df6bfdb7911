/** Where people enrol passkeys: at the pages of the console, once they sign in there. docs/api.md, "Passkeys". */
import { passkeyHost } from "@runseal/core/artifacts/passkey"

/** The address of the service, and how people sign in: undefined where they do not. */
type Place = { readonly baseUrl?: string | undefined; readonly signIn?: object | undefined }

/** Origin and relying party of passkeys; undefined where people do not sign in, and for an address at which browsers make none. */
export function passkeyPlace({
  baseUrl,
  signIn,
}: Place): { readonly origin: string; readonly rp_id: string } | undefined {
  if (baseUrl === undefined || signIn === undefined) return undefined
  const { origin } = new URL(baseUrl)
  const rp_id = passkeyHost(origin)
  return rp_id === undefined ? undefined : { origin, rp_id }
}

/** What an operator does where people cannot enrol passkeys. */
export const PASSKEYS_START =
  "start with --oidc-client-id and a --base-url that is https:// and the name of a host, or http://localhost"
