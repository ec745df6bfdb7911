/**
 * What the permits of a batch move: pure functions of the rows that the batch has locked, in a book that each of its rounds opens anew. An item
 * whose function throws is refused alone, and moves nothing.
 */

import type { RedemptionLeaf } from "../../artifacts/anchor.ts"
import { type EndReason, PERMIT_END_KIND, type PermitEndBody } from "../../artifacts/permit-end.ts"
import type { BudgetWindow } from "../../artifacts/sealed-sections.ts"
import { redemptionLeaf } from "../../formulas/permit.ts"
import type { Tenant } from "../../wire/submission.ts"
import type { Draft } from "../draft.ts"
import { type PendingClose, type PendingOpening, settleClose, settleOpening } from "../settlement.ts"
import type { Watch } from "../stage-failure.ts"
import { type LockedPermit, type PermitCounts, storedRedemption } from "./locked-permit.ts"
import {
  OPEN_PERMITS_MAX,
  type OpeningDraft,
  PermitRefusal,
  type PermitRefusalReason,
  type Reservation,
  type SettledOpening,
} from "./pending.ts"
import { type WindowKey, type WindowMovement, type WindowTotals, windowName } from "./windows.ts"

/** Open permits of one tenant that are to be ended: at most ENDED_OPENINGS_MAX of them. */
export type PendingEnd = {
  readonly tenant: Tenant
  readonly permit_ids: readonly string[]
  readonly reason: EndReason
}

/** A permit that is to be redeemed. */
export type PendingRedemption = {
  /** Id of the API key that opened it. */
  readonly owner: number
  readonly permit_id: string
}

/** What the batch has locked for its permits. */
export type PermitLocks = {
  readonly permits: ReadonlyMap<string, LockedPermit>
  /** By windowName. */
  readonly windows: ReadonlyMap<string, WindowTotals>
  /** By owner, of openings. */
  readonly counts: ReadonlyMap<number, PermitCounts>
  /** Milliseconds since the epoch: when movements are made. */
  readonly now: number
}

export const NOTHING_LOCKED: PermitLocks = { permits: new Map(), windows: new Map(), counts: new Map(), now: 0 }

type Movement = Pick<WindowMovement, "charge_id" | "kind" | "tokens">

const refuse = (reason: PermitRefusalReason): never => {
  throw new PermitRefusal(reason)
}

/** The windows as the movements of a round leave them, one after the other. */
export function openBook({ permits, windows, counts, now }: PermitLocks) {
  const movements: WindowMovement[] = []
  const moved = new Map<string, WindowTotals>()
  /** Permits that this round has closed or ended. */
  const taken = new Set<string>()
  /** Permits that this round has redeemed. */
  const redeemed = new Set<string>()
  /** Open permits by owner. */
  const open = new Map([...counts].map(([owner, count]) => [owner, count.open]))
  return {
    movements,
    moved,
    now,
    isActive: (owner: number): boolean => counts.get(owner)?.active === true,
    isFull: (owner: number): boolean => (open.get(owner) ?? 0) >= OPEN_PERMITS_MAX,
    /** The rows of movements made one after the other. @throws PermitRefusal when a total would pass 2^53−1 */
    follow: (key: WindowKey, made: readonly Movement[]): readonly WindowMovement[] => {
      const name = windowName(key)
      const before = moved.get(name) ?? windows.get(name)
      if (before === undefined) throw new Error("every window of a batch is locked before it is built")
      let { total, movements: ordinal, ...window } = before
      return made.map(movement => {
        if (movement.tokens > Number.MAX_SAFE_INTEGER - total) refuse("overflow")
        total += movement.tokens
        ordinal++
        return { ...window, ...movement, ordinal, total_after: total, moved_at: now }
      })
    },
    enter: (rows: readonly WindowMovement[]): void => {
      movements.push(...rows)
      for (const { tenant_id, window_seconds, window_start, ordinal, total_after } of rows) {
        const key = { tenant_id, window_seconds, window_start }
        moved.set(windowName(key), { ...key, total: total_after, movements: ordinal })
      }
    },
    openPermit: (permitId: string, owner: number): LockedPermit | undefined => {
      const found = permits.get(permitId)
      return found?.state === "open" && found.owner === owner && !taken.has(permitId) ? found : undefined
    },
    take: ({ permit_id, owner }: LockedPermit): void => {
      taken.add(permit_id)
      open.set(owner, (open.get(owner) ?? 0) - 1)
    },
    /** @returns whether it was not redeemed before */
    redeem: ({ permit_id, redeemed_at }: LockedPermit): boolean => {
      if (redeemed_at !== 0 || redeemed.has(permit_id)) return false
      redeemed.add(permit_id)
      return true
    },
    add: (owner: number): void => void open.set(owner, (open.get(owner) ?? 0) + 1),
  }
}
export type Book = ReturnType<typeof openBook>

