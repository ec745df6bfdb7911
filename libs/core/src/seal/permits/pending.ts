/**
 * Permits that wait for the sealer. All that can be decided without the budget is decided; the rest is a pure function of the
 * tenant's window, which the batch calls behind the window's lock, in each of its rounds anew.
 */
import type { WrittenTexts } from "@runseal/canonical"
import type { OpeningBody } from "../../artifacts/opening.ts"
import type { Redemption } from "../../artifacts/permit-sections.ts"
import type { BudgetWindow } from "../../artifacts/sealed-sections.ts"
import type { Moment } from "../../formulas/moment.ts"
import type { Tenant } from "../../wire/submission.ts"
import type { Draft, PermitTerms } from "../draft.ts"

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

/** A permit that every gate before the budget admits. */
export type PendingOpening = {
  readonly tenant: Tenant
  readonly moment: Moment
  readonly program_id: string
  readonly route_id: string
  readonly terms: PermitTerms
  readonly charge: Reservation
  /** Canonical texts of the sections sealed so far. */
  readonly texts: WrittenTexts
  /**
   * @param window after the reservation, with its ordinal; a reservation that reaches the cap is not made: without ordinal, with
   *   the total that it would have led to
   */
  readonly settled: (window: BudgetWindow) => SettledOpening
}

/** A run that closes a permit, with everything decided but MACC. */
export type PendingClose = {
  readonly tenant: Tenant
  readonly permit_id: string
  /** RFC 3339: the admission of the close. */
  readonly closed_clock: string
  /** Tokens declared as spent. */
  readonly used: number
  readonly texts: WrittenTexts
  readonly settled: (settlement: Settlement) => Draft
}

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
 */
export type PermitRefusalReason =
  | "not_open"
  | "too_many_open"
  | "overflow"
  | "revoked"
  | "redeemed"
  | "expired"
  | "unknown"

/** Thrown to the caller of the sealer. */
export class PermitRefusal extends Error {
  override readonly name = "PermitRefusal"
  readonly reason: PermitRefusalReason

  constructor(reason: PermitRefusalReason) {
    super(`a permit was refused: ${reason}`)
    this.reason = reason
  }
}
