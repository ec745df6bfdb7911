/** Openings, redemptions, closes and ends of permits on their way into the log. docs/formats.md sections 7.8, 7.9 and 7.11. */
import { canonicalize } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import { OPENING_FORM, PERMIT_END_FORM } from "@runseal/core/formulas/chain-forms"
import { leafBytes } from "@runseal/core/formulas/leaves"
import {
  closeIn,
  endIn,
  openIn,
  type PendingEnd,
  type PendingRedemption,
  redeemIn,
} from "@runseal/core/seal/permits/settle-permits"
import { unverified } from "@runseal/core/seal/record"
import type { PendingClose, PendingOpening } from "@runseal/core/seal/settlement"
import { tenantOf } from "@runseal/core/seal/tenant-chain"
import { anchorProblem } from "@runseal/core/verify/anchor-check"
import { OPENING } from "@runseal/core/verify/verify-opening"
import { PERMIT_END } from "@runseal/core/verify/verify-permit-end"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import { leafed, type OpenItem, type SealedRun, withoutLeaf } from "./batch.ts"
import { chainPart } from "./chain-part.ts"
import { askedColumns } from "./permit-rows.ts"
import { endingLocks, endRequest } from "./seal-approvals.ts"
import { runPart } from "./seal-run.ts"

/** What the opening of a permit came to. */
export type OpenedPermit = { readonly opening: Opening } | { readonly refused: SealedRun }

/** A reservation and its opening, or the run that it is refused as. */
export const openingItem = (
  pending: PendingOpening,
  claim: KeyClaim | undefined,
  answer: (sealed: OpenedPermit) => void,
): OpenItem => {
  const { tenant, charge, run } = pending
  const { window_seconds, window_start } = charge
  return {
    kind: "opening",
    claim,
    // The charge of a permit belongs to its opening, whichever request moves it.
    charge_id: "",
    bytes: run.facts.texts.size(),
    locks: {
      tenant,
      opens: tenant.owner,
      window: { tenant_id: tenant.tenant_id, window_seconds, window_start },
      ...endingLocks(pending.sections),
    },
    open: (round, fault) => {
      const ended = endRequest(round, pending.sections)
      const made = openIn(round.book, pending)
      if ("run" in made) {
        const refused = (run: SealedRun): void => answer({ refused: run })
        return runPart("refused opening", made.run, fault, round, refused, run_id => ended({ run_id }))
      }
      return chainPart(round, {
        place: "opening",
        kind: OPENING,
        form: OPENING_FORM,
        tenant,
        bodyAt: head => ({ ...made.opening, tenant_salt: head.salt }),
        texts: run.facts.texts,
        clockOf: ({ sections }) => sections.envelope.admission_clock,
        sealed: (document, { log_index }) => ({
          rows: {
            permit: {
              ...askedColumns(run.facts, pending.terms),
              log_index,
              state: "open",
              charge_id: charge.charge_id,
              window_seconds,
              window_start,
              cap: charge.cap,
              run_id: 0,
              opening_hash: document.opening_hash,
            },
            ...ended({ permit_id: document.permit_id }),
          },
          record_id: document.permit_id,
          counted: ["opening"],
          acknowledge: () => answer({ opening: document }),
        }),
      })
    },
  }
}

/** The settlement of a permit's reservation, and the run that closes it. */
export const closeItem = (
  pending: PendingClose,
  claim: KeyClaim | undefined,
  answer: (run: SealedRun) => void,
): OpenItem => {
  const { tenant, permit_id, run } = pending
  return {
    kind: "close",
    claim,
    charge_id: "",
    bytes: run.facts.texts.size(),
    locks: { tenant, settles: [permit_id] },
    open: (round, fault) =>
      runPart("close", closeIn(round.book, pending, round.context.watch), fault, round, answer, run_id => ({
        settled: [{ permit_id, state: "closed", run_id, end_ordinal: 0 }],
      })),
  }
}

/** The release of reservations, and the document that ends their permits: those of them that are still open. */
export const endItem = (pending: PendingEnd, answer: () => void): OpenItem => ({
  kind: "end",
  charge_id: "",
  bytes: 0,
  locks: { tenant: pending.tenant, settles: pending.permit_ids },
  open: round => {
    const { tenant } = pending
    const body = endIn(round.book, pending, tenantOf(round.tenants, tenant.tenant_id).salt)
    return chainPart(round, {
      place: "end",
      kind: PERMIT_END,
      form: PERMIT_END_FORM,
      tenant,
      bodyAt: () => body,
      clockOf: ({ end_clock }) => end_clock,
      sealed: (document, { chain_ordinal }) => ({
        rows: {
          settled: document.openings.map(({ permit_id }) => ({
            permit_id,
            state: "ended",
            run_id: 0,
            end_ordinal: chain_ordinal,
          })),
        },
        record_id: "",
        counted: ["permit_end"],
        acknowledge: answer,
      }),
    })
  },
})

/** The one redemption of an open permit. @param answer called with its time in milliseconds */
export const redemptionItem = (pending: PendingRedemption, answer: (redeemed_at: number) => void): OpenItem => ({
  kind: "redemption",
  charge_id: "",
  bytes: 0,
  locks: { redeems: pending.permit_id },
  open: round => {
    const leaf = redeemIn(round.book, pending)
    return {
      place: "redemption",
      before: () =>
        withoutLeaf(() =>
          leafed(round, { leaf, bytes: leafBytes(leaf) }, appended => () => {
            const anchor = round.anchor(appended)
            const { permit_id, redeemed_clock } = leaf
            // Its entry is verified here, as every document is before its batch is committed: what closes or ends the permit will hold it.
            const problem = anchorProblem(anchor, redeemed_clock, round.context.trust)
            if (problem !== undefined) throw unverified(problem)
            const redeemed_at = Date.parse(redeemed_clock)
            const redemption = { permit_id, redeemed_at, redemption_entry: canonicalize(anchor.entry) }
            return {
              seal: () => ({
                rows: { redemption },
                record_id: "",
                counted: ["redemption"],
                acknowledge: () => answer(redeemed_at),
              }),
            }
          }),
        ),
    }
  },
})
