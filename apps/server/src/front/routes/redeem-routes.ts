/**
 * Redeeming a permit, and the keys with which one is checked. Both are for those who act, who have no key of this service: the permit is
 * the credential. docs/api.md, "POST /permits/{id}/redeem" and "Trust".
 */
import { utf8Encode } from "@runseal/canonical"
import type { RedeemPermitAnswer } from "@runseal/core/wire/permit-answers"
import { redeemPermitRequestSchema } from "@runseal/core/wire/permit-requests"
import { type Context, Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError, permitNotOpen } from "../../http-error.ts"
import { findHeldPermit } from "../../store/tables/permit-reads.ts"
import { limitByAddress } from "../access/rate-limit.ts"
import { readJsonObject, SMALL_LIMITS } from "../http/json-body.ts"
import { noSuchPermit, readPermitId } from "../http/permit-query.ts"
import { readBody } from "../http/request-bodies.ts"
import { entityTag, sendFile } from "../http/served-file.ts"
import { storedOpening } from "./permit-views.ts"

/** For everybody, without a key. */
export function redeemRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.post("/permits/:id/redeem", limitByAddress(deps, "permits"), async c => c.json(await redeem(c, deps)))
  app.get("/.well-known/jwks.json", async c => {
    const bytes = new Uint8Array(utf8Encode(JSON.stringify(await deps.permits.jwks())))
    return sendFile(c, { type: "application/json", bytes, etag: entityTag(bytes) })
  })
  return app
}

async function redeem(c: Context, { db, permits, nowMs, rememberStored }: Deps): Promise<RedeemPermitAnswer> {
  const permit_id = readPermitId(c.req.param("id") ?? "")
  const { permit } = readBody(redeemPermitRequestSchema, await readJsonObject(c, SMALL_LIMITS))
  const found = await findHeldPermit(db, permit_id)
  const opening = found && storedOpening(found)
  if (opening === undefined) {
    await rememberStored()
    throw noSuchPermit()
  }
  const verdict = await permits.check(permit, opening)
  if (!verdict.ok) throw permitInvalid(verdict.message)
  if (verdict.claims.jti !== permit_id) throw permitInvalid("The permit is another one than the path names.")
  const redeemed_at = await permits.redeem(opening)
  if (redeemed_at !== undefined) return { ok: true, permit_id, redeemed_at: new Date(redeemed_at).toISOString() }
  const now = await findHeldPermit(db, permit_id)
  if (now !== undefined && now.redeemed_at !== 0) throw alreadyRedeemed()
  throw now?.state === "open" && now.expires_at <= nowMs() ? permitInvalid("The permit has expired.") : permitNotOpen()
}

/** A permit is sent in the body: RFC 9110 §15.5.2 demands a challenge all the same. */
const CHALLENGE = { "WWW-Authenticate": 'Permit realm="runseal"' }

const permitInvalid = (message: string): HttpError => new HttpError("permit_invalid", message, CHALLENGE)
const alreadyRedeemed = (): HttpError =>
  new HttpError("already_redeemed", "The permit was redeemed before: it permits the act to the party that redeemed it.")
