/** Permits from request to sealed document: opened, given out as tokens, redeemed, closed. docs/api.md, "Permits". */

import type { Opening } from "@runseal/core/artifacts/opening"
import type { Redemption } from "@runseal/core/artifacts/permit-sections"
import { declaredTwice, type ReportedAct } from "@runseal/core/seal/permits/closing-run"
import type { AskedPermit } from "@runseal/core/seal/permits/permit-terms"
import type { PendingRedemption } from "@runseal/core/seal/permits/settle-permits"
import { closePermit, openPermit, type PermitContext } from "@runseal/core/seal/pipeline"
import { clockMillis } from "@runseal/core/vocabulary/scalars"
import type { Jwks } from "@runseal/core/wire/permit-answers"
import type { Submission, Tenant } from "@runseal/core/wire/submission"
import { type PermitVerdict, verifyPermit } from "@runseal/permit"
import { deciding } from "@runseal/policy/decide"
import type { Approvals, AskedApproval } from "./approval-service.ts"
import { badRequest, permitNotOpen } from "./http-error.ts"
import { type SignOpening, serviceJwks } from "./keys/permit-signing.ts"
import type { Policies } from "./policy-service.ts"
import { type NoteFailure, reportingFailures } from "./reported-failures.ts"
import type { SealedRun } from "./sealing/batch.ts"
import type { createMomentSource } from "./sealing/moment-source.ts"
import type { OpenedPermit } from "./sealing/seal-permits.ts"
import type { Sealer } from "./sealing/sealer.ts"
import { permitsOff, refusedAs } from "./sealing-refusals.ts"
import type { Database } from "./store/driver/database.ts"
import type { KeyClaim } from "./store/tables/idempotency-keys.ts"
import { readSigningKeys } from "./store/tables/signing-keys.ts"
import type { ReportFault } from "./telemetry.ts"

/** An open permit, as its owner closes it. */
export type ClosedPermit = {
  readonly tenant: Tenant
  readonly opening: Opening
  /** Disclosure seed of the opening, hex. */
  readonly seed: string
  /** Absent while it is not redeemed. */
  readonly redemption?: Redemption
}

/** The request that a permit is opened or closed for. */
type Request = { readonly claim?: KeyClaim | undefined; readonly request_id?: string }

export type Permits = {
  /**
   * Opens a permit, as the one opening of its claim's key; or asks people for their approval, and gives the id of the request. Rejects with
   * a 4xx or 503, never with half an opening.
   */
  readonly open: (submission: Submission, asked: AskedPermit, request: Request) => Promise<OpenedPermit | AskedApproval>
  /** Seals the run that closes a permit. Rejects as `open` does. */
  readonly close: (permit: ClosedPermit, act: ReportedAct, request: Request) => Promise<SealedRun>
  /** The token of an opening; undefined once it has expired, and where this service gives out none. */
  readonly sign: (opening: Opening) => Promise<string | undefined>
  /** Judges a token, as one for this opening, by the keys of `jwks`. */
  readonly check: (token: string, opening: Opening) => Promise<PermitVerdict>
  /**
   * Redeems a permit, which is then an entry of the log. Gives its time in milliseconds. Rejects with 401 once it has expired, with 409 once
   * it was redeemed, closed or ended, with 503 as `open` does.
   */
  readonly redeem: (permit: PendingRedemption) => Promise<number>
  /** The keys with which tokens are checked. */
  readonly jwks: () => Promise<Jwks>
}

type PermitParts = {
  readonly db: Database
  readonly sealer: Pick<Sealer, "seal" | "openPermit" | "closePermit" | "redeemPermit">
  readonly nowMs: () => number
  readonly mint: ReturnType<typeof createMomentSource>
  /** What an opening or a close is held against that is admitted now. */
  readonly pipeline: () => PermitContext
  /** A close is decided by the policy of its opening: one that is loaded meanwhile must not make a refusal of an act that was done. */
  readonly policyOf: Policies["ofEvaluation"]
  /** Asks people for their approval. */
  readonly ask: Approvals["ask"]
  /** Undefined where this service opens no permits. */
  readonly signOpening: SignOpening | undefined
  /** Origin of the log, which issues the tokens. */
  readonly issuer: string
  readonly reportFault: ReportFault
}

/** Seconds by which the clocks of this service's own processes may differ. */
const LEEWAY_SECONDS = 5

export function openPermits({
  db,
  sealer,
  nowMs,
  mint,
  pipeline,
  policyOf,
  ask,
  signOpening,
  issuer,
  reportFault,
}: PermitParts): Permits {
  const jwks = async (): Promise<Jwks> => serviceJwks(await readSigningKeys(db), nowMs() / 1000)
  return {
    open: async (submission, asked, { claim, request_id }) => {
      if (signOpening === undefined) throw permitsOff()
      const context = pipeline()
      const work = async (noteFailure: NoteFailure): Promise<OpenedPermit | AskedApproval> => {
        const pending = await openPermit(submission, asked, mint(), context)
        if ("outcome_kind" in pending) noteFailure(pending)
        if ("outcome_kind" in pending) return { refused: await sealer.seal(pending, claim) }
        const made = "request" in pending ? ask(pending, submission, claim) : sealer.openPermit(pending, claim)
        return made.catch(refusedAs("reserve_tokens"))
      }
      const refusedRun = (made: OpenedPermit | AskedApproval): SealedRun | undefined =>
        "refused" in made ? made.refused : undefined
      return reportingFailures("open permit", reportFault, request_id, work, refusedRun)
    },
    close: async ({ tenant, opening, seed, redemption: known }, act, { claim, request_id }) => {
      const twice = declaredTwice(opening, act.declared)
      if (twice !== undefined)
        throw badRequest(`${twice} was declared at the opening of the permit: a close declares what it left open.`)
      const closed_clock = latest(mint().at, opening.sections.envelope.admission_clock)
      if (closed_clock > opening.close_by) throw permitNotOpen()
      const redemption = known === undefined ? {} : { redemption: known }
      const closing = { tenant, act, opening, seed, closed_clock, ...redemption }
      const context = { ...pipeline(), policy: deciding(await policyOf(opening.sections.policy_evaluation)) }
      const work = async (): Promise<SealedRun> => {
        const pending = await closePermit(closing, context)
        return sealer.closePermit(pending, claim).catch(refusedAs("request_substance.cost.total_tokens"))
      }
      return reportingFailures("close permit", reportFault, request_id, work, run => run)
    },
    sign: async opening => (isExpired(opening, nowMs()) ? undefined : signOpening?.(opening)),
    check: async (token, opening) => {
      const { audience, tenant_id, sections } = opening
      const { program_id, route_id, payload_hash } = sections.envelope
      const act = { audience, tenant_id, program_id, route_id, payload_hash }
      const now = new Date(nowMs())
      const expected = { ...act, issuer, keys: await jwks(), redeems: true, now, leeway_seconds: LEEWAY_SECONDS }
      return verifyPermit(token, expected)
    },
    redeem: permit => sealer.redeemPermit(permit).catch(refusedAs("permit")),
    jwks,
  }
}

const latest = (a: string, b: string): string => (a > b ? a : b)

const millisOf = (clock: string): number => clockMillis(clock) ?? Number.NaN

/** The token's times are in whole seconds, rounded down. */
const isExpired = ({ expires_at }: Pick<Opening, "expires_at">, now: number): boolean =>
  Math.floor(now / 1000) >= Math.floor(millisOf(expires_at) / 1000)
