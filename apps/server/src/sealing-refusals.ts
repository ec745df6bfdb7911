/** What the sealer refuses of permits and of requests for an approval, as the answer to the request. */
import { OPEN_PERMITS_MAX, PermitRefusal } from "@runseal/core/seal/permits/pending"
import { unauthorized } from "./http/access/authentication.ts"
import { alreadyRedeemed, approvalOver, badRequest, HttpError, permitInvalid, permitNotOpen } from "./http-error.ts"

/** @param member of the request whose tokens are too many to be counted */
export const refusedAs =
  (member: string) =>
  (error: unknown): never => {
    if (!(error instanceof PermitRefusal)) throw error
    switch (error.reason) {
      case "not_open":
        throw permitNotOpen()
      case "revoked":
        throw unauthorized()
      case "redeemed":
        throw alreadyRedeemed()
      case "expired":
        throw permitInvalid("The permit has expired.")
      case "unknown":
        throw permitNotOpen(MAYBE_REDEEMED)
      case "asked":
      case "approval_changed":
        throw approvalOver()
      case "too_many_asked":
        throw tooManyAsked()
      case "too_many_open":
        throw tooManyOpen()
      case "overflow":
        throw badRequest(`${member} would take the window's total beyond 2^53 − 1.`)
    }
  }

const MAYBE_REDEEMED = "Records were lost, so nobody can say whether the permit was redeemed: ask for a new permit."

/** Permits of one key are closed within some minutes: then there is room again. */
const RETRY_AFTER_SECONDS = "60"

const tooManyOpen = (): HttpError =>
  new HttpError(
    "too_many_open_permits",
    `The key has ${OPEN_PERMITS_MAX} open permits, as many as it may have: close some of them, or wait until they end.`,
    { "Retry-After": RETRY_AFTER_SECONDS },
  )

const tooManyAsked = (): HttpError =>
  new HttpError(
    "too_many_approvals",
    "As many requests for an approval of this key or its end user wait as may: collect or withdraw some of them, or wait until they are decided.",
    { "Retry-After": RETRY_AFTER_SECONDS },
  )

export const permitsOff = (): HttpError => new HttpError("permits_off", "This deployment opens no permits.")
