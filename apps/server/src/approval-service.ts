/**
 * Requests for an approval, from the refusal that asks for one to the end: a permit, or a refused run. What people decide in between is in
 * `http/routes/approvals-routes.ts`. docs/api.md, "Approvals".
 */
import { canonicalize, digest } from "@runseal/canonical"
import type { ApprovalRequest } from "@runseal/core/artifacts/approval-request"
import type { ApprovalOutcome, GivenApprovals } from "@runseal/core/artifacts/approvals"
import { DECLARED_NAMES, shown } from "@runseal/core/artifacts/declared-sections"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import { PermitRefusal } from "@runseal/core/seal/permits/pending"
import type { RequestDraft } from "@runseal/core/seal/permits/requested-run"
import { openRequested, type PendingRequest, type PermitContext } from "@runseal/core/seal/pipeline"
import { hasDecided } from "@runseal/core/verify/export-approvals"
import type { Submission, Tenant } from "@runseal/core/wire/submission"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { deciding } from "@runseal/policy/decide"
import { loadPolicy } from "@runseal/policy/load-policy"
import { approvalOver, HttpError } from "./http-error.ts"
import type { Policies } from "./policy-service.ts"
import type { SealedRun } from "./sealing/batch.ts"
import type { createMomentSource } from "./sealing/moment-source.ts"
import { actDigest, REJECTED_FOR_MS } from "./sealing/seal-approvals.ts"
import type { OpenedPermit } from "./sealing/seal-permits.ts"
import type { Sealer } from "./sealing/sealer.ts"
import { storedRequest } from "./sealing/stored-request.ts"
import { permitsOff, refusedAs } from "./sealing-refusals.ts"
import type { Database } from "./store/driver/database.ts"
import { StoreError } from "./store/driver/store-errors.ts"
import {
  type ApprovalDecisionRow,
  approvalDecisionOf,
  type DuePlace,
  type FoundApproval,
  findApproval,
  findDueApprovals,
  rejectedSince,
  waitingForAct,
  withdrawApproval,
} from "./store/tables/approvals-table.ts"
import type { KeyClaim } from "./store/tables/idempotency-keys.ts"

/** Largest payload that waits for an approval, in bytes of UTF-8: people are to read all of it. */
export const APPROVAL_PAYLOAD_MAX_BYTES = 65_536
/** Most requests that one step of the sweeper ends. */
const STEP_MAX_REQUESTS = 32
/** How often a collection is tried again that a decision came in between of. */
const COLLECT_TRIES = 3

/** A request that people have to decide on, by its id; or one that ended before, with its row. */
export type AskedApproval = { readonly asked: string } | { readonly stored: FoundApproval }

/** What a request has come to: nothing yet, or its end. */
export type Collected = { readonly waits: FoundApproval } | OpenedPermit | { readonly stored: FoundApproval }

export type Approvals = {
  /**
   * Seals a request, or gives the id of the one that waits for the same act; where people approved that one, opens its permit. An act that a
   * person rejected less than an hour ago is refused: the same request by the run that it was refused as, another one by a run of its own. Rejects as
   * `open` of permits does.
   */
  readonly ask: (
    pending: PendingRequest,
    submission: Pick<Submission, "payload" | "budgets">,
    claim: KeyClaim | undefined,
  ) => Promise<AskedApproval | OpenedPermit>
  /**
   * Opens the permit of a request that enough persons approved, once. A request that is over without it is ended now.
   * @returns `stored` of one that ended before: its row says in what
   */
  readonly collect: (
    found: FoundApproval,
    key: Pick<Submission, "budgets"> & { readonly tenant: Tenant },
  ) => Promise<Collected>
  /** Withdraws a request that waits, or that nobody has collected, and ends it. Rejects with a 409 for one that is over. */
  readonly withdraw: (found: FoundApproval) => Promise<void>
  /** Ends some requests that are over. @returns whether there may be more */
  readonly endDue: () => Promise<boolean>
}

type ApprovalParts = {
  readonly db: Database
  readonly sealer: Pick<Sealer, "seal" | "openPermit" | "requestApproval" | "acts">
  readonly nowMs: () => number
  readonly mint: ReturnType<typeof createMomentSource>
  readonly pipeline: () => PermitContext
  /** The policy of a request; undefined where its document is not there any more. */
  readonly policyOf: Policies["exactlyOf"]
  /** Whether this service opens permits. */
  readonly opens: boolean
  /** The service's own keys: a request that was changed in the database is not acted on. */
  readonly trust: TrustedKeys
  /** Called for a request that could not be ended. */
  readonly reportFailure: (error: unknown) => void
}

