/** Permits as a batch holds them locked, with what a redemption adds. */
import { parseStrictJson } from "@runseal/canonical"
import { parseExact } from "../../artifacts/parse-exact.ts"
import { type Redemption, redemptionSchema } from "../../artifacts/permit-sections.ts"
import type { PermitState } from "../../wire/permit-requests.ts"
import type { Reservation } from "./pending.ts"

/** The redemption of a permit, and its entry in the log. */
export type PermitRedemption = {
  readonly permit_id: string
  /** Milliseconds since the epoch; 0 = not redeemed. */
  readonly redeemed_at: number
  /** RFC 8785; "" = not redeemed. */
  readonly redemption_entry: string
}

/** What a close, an end or a redemption needs of a permit. Times are milliseconds since the epoch. */
export type LockedPermit = PermitRedemption &
  Omit<Reservation, "tokens"> & {
    /** Id of the API key that opened it. */
    readonly owner: number
    readonly state: PermitState
    readonly reserved: number
    readonly opened_at: number
    readonly expires_at: number
    readonly close_by: number
    /** When it is to be ended unless it is closed: `close_by`, or 0 once its key is revoked. */
    readonly due_at: number
    /** Whether a redemption may have been lost: then it is never redeemed. */
    readonly redemption_unknown: boolean
    readonly opening_hash: string
  }

/** What there is of an owner's permits. */
export type PermitCounts = {
  /** Permits so far, the refused too: the ordinal of the last one. */
  readonly permits: number
  readonly open: number
  /** Whether the owner may open more: its key is not revoked, and stays so while the batch holds it. */
  readonly active: boolean
}

/** The redemption that a row holds; undefined when there is none. @throws Error when the database was changed from outside */
export function storedRedemption({
  permit_id,
  redeemed_at,
  redemption_entry,
}: PermitRedemption): Redemption | undefined {
  if (redeemed_at === 0) return undefined
  const redemption = { redeemed_clock: new Date(redeemed_at).toISOString(), entry: parseStrictJson(redemption_entry) }
  const stored = parseExact(redemptionSchema, redemption)
  if (!stored.ok) throw new Error(`the stored redemption of ${permit_id} is unreadable`)
  return stored.value
}
