/** Using a permit up, so that it allows its act once. docs/api.md, "Permits". */
import { parseStrictJson } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { boundedAnswer, type Fetch, platformFetch, REQUEST_TIMEOUT_MS } from "./clock-and-network.ts"
import { type RefusedPermit, refused } from "./permit-refusals.ts"

export type Redemption = { readonly ok: true } | RefusedPermit

/**
 * Redeems a permit that was verified. The permit is the credential: no API key is sent. Asks once: when no answer came, the permit may be
 * redeemed all the same, and the act must not begin.
 * @param permitId `jti` of its claims
 * @param service address of the service
 */
export async function redeemPermit(
  permit: string,
  permitId: string,
  service: string | URL,
  send: Fetch = platformFetch,
): Promise<Redemption> {
  const address = `${`${service}`.replace(/\/+$/, "")}/permits/${permitId}/redeem`
  try {
    const response = await boundedAnswer(
      await send(address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ permit }),
        redirect: "manual",
        credentials: "omit",
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      }),
    )
    if (response.status === 200) return { ok: true }
    const code = textMember(parseStrictJson(await response.text()), "code")
    if (response.status === 409 && code === "already_redeemed") return refused(code)
    return refused(response.status >= 400 && response.status < 500 ? "redeem_refused" : "redeem_unavailable")
  } catch {
    return refused("redeem_unavailable")
  }
}