/** The record of a close, with its settlement. @throws PermitRefusal */
export function closeIn(book: Book, pending: PendingClose, watch: Watch): Draft {
  const { tenant, permit_id, run } = pending
  const used = run.spending.tokens
  const permit = book.openPermit(permit_id, tenant.owner) ?? refuse("not_open")
  const { charge_id, reserved } = permit
  const rows = book.follow({ ...keyOf(permit), tenant_id: tenant.tenant_id }, [
    { charge_id, kind: "settle", tokens: Math.min(used, reserved) - reserved },
    ...(used > reserved ? [{ charge_id, kind: "charge" as const, tokens: used - reserved }] : []),
  ])
  const window = { ...windowAfter(permit, rows), tokens: used, reserved }
  const redemption = storedRedemption(permit)
  const draft = settleClose(pending, { window, ...(redemption === undefined ? {} : { redemption }) }, watch)
  book.enter(rows)
  book.take(permit)
  return draft
}

/**
 * Ends those of the permits that are still open. Whether their time is over is asked here again: the clock by which they were found may
 * have been set back since. @throws PermitRefusal when there is none
 */
export function endIn(book: Book, { tenant, permit_ids, reason }: PendingEnd, tenant_salt: string): PermitEndBody {
  const { tenant_id } = tenant
  const openings = permit_ids.flatMap(permit_id => {
    const permit = book.openPermit(permit_id, tenant.owner)
    if (permit === undefined || (reason === "expired" && permit.close_by >= book.now)) return []
    const { charge_id, reserved, opening_hash, window_seconds } = permit
    const redemption = storedRedemption(permit)
    // Who redeemed it has started the act, so that nobody can tell that nothing was used.
    const movement =
      redemption === undefined
        ? { charge_id, kind: "release" as const, tokens: 0 - reserved }
        : { charge_id, kind: "settle" as const, tokens: 0 }
    const rows = book.follow({ ...keyOf(permit), tenant_id }, [movement])
    book.enter(rows)
    book.take(permit)
    const { ordinal, total_after, window_start } = windowAfter(permit, rows)
    const ended = { permit_id, opening_hash, window_seconds, window_start, ordinal, total_after }
    return [redemption === undefined ? { ...ended, released: reserved } : { ...ended, charged: reserved, redemption }]
  })
  if (openings.length === 0) refuse("not_open")
  return { kind: PERMIT_END_KIND, tenant_id, tenant_salt, reason, end_clock: clock(book.now), openings }
}

/**
 * Expired is a permit whose time has come by the log as well: a clock that is behind extends nothing. One whose key was revoked is to
 * end. @throws PermitRefusal
 */
export function redeemIn(book: Book, { owner, permit_id }: PendingRedemption): RedemptionLeaf {
  const permit = book.openPermit(permit_id, owner) ?? refuse("not_open")
  const at = Math.max(book.now, permit.opened_at)
  if (permit.redeemed_at !== 0) refuse("redeemed")
  if (permit.due_at === 0) refuse("not_open")
  if (permit.redemption_unknown) refuse("unknown")
  if (permit.expires_at <= at) refuse("expired")
  if (!book.redeem(permit)) refuse("redeemed")
  return redemptionLeaf(permit_id, clock(at))
}

/** An opening with its reservation, or the record of the run that it is refused as. @throws PermitRefusal */
export function openIn(
  book: Book,
  pending: PendingOpening,
): { readonly opening: OpeningDraft } | { readonly run: Draft } {
  const { tenant, charge } = pending
  if (!book.isActive(tenant.owner)) refuse("revoked")
  if (book.isFull(tenant.owner)) refuse("too_many_open")
  const { charge_id, tokens, cap } = charge
  const rows = book.follow({ ...keyOf(charge), tenant_id: tenant.tenant_id }, [{ charge_id, kind: "reserve", tokens }])
  const after = { ...windowAfter(charge, rows), tokens }
  if (after.total_after >= cap) {
    const { ordinal: _, ...refused } = after
    return runOf(settleOpening(pending, refused))
  }
  const made = settleOpening(pending, after)
  if ("refused" in made) return runOf(made)
  book.enter(rows)
  book.add(tenant.owner)
  return made
}

/** The draft of an opening that was refused. */
function runOf(made: SettledOpening): { readonly run: Draft } {
  if ("refused" in made) return { run: made.refused }
  throw new Error("an opening whose reservation reaches the cap was not refused")
}

const keyOf = ({ window_seconds, window_start }: Omit<WindowKey, "tenant_id">) => ({ window_seconds, window_start })

const clock = (ms: number): string => new Date(ms).toISOString()

/** The window as a document shows it after its last movement. */
function windowAfter(
  { charge_id, cap, window_seconds, window_start }: Omit<Reservation, "tokens">,
  rows: readonly WindowMovement[],
): Omit<BudgetWindow, "tokens" | "reserved" | "ordinal"> & { readonly ordinal: number } {
  const last = rows.at(-1)
  if (last === undefined) throw new Error("what settles a permit moves its window")
  const { ordinal, total_after } = last
  return { charge_id, cap, window_seconds, window_start: clock(window_start), ordinal, total_after }
}