/** Decides what a request comes to, as of now. */
const createJudge =
  ({ mint, pipeline, policyOf, trust }: Pick<ApprovalParts, "mint" | "pipeline" | "policyOf" | "trust">) =>
  async (found: FoundApproval, outcome: ApprovalOutcome, key: Pick<Submission, "budgets">) => {
    const request = storedRequest(found, trust)
    const policy = await policyOf(request.sections.policy_evaluation)
    if (policy === undefined && outcome === "approved") throw new HttpError("approval_over", POLICY_AWAY)
    const moment = mint()
    const given = givenOf(found, outcome)
    if (!hasDecided(given, request.sections.policy_evaluation.needed ?? []))
      throw new HttpError("approval_over", OTHERWISE_DECIDED)
    const earliest = [given.requested_at, ...given.decisions.map(({ decided_at }) => decided_at)]
    if (outcome === "expired" || outcome === "unused") earliest.push(given.expires_at)
    const at = [moment.at, ...earliest].reduce((one, other) => (one > other ? one : other))
    // A request that is over is denied by any policy: where its own is gone, by the built-in one, which requires nothing of a run.
    const context = { ...pipeline(), policy: deciding(policy ?? loadPolicy()) }
    const tenant = { tenant_id: found.tenant_id, owner: found.owner }
    return openRequested({ tenant, request, given }, key, { ...moment, at }, context)
  }

/** Ends requests: in a permit, or in a refused run. */
function createEnds(parts: ApprovalParts) {
  const { db, sealer, nowMs, opens } = parts
  const judged = createJudge(parts)
  /** Ends a request that is over without a permit. */
  const end = async (found: FoundApproval, outcome: Exclude<ApprovalOutcome, "approved">): Promise<SealedRun> => {
    const draft = await judged(found, outcome, {})
    if (!("outcome_kind" in draft) || draft.sections.approvals === undefined)
      throw new Error("a request that is over is refused by the policy gate")
    return sealer.seal(draft)
  }
  const open = async (
    found: FoundApproval,
    key: Pick<Submission, "budgets">,
    claim?: KeyClaim,
  ): Promise<OpenedPermit> => {
    const made = await judged(found, "approved", key)
    if (!("outcome_kind" in made)) return sealer.openPermit(made, claim)
    // A stage that failed before the policy decided uses no approval up.
    if (made.sections.approvals === undefined) throw made.failure ?? new Error("a collection came to the policy gate")
    return { refused: await sealer.seal(made, claim) }
  }
  const collect = async (found: FoundApproval, key: Pick<Submission, "budgets">, tries: number): Promise<Collected> => {
    if (found.ended_at > 0) return { stored: found }
    const outcome = outcomeOf(found, nowMs())
    if (outcome === undefined) return { waits: found }
    if (outcome === "approved" && !opens) throw permitsOff()
    try {
      return outcome === "approved" ? await open(found, key) : { refused: await end(found, outcome) }
    } catch (error) {
      if (!hasChanged(error) || tries <= 1) throw error
      const again = await findApproval(db, found.approval_id)
      if (again === undefined) throw error
      return collect(again, key, tries - 1)
    }
  }
  return { end, open, collect }
}

