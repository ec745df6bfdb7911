/** What the sealer decides of a permit behind the lock of its window: a reservation, a settlement, a refusal. */
import type { OpeningBody } from "../../artifacts/opening.ts"
import type { Redemption } from "../../artifacts/permit-sections.ts"
import type { BudgetWindow } from "../../artifacts/sealed-sections.ts"
import type { Draft } from "../draft.ts"

/** Most open permits of one API key, and of all anonymous callers together. */
export const OPEN_PERMITS_MAX = 1000
/** The reservation to make in a window. */
export type Reservation = {
  readonly charge_id: string
  readonly window_seconds: number
  /** Milliseconds since the epoch. */
  readonly window_start: number
  readonly tokens: number
  readonly cap: number
}

/** The body of an opening document, without the salt that opens the tenant's commitment: the sealer knows it. */
export type OpeningDraft = Omit<OpeningBody, "tenant_salt">

/** The refused draft has `refused_permit`. */
export type SettledOpening = { readonly opening: OpeningDraft } | { readonly refused: Draft }

/** What a close is settled with. */
export type Settlement = {
  /** After the last movement of the close. `tokens`: used; `reserved`: of the opening. */
  readonly window: BudgetWindow
  /** Absent when the permit was not redeemed. */
  readonly redemption?: Redemption
}

/**
 * Why an item of a permit was not sealed. Nothing of it moved.
 * - `not_open`: the permit is closed, ended, or another's; or it is to end as expired, and its time is not over
 * - `too_many_open`: its key has OPEN_PERMITS_MAX of them
 * - `overflow`: the window's total would pass 2^53−1
 * - `revoked`: the key was revoked meanwhile
 * - `redeemed`: it was redeemed before
 * - `expired`: its time to act is over
 * - `unknown`: it may have been redeemed, in a record that is lost
 * - `asked`: a request for an approval of the same act waits
 * - `too_many_asked`: so many requests of its key or its end user wait as may
 * - `approval_changed`: the request for an approval that it ends was decided, withdrawn or ended meanwhile
 */
export type PermitRefusalReason =
  | "not_open"
  | "too_many_open"
  | "overflow"
  | "revoked"
  | "redeemed"
  | "expired"
  | "unknown"
  | "asked"
  | "too_many_asked"
  | "approval_changed"

/** Thrown to the caller of the sealer. */
export class PermitRefusal extends Error {
  override readonly name = "PermitRefusal"
  readonly reason: PermitRefusalReason

  constructor(reason: PermitRefusalReason) {
    super(`a permit was refused: ${reason}`)
    this.reason = reason
  }
}
