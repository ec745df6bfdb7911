/**
 * A tool call at the service: the permit before it, the close after it, and what to do when the service does not answer. `sealedCall` of the SDK
 * cannot make it: an agent gets the result of a failed call too, with the receipt of its record, and `sealedCall` throws there.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import {
  ApprovalPending,
  type Client,
  ConflictError,
  type ExecuteResult,
  type Fail,
  failOf,
  HttpStatusError,
  isUnfit,
  type Mode,
  type Observed,
  type PermitClosing,
  type RefusedRun,
  type WaitOptions,
} from "@runseal/sdk"
import type { Counts } from "./counts.ts"
import { fitsRequest } from "./reviewed-text.ts"

export const RECEIPT_META = "dev.runseal/receipt"
export const APPROVAL_META = "dev.runseal/approval"

export type Sealing = {
  /** Rejects with a sentence for the user when there is no service. The embedded one may still start: calls wait for it, and nothing else does. */
  readonly client: Promise<Client>
  /** Address of the service, as receipts name it; known once there is a client. */
  readonly address: () => string
  readonly mode: Mode
  /** Calls that are sealed beside the agent. */
  readonly observed: Observed
  /** What happens to a call for which the service gives no answer. */
  readonly fail: Fail
  /** False: the hash of a result is declared, and the result is not sent: no result is searched or reviewed. */
  readonly content: boolean
  /** Longest call, in seconds: 1 to 3,600. */
  readonly callSeconds: number
  /** Longest wait of a call for people to decide on it, in seconds: 0 to 600. */
  readonly approvalSeconds: number
  readonly counts: Counts
  /** Says a sentence to the user. */
  readonly warn: (sentence: string) => void
}

/** A call as the service is asked for it. */
export type Act = {
  readonly program_id: string
  readonly route_id: string
  /** Hash of the tool's definition. */
  readonly registry_record_hash: string
  /** RFC 8785 text of tool and arguments. */
  readonly payload: string
}

export type Opening =
  | {
      readonly kind: "permitted"
      readonly permitId: string
      /** Where it has to be redeemed before the call is forwarded: the token; undefined for one that is over. */
      readonly redeems?: { readonly permit: string | undefined }
    }
  /** People decide on the call, and have not. */
  | { readonly kind: "pending"; readonly pending: ApprovalPending; readonly reason: string }
  | { readonly kind: "refused"; readonly run: RefusedRun }
  /** No request of the service can hold the call, or the service does not take it. */
  | { readonly kind: "unfit"; readonly reason: string }
  | { readonly kind: "undecided"; readonly reason: string }

/** Milliseconds, as a client waits for a decision of a service that runs. */
const START_WAIT_MS = 2_000
/** Longer than the wait for a decision: the act is done. */
const CLOSE_OPTIONS = { deadlineMs: 30_000, timeoutMs: 10_000 }
const REDEEM_OPTIONS = { deadlineMs: 10_000, timeoutMs: 10_000 }

/** The service that is asked for decisions. A call that goes on without one does not wait for a start; nobody waits for one that is observed. */
function startedClient(sealing: Sealing): Promise<Client> {
  if (sealing.mode === "observe" || sealing.fail === "closed") return sealing.client
  const late = sleep(START_WAIT_MS, undefined, { ref: false }).then(() => Promise.reject(new Error("it still starts")))
  return Promise.race([sealing.client, late])
}

/** Of a permit. */
export type OpenOptions = Pick<WaitOptions, "approvalWaitMs" | "onApprovalWait"> & {
  /** Of the person for whom it is asked. */
  readonly endUserToken: string | undefined
  /** Ends a wait for people. */
  readonly signal?: AbortSignal
}

/**
 * Asks for a permit. Never throws.
 * @param definition what is known of it: pinned, changed, unlisted, unpinned
 */