export function openApprovals(parts: ApprovalParts): Approvals {
  const { db, sealer, nowMs, trust, reportFailure } = parts
  const { end, open, collect } = createEnds(parts)
  /** How far the sweeper has come: it begins anew behind the last one. */
  let looked: DuePlace | undefined
  const isSameRequest = (found: FoundApproval, request: RequestDraft): boolean =>
    askedText(storedRequest(found, trust)) === askedText(request)
  const waitingSame = async (act: string, request: RequestDraft): Promise<FoundApproval | undefined> => {
    const id = await waitingForAct(db, act)
    const found = id === undefined ? undefined : await findApproval(db, id)
    if (found === undefined || found.ended_at > 0) return undefined
    if (!isSameRequest(found, request)) throw waitsOtherwise(found.approval_id)
    return found
  }
  const endOver = async (approval_id: string): Promise<void> => {
    const found = await findApproval(db, approval_id)
    const outcome = found && outcomeOf(found, Math.max(nowMs(), found.expires_at))
    if (found === undefined || found.ended_at > 0 || outcome === undefined || outcome === "approved") return
    await end(found, outcome)
  }
  return {
    ask: async (pending, submission, claim) => {
      const { tenant, request, refused } = pending
      const { envelope, payload: hashed } = request.sections
      if (hashed.payload_bytes > APPROVAL_PAYLOAD_MAX_BYTES) throw tooLarge()
      const act = actDigest(tenant.tenant_id, envelope.route_id, hashed.payload_hash)
      const [rejection] = await rejectedSince(db, act, nowMs() - REJECTED_FOR_MS)
      const rejected = rejection && (await findApproval(db, rejection.approval_id))
      if (rejected !== undefined && rejected.ended_at > 0)
        return isSameRequest(rejected, request) ? { stored: rejected } : { refused: await sealer.seal(refused, claim) }
      const same = await waitingSame(act, request)
      const outcome = same && outcomeOf(same, nowMs())
      if (same !== undefined && outcome === undefined) return { asked: same.approval_id }
      if (same !== undefined && outcome === "approved") return open(same, submission, claim)
      // One that is over, and whose end is not sealed yet: the act is asked for anew.
      if (same !== undefined && outcome !== undefined && outcome !== "approved") {
        await end(same, outcome).catch(unlessChanged)
        const over = outcome === "rejected" ? await findApproval(db, same.approval_id) : undefined
        if (over !== undefined && over.ended_at > 0) return { stored: over }
      }
      try {
        return { asked: await sealer.requestApproval(pending, submission.payload, claim) }
      } catch (error) {
        const other = error instanceof PermitRefusal && error.reason === "asked" && (await waitingSame(act, request))
        if (other) return { asked: other.approval_id }
        throw error
      }
    },
    collect: (found, key) => collect(found, key, COLLECT_TRIES).catch(refusedAs("reserve_tokens")),
    withdraw: async found => {
      const done = await sealer.acts.transaction(tx => withdrawApproval(tx, found.approval_id, nowMs()))
      if (!done) throw approvalOver()
      const now = await findApproval(db, found.approval_id)
      if (now !== undefined && now.ended_at === 0) await end(now, "withdrawn").catch(unlessChanged)
    },
    endDue: async () => {
      const due = await findDueApprovals(db, nowMs(), STEP_MAX_REQUESTS, looked)
      // One that cannot be ended keeps no other from its end; where nothing can be sealed, none is tried further.
      for (const { approval_id } of due)
        await endOver(approval_id).catch((error: unknown) => {
          if (error instanceof StoreError && error.code !== "corrupt") throw error
          if (!hasChanged(error)) reportFailure(error)
        })
      looked = due.length === STEP_MAX_REQUESTS ? due.at(-1) : undefined
      return looked !== undefined
    },
  }
}

const OTHERWISE_DECIDED =
  "The stored decisions are not those by which the request came to its state, so nothing is permitted: its operator has to find out why."

const POLICY_AWAY =
  "The policy by which the approval was asked for cannot be read any more. Nothing was permitted: withdraw the request, and make a new one."

const hasChanged = (error: unknown): boolean => error instanceof PermitRefusal && error.reason === "approval_changed"

function unlessChanged(error: unknown): void {
  if (!hasChanged(error)) throw error
}

const tooLarge = (): HttpError =>
  new HttpError(
    "approval_payload_too_large",
    `A payload that waits for an approval has at most ${APPROVAL_PAYLOAD_MAX_BYTES} bytes, so that people can read all of it.`,
  )

const waitsOtherwise = (approval_id: string): HttpError =>
  new HttpError(
    "approval_waiting",
    `The same payload waits for an approval with other terms, declarations or end user (${approval_id}): collect or withdraw that request first.`,
  )

/** What a request that has not ended comes to now; undefined while people decide. @param now milliseconds since the epoch */
function outcomeOf({ state, expires_at }: FoundApproval, now: number): ApprovalOutcome | undefined {
  if (state === "rejected" || state === "withdrawn") return state
  const isOver = expires_at <= now
  if (state === "approved") return isOver ? "unused" : "approved"
  return isOver ? "expired" : undefined
}

const timestamp = (ms: number): string => new Date(ms).toISOString()

/** What is sealed of the decisions. */
const givenOf = (found: FoundApproval, outcome: ApprovalOutcome): GivenApprovals => ({
  approval_id: found.approval_id,
  request_hash: found.request_hash,
  requested_at: timestamp(found.requested_at),
  expires_at: timestamp(found.expires_at),
  outcome,
  decisions: found.decided.map((row: ApprovalDecisionRow) => approvalDecisionOf(row)),
})

/**
 * What is asked for, beside payload, route and tenant: the same request has the same text. The context of a program may differ, which names the
 * attempt: what is sealed is that of the first.
 */
function askedText(request: RequestDraft | ApprovalRequest): string {
  const { sections, audience, valid_for_seconds, close_within_seconds, reserve_tokens } = request
  const { envelope, end_user } = sections
  const person = end_user && shownEndUser(end_user)
  return digest({
    program_id: envelope.program_id,
    registry_record_hash: envelope.registry_record_hash,
    audience,
    valid_for_seconds,
    close_within_seconds,
    reserve_tokens,
    end_user: person === undefined ? "" : canonicalize([person.issuer, person.subject]),
    declared: DECLARED_NAMES.filter(name => name !== "reproducibility_context").map(name =>
      canonicalize(shown(sections[name])?.declared ?? {}),
    ),
  })
}
