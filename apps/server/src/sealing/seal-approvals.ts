/**
 * Requests for an approval on their way into the log, and the lock under which each ends once. docs/formats.md section 7.12. What is asked of the
 * database here is asked behind the lock of the log's head, which every decision of a person holds too.
 */
import { digest } from "@runseal/canonical"
import { type ShownApprovals, shownApprovals } from "@runseal/core/artifacts/approvals"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import type { Sections } from "@runseal/core/artifacts/sections"
import { APPROVAL_REQUEST_FORM } from "@runseal/core/formulas/chain-forms"
import { PermitRefusal } from "@runseal/core/seal/permits/pending"
import type { PendingRequest } from "@runseal/core/seal/pipeline"
import { APPROVAL_REQUEST } from "@runseal/core/verify/verify-approval-request"
import type { PayloadKeys } from "../keys/payload-keys.ts"
import { countWaiting, type LockedApproval, rejectedSince, waitingForAct } from "../store/tables/approvals-table.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { Item, Round, Rows } from "./batch.ts"
import { chainPart } from "./chain-part.ts"

/** For so long an act is refused at once after a person rejected it, in milliseconds. */
export const REJECTED_FOR_MS = 3_600_000
/** Most requests of one API key that wait at once; and of one end user, over all keys. */
const WAITING_OF_KEY_MAX = 50
const WAITING_OF_END_USER_MAX = 10

/** The same for the same payload, route and tenant: for these one request waits at a time. */
export const actDigest = (tenant_id: string, route_id: string, payload_hash: string): string =>
  digest({ kind: "runseal.approval_act.v1", tenant_id, route_id, payload_hash })

type EncryptedAside = Pick<PayloadKeys, "encryptPayload"> & { readonly payload: string }

/** A request, and its payload for those who decide. @param answer called with its id */
export const requestItem = (
  pending: PendingRequest,
  { payload, encryptPayload }: EncryptedAside,
  claim: KeyClaim | undefined,
  answer: (approval_id: string) => void,
): Item => {
  const { tenant, run, request } = pending
  const { approval_id, sections } = request
  const { envelope, payload: hashed, policy_evaluation, end_user } = sections
  const act_digest = actDigest(tenant.tenant_id, envelope.route_id, hashed.payload_hash)
  const { subject: end_user_subject = "", issuer: end_user_issuer = "" } = (end_user && shownEndUser(end_user)) ?? {}
  const { needed = [] } = policy_evaluation
  const groups = [...new Set(needed.flatMap(({ by }) => by))]
  return {
    kind: "request",
    claim,
    charge_id: "",
    bytes: run.facts.texts.size(),
    locks: { tenant, opens: tenant.owner },
    read: async tx => {
      const waiting = await countWaiting(tx, tenant.owner, end_user_subject)
      const same = await waitingForAct(tx, act_digest)
      const [rejection] = await rejectedSince(tx, act_digest, 0)
      return round => {
        if (!round.book.isActive(tenant.owner)) throw new PermitRefusal("revoked")
        if (same !== undefined || round.asked.has(act_digest)) throw new PermitRefusal("asked")
        // It may have been rejected since that was looked at without the lock.
        if ((rejection?.decided_at ?? 0) > round.start.now - REJECTED_FOR_MS)
          throw new PermitRefusal("approval_changed")
        const [ofKey, ofPerson] = [`key ${tenant.owner}`, `person ${end_user_subject}`]
        if (waiting.key + (round.asking.get(ofKey) ?? 0) >= WAITING_OF_KEY_MAX)
          throw new PermitRefusal("too_many_asked")
        if (waiting.end_user + (round.asking.get(ofPerson) ?? 0) >= WAITING_OF_END_USER_MAX && end_user_subject !== "")
          throw new PermitRefusal("too_many_asked")
        round.asked.add(act_digest)
        for (const one of [ofKey, ofPerson]) round.asking.set(one, (round.asking.get(one) ?? 0) + 1)
        return chainPart(round, {
          place: "request",
          kind: APPROVAL_REQUEST,
          form: APPROVAL_REQUEST_FORM,
          tenant,
          bodyAt: head => ({ ...request, tenant_salt: head.salt }),
          texts: run.facts.texts,
          clockOf: () => envelope.admission_clock,
          sealed: ({ request_hash, expires_at: ends, audience }, { log_index }) => {
            const expires_at = Date.parse(ends)
            return {
              rows: {
                asked: {
                  ...{ approval_id, owner: tenant.owner, tenant_id: tenant.tenant_id, log_index, state: "waiting" },
                  ...{ requested_at: Date.parse(envelope.admission_clock), expires_at, request_hash },
                  ...{ seed: run.facts.moment.seed, program_id: envelope.program_id, route_id: envelope.route_id },
                  ...{ audience, end_user_subject, end_user_issuer, act_digest },
                  ...{ groups: JSON.stringify(groups), needed: JSON.stringify(needed) },
                  ...encryptPayload(payload, { approval_id, request_hash, expires_at }),
                  ...{ decisions: 0, permit_id: "", run_id: 0, ended_at: 0 },
                },
              },
              record_id: approval_id,
              counted: ["approval_request"],
              acknowledge: () => answer(approval_id),
            }
          },
        })
      }
    },
  }
}

/** The request that a run or an opening ends; undefined for one that ends none: a close has the approvals of its opening. */
export const requestEndedBy = ({ approvals, permit }: Sections): ShownApprovals | undefined =>
  approvals === undefined || permit !== undefined ? undefined : shownApprovals(approvals)

/** What an item locks that may end a request. */
export const endingLocks = (sections: Sections): Pick<Item["locks"], "ends"> => {
  const given = requestEndedBy(sections)
  return given === undefined ? {} : { ends: given.approval_id }
}

/**
 * Ends the request of these sections, if there is one: it is as what is sealed says of it, and nothing of the round has ended it.
 * @returns the row that says so. @param came to: a permit, or a refused run
 * @throws PermitRefusal "approval_changed" when it was decided, withdrawn or ended meanwhile
 */
export function endRequest(
  round: Round,
  sections: Sections,
): (came: { permit_id: string } | { run_id: number }) => Rows {
  const given = requestEndedBy(sections)
  if (given === undefined) return () => ({})
  const { approval_id } = given
  const locked = round.start.requests?.get(approval_id)
  const { now } = round.start
  if (locked === undefined || round.ended.has(approval_id) || !isAsSealed(locked, given, now))
    throw new PermitRefusal("approval_changed")
  round.ended.add(approval_id)
  return came => ({
    ended: {
      approval_id,
      state: "permit_id" in came ? "collected" : "refused",
      permit_id: "permit_id" in came ? came.permit_id : "",
      run_id: "run_id" in came ? came.run_id : 0,
      ended_at: now,
    },
  })
}

/** Behind the lock: nobody has decided since, and whether its time is over is judged anew, by the log's clock too. */
function isAsSealed({ state, expires_at, decisions }: LockedApproval, given: ShownApprovals, now: number): boolean {
  if (decisions !== given.decisions.length) return false
  const isOver = expires_at <= now
  switch (given.outcome) {
    case "approved":
      return state === "approved" && !isOver
    case "rejected":
    case "withdrawn":
      return state === given.outcome
    case "expired":
      return state === "waiting" && isOver
    case "unused":
      return state === "approved" && isOver
  }
}