export async function openPermit(
  sealing: Sealing,
  act: Act,
  definition: string,
  options: OpenOptions,
): Promise<Opening> {
  if (!fitsRequest(act.payload)) return { kind: "unfit", reason: "the arguments are too large for a request of 1 MiB" }
  const missing = sealing.counts.missing()
  try {
    const client = await startedClient(sealing)
    const opened = await client.permits.open(
      {
        ...act,
        audience: act.route_id.slice(0, 256),
        reserve_tokens: 0,
        valid_for_seconds: sealing.callSeconds,
        reproducibility_context: {
          door: "mcp",
          tool_definition: definition,
          // Calls of this gateway without a record: the gap is in the next record.
          ...(missing === 0 ? {} : { calls_without_record: missing }),
        },
        ...(sealing.mode === "observe" ? { enforcement: "observe" } : {}),
      },
      { idempotencyKey: randomUUID(), fail: failOf(sealing), ...options },
    )
    if (opened.outcome_kind !== "opened") return { kind: "refused", run: opened }
    const { permit_id: permitId, permit, opening } = opened
    return { kind: "permitted", permitId, ...(opening.redeem_required === true ? { redeems: { permit } } : {}) }
  } catch (error) {
    if (error instanceof ApprovalPending) return { kind: "pending", pending: error, reason: error.message }
    return { kind: isUnfit(error) ? "unfit" : "undecided", reason: reasonOf(error) }
  }
}

/** Why a permit allows a call nothing. */
export type Used = {
  readonly reason: string
  /** Another call redeemed it, and closes it. */
  readonly isOfAnother: boolean
}

/** Uses a permit up that has to be redeemed. Never throws. @returns undefined where the call may be forwarded */
export async function redeemPermit(
  sealing: Sealing,
  { permitId, redeems }: Extract<Opening, { kind: "permitted" }>,
): Promise<Used | undefined> {
  if (redeems === undefined) return undefined
  const { permit } = redeems
  if (permit === undefined) return { reason: "its permit was used or is over", isOfAnother: true }
  try {
    const client = await sealing.client
    await client.permits.redeem(permitId, permit, REDEEM_OPTIONS)
    return undefined
  } catch (error) {
    // After an answer that was lost, the permit may be used up.
    return {
      reason: `its permit could not be redeemed: ${reasonOf(error)}`,
      isOfAnother: error instanceof ConflictError,
    }
  }
}

/** Withdraws a request for an approval. Never throws: says a sentence to the user when the service did not confirm it. */
export async function withdraw(sealing: Sealing, { approval_id }: ApprovalPending): Promise<void> {
  try {
    await (await sealing.client).withdrawApproval(approval_id, CLOSE_OPTIONS)
  } catch (error) {
    sealing.warn(`the request ${approval_id} could not be withdrawn: ${reasonOf(error)}`)
  }
}

/** The record of a close. Without one the service did not confirm it; `unfit`: the service does not take what is to be sealed. */
export type Closed = { readonly run?: ExecuteResult; readonly unfit?: boolean }

/**
 * Closes a permit. Never throws: says a sentence to the user when the service did not confirm the record. It is sent again when the service is
 * back.
 */
export async function closePermit(sealing: Sealing, permitId: string, closing: PermitClosing): Promise<Closed> {
  try {
    const options = { ...CLOSE_OPTIONS, fail: failOf(sealing), resend: true }
    const client = await sealing.client
    return { run: await client.permits.close(permitId, closing, options) }
  } catch (error) {
    sealing.warn(`the close of ${permitId} is not confirmed: ${reasonOf(error)}`)
    return { unfit: isUnfit(error) }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof HttpStatusError) return `the service answered ${error.status}: ${error.message}`
  return error instanceof Error ? error.message : "an unknown error"
}

/** What refused a run, with its code. */
function ruleOf(run: RefusedRun): string {
  if (run.outcome_kind === "stage_error") return `stage ${run.error_stage}`
  const { rule_id, reason } = run.explanation
  return rule_id === undefined ? reason : `${rule_id} (${reason})`
}

/** By what a run was refused and why, as the agent reads it. */
export const refusedBy = (sealing: Sealing, run: RefusedRun): string =>
  `by ${ruleOf(run)}. ${run.error} ${whereIs(sealing, run)}`

export const whereIs = ({ address }: Sealing, { run_id }: ExecuteResult): string =>
  `Receipt: run ${run_id}, ${address()}/runs/${run_id}`

/** The receipt that an agent gets, as far as it is known. */
export function receiptOf(sealing: Sealing, permitId: string | undefined, run: ExecuteResult | undefined): JsonObject {
  const permit = permitId === undefined ? {} : { permit_id: permitId }
  if (run === undefined) return { ...permit, outcome: "unconfirmed" }
  const ofRecord =
    run.outcome_kind === "ok"
      ? { manifest_hash: run.manifest.ManifestHash, log_index: Number(run.manifest.LogEntryID) }
      : {}
  return {
    run_id: run.run_id,
    ...permit,
    outcome: run.outcome_kind,
    ...ofRecord,
    bundle_url: `${sealing.address()}/runs/${run.run_id}/artifacts`,
  }
}
