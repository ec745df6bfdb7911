/**
 * Redeeming a permit, and the keys with which one is checked. Both are for those who act, who have no key of this service: the permit is
 * the credential. docs/api.md, "POST /permits/{id}/redeem" and "Trust".
 */
import { utf8Encode } from "@runseal/canonical"
import type { RedeemPermitAnswer } from "@runseal/core/wire/permit-answers"
import type { RedeemPermitRequest } from "@runseal/core/wire/permit-requests"
import type { Deps } from "../../deps.ts"
import { alreadyRedeemed, permitInvalid, permitNotOpen, unavailable } from "../../http-error.ts"
import { findHeldPermit } from "../../store/tables/permit-reads.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { noSuchPermit, readPermitId } from "../permit-query.ts"
import { entityTag, sendFile } from "../served-file.ts"
import { storedOpening } from "./permit-views.ts"

/** For everybody, without a key. */
export function redeemRoutes(deps: Deps): Handlers {
  return {
    redeem_permit: async (c, { body }) => c.json(await redeem(deps, readPermitId(c.req.param("id")), body)),
    jwks: async c => {
      const bytes = new Uint8Array(utf8Encode(JSON.stringify(await deps.permits.jwks())))
      return sendFile(c, { type: "application/json", bytes, etag: entityTag(bytes) })
    },
  }
}

async function redeem(
  { db, permits, rememberStored }: Deps,
  permit_id: string,
  body: () => Promise<{ readonly request: RedeemPermitRequest }>,
): Promise<RedeemPermitAnswer> {
  const { permit } = (await body()).request
  const found = await findHeldPermit(db, permit_id)
  const opening = found && storedOpening(found)
  if (found === undefined || opening === undefined) {
    await rememberStored()
    throw noSuchPermit()
  }
  const verdict = await permits.check(permit, opening)
  // Its signature is this service's own: the clock is behind that of the server that signed it, or was set back.
  if (!verdict.ok && verdict.reason === "not_yet_valid") throw unavailable(CLOCK_BEHIND)
  if (!verdict.ok) throw permitInvalid(verdict.message)
  if (verdict.claims.jti !== permit_id) throw permitInvalid("The permit is another one than the path names.")
  // So that a permit which is sent again and again costs no batch. The batch finds out behind its locks.
  if (found.redeemed_at !== 0) throw alreadyRedeemed()
  if (found.state !== "open") throw permitNotOpen()
  const redeemed_at = await permits.redeem({ owner: found.owner, permit_id })
  return { ok: true, permit_id, redeemed_at: new Date(redeemed_at).toISOString() }
}

const CLOCK_BEHIND =
  "The clock of this server is behind the time of the permit: nothing is redeemed until it has caught up. Try again."
