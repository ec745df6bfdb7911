/** Opening, closing, redeeming and reading permits. docs/api.md, "Permits". */
import { placeOf, placeText } from "@runseal/api/queries"
import { canonicalize, type JsonObject, utf8Encode } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { ReportedAct } from "@runseal/core/seal/permits/closing-run"
import { ignoredOf } from "@runseal/core/wire/ignored-members"
import type { OpenPermitAnswer, PermitsPage, RedeemPermitAnswer } from "@runseal/core/wire/permit-answers"
import {
  type ClosePermitRequest,
  openPermitRequestSchema,
  type PermitState,
  type RedeemPermitRequest,
} from "@runseal/core/wire/permit-requests"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { alreadyRedeemed, permitInvalid, permitNotOpen, unavailable } from "../../http-error.ts"
import { listAllPermits, type PermitPlace } from "../../store/tables/all-owners.ts"
import type { FoundApproval } from "../../store/tables/approvals-table.ts"
import type { KeyClaim } from "../../store/tables/idempotency-keys.ts"
import {
  type FoundPermit,
  findHeldPermit,
  findPermit,
  listPermits,
  type PermitSummary,
} from "../../store/tables/permits-table.ts"
import { keyCallerOf } from "../access/caller.ts"
import { claimOf, replayedField } from "../access/idempotency.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { queueWork, readJsonBody, roomForAnswer } from "../json-body.ts"
import { noSuchPermit, readApprovalId, readPermitId } from "../path-ids.ts"
import { askedPermit, readClosePermitBody, readOpenPermitBody, submissionOf } from "../request-bodies.ts"
import { entityTag, sendFile } from "../served-file.ts"
import { askedAnswer, askersApproval } from "./approval-views.ts"
import { type ListReader, ownPage } from "./claim-routes.ts"
import { closedPermit, permitRecord, permitSummary, storedOpening } from "./permit-views.ts"
import { executeAnswer, explained, untilOutside, untilRecorded } from "./run-answer.ts"
import { callersRun, storedBundle } from "./run-views.ts"

/** For callers with a key, and in open mode for all. */
export function permitRoutes(deps: Deps): Handlers {
  return {
    open_permit: c => open(c, deps),
    close_permit: c => close(c, deps),
    permits: async (c, { query }) => {
      const { state, before = "", ...asked } = query()
      const from = { ...asked, before: placeOf(before) }
      const { rows, last, ...page } = await ownPage(deps, keyCallerOf(c).api_key_id, from, permitReader(deps, state))
      const next = last === undefined ? {} : { next: placeText(last) }
      return c.json({ ok: true, ...page, permits: rows.map(permitSummary), ...next } satisfies PermitsPage)
    },
    permit: async c => c.json(permitRecord(await callersPermit(c, deps, pathId(c)))),
    collect_permit: c => collect(c, deps),
    withdraw_approval: async c => {
      const found = await askersApproval(c, deps, readApprovalId(c.req.param("id")))
      await deps.approvals.withdraw(found)
      return c.json(askedAnswer(c, deps, await askersApproval(c, deps, found.approval_id)))
    },
  }
}

/** Reads permits. @param state only these; absent: all */
export const permitReader = (
  { reads }: Pick<Deps, "reads">,
  state: PermitState | undefined,
): ListReader<PermitSummary, PermitPlace> => ({
  counted: (owner, page) =>
    reads.growing(async source => {
      const { total, permits } = await listPermits(source, owner, state, page)
      return { total, rows: permits }
    }),
  before: (owners, page) => reads.growing(source => listAllPermits(source, owners, state, page)),
  placeOf: ({ opened_at, permit_id }) => ({ opened_at, permit_id }),
})

const pathId = (c: Context): string => readPermitId(c.req.param("id"))

/** The caller's permit of this id. @throws HttpError 404 when there is none, also when it is another caller's */
async function callersPermit(
  c: Context,
  { db, rememberStored }: Pick<Deps, "db" | "rememberStored">,
  permitId: string,
): Promise<FoundPermit> {
  const found = await findPermit(db, keyCallerOf(c).api_key_id, permitId)
  if (found === undefined) {
    await rememberStored()
    throw noSuchPermit()
  }
  await roomForAnswer(c, (found.opening?.length ?? 0) + (found.end?.length ?? 0))
  return found
}

/** A permit that was opened, or the run that its opening was refused as. */
type Opened = { readonly opening: Opening; readonly isOpen: boolean } | { readonly refused: Bundle }
/** The same, or a request for an approval. */
type OpenedOrAsked = Opened | { readonly asked: FoundApproval }

/** How often a program polls whether people have decided, in seconds. */
const POLL_SECONDS = "5"

/** The answer is canonical JSON, so that a repetition gets the same bytes but for the permit, whose signature is another one. */
async function open(c: Context, deps: Deps): Promise<Response> {
  const { bytes, object } = await readJsonBody(c)
  const claim = claimOf(c, bytes)
  const settled = await deps.idempotencyKeys.once(claim, () => openBody(c, deps, object, claim))
  const opened = "made" in settled ? settled.made : await storedOutcome(c, deps, settled.record_id)
  return answerOpened(c, deps, opened, ignoredOf(object, openPermitRequestSchema), replayedField(settled))
}

/** The permit of a request that people approved. Nothing of it is asked for anew. */
async function collect(c: Context, deps: Deps): Promise<Response> {
  const found = await askersApproval(c, deps, readApprovalId(c.req.param("id")))
  await queueWork(c)
  const { tenant, budgets = {} } = keyCallerOf(c)
  const collected = await deps.approvals.collect(found, { tenant, budgets })
  return answerOpened(c, deps, await openedOf(c, deps, collected), {}, {})
}

type Collected = Awaited<ReturnType<Deps["approvals"]["collect"]>>

async function openedOf(c: Context, deps: Deps, collected: Collected): Promise<OpenedOrAsked> {
  if ("waits" in collected) return { asked: collected.waits }
  if ("refused" in collected) return { refused: collected.refused.bundle }
  if ("opening" in collected) return { opening: collected.opening, isOpen: true }
  const { permit_id, run_id } = collected.stored
  return storedOutcome(c, deps, permit_id === "" ? `${run_id}` : permit_id)
}

async function answerOpened(
  c: Context,
  deps: Deps,
  opened: OpenedOrAsked,
  ignored: ReturnType<typeof ignoredOf>,
  replayed: ReturnType<typeof replayedField>,
): Promise<Response> {
  const headers = { "Content-Type": "application/json", ...replayed }
  if ("asked" in opened) {
    await untilOutside(deps, `Request ${opened.asked.approval_id}`, opened.asked.log_index)
    const body = { ...askedAnswer(c, deps, opened.asked), ...ignored }
    return c.body(canonicalize(body), 202, { ...headers, "Retry-After": POLL_SECONDS })
  }
  if ("refused" in opened) {
    await untilRecorded(deps, opened.refused)
    const { status, body } = executeAnswer(opened.refused, await explained(c, deps, opened.refused), ignored)
    return c.body(canonicalize(body), status, headers)
  }
  const { opening, isOpen } = opened
  const { permit_id, expires_at, close_by } = opening
  await untilOutside(deps, `Permit ${permit_id}`, Number(opening.entry.logIndex))
  const permit = isOpen ? await deps.permits.sign(opening) : undefined
  const given = permit === undefined ? {} : { permit }
  const answer = { ok: true, permit_id, ...given, opening, expires_at, close_by, ...ignored } satisfies OpenPermitAnswer
  return c.body(canonicalize(answer), 201, headers)
}

/** @throws HttpError 400 for a body that is not accepted */
async function openBody(
  c: Context,
  deps: Deps,
  object: JsonObject,
  claim: KeyClaim | undefined,
): Promise<OpenedOrAsked> {
  await queueWork(c)
  const { run, permit } = readOpenPermitBody(object)
  const submission = submissionOf(c, deps, run)
  await queueWork(c)
  const request = { claim, request_id: c.get("requestId") }
  const opened = await deps.trialQuota.spend(keyCallerOf(c), () =>
    deps.permits.open(submission, askedPermit(permit), request),
  )
  if ("asked" in opened) return { asked: await askersApproval(c, deps, opened.asked) }
  if ("stored" in opened) return openedOf(c, deps, opened)
  return "refused" in opened ? { refused: opened.refused.bundle } : { opening: opened.opening, isOpen: true }
}

/** What a first request made: a permit or a request for an approval by its id, or a run by its number. */
async function storedOutcome(c: Context, deps: Deps, recordId: string): Promise<OpenedOrAsked> {
  if (recordId.startsWith("apr-")) return { asked: await askersApproval(c, deps, recordId) }
  if (!recordId.startsWith("pmt-")) return { refused: storedBundle(await callersRun(c, deps, Number(recordId))) }
  const found = await callersPermit(c, deps, recordId)
  const opening = storedOpening(found)
  if (opening === undefined) throw noSuchPermit()
  return { opening, isOpen: found.state === "open" }
}

async function close(c: Context, deps: Deps): Promise<Response> {
  const permitId = pathId(c)
  const { bytes, object } = await readJsonBody(c)
  const claim = claimOf(c, bytes)
  const settled = await deps.idempotencyKeys.once(claim, () => closeBody(c, deps, permitId, object, claim))
  const bundle = "made" in settled ? settled.made : storedBundle(await callersRun(c, deps, Number(settled.record_id)))
  await untilRecorded(deps, bundle)
  const { status, body } = executeAnswer(bundle, await explained(c, deps, bundle))
  return c.body(canonicalize(body), status, { "Content-Type": "application/json", ...replayedField(settled) })
}

async function closeBody(
  c: Context,
  deps: Deps,
  permitId: string,
  object: JsonObject,
  claim: KeyClaim | undefined,
): Promise<Bundle> {
  await queueWork(c)
  const act = reportedAct(readClosePermitBody(object))
  const found = await callersPermit(c, deps, permitId)
  const { tenant } = keyCallerOf(c)
  // The key that reads the runs of open mode does not end them.
  if (found.owner !== tenant.owner) throw noSuchPermit()
  const closed = closedPermit(found, tenant)
  await queueWork(c)
  return (await deps.permits.close(closed, act, { claim, request_id: c.get("requestId") })).bundle
}

function reportedAct(request: ClosePermitRequest): ReportedAct {
  const { request_substance, causal_graph, reproducibility_context, ...act } = request
  return {
    ...act,
    declared: {
      ...(request_substance === undefined ? {} : { request_substance }),
      ...(causal_graph === undefined ? {} : { causal_graph }),
      ...(reproducibility_context === undefined ? {} : { reproducibility_context }),
    },
  }
}

// Redeeming a permit, and the keys with which one is checked. Both are for those who act, who have no key of this service: the permit is
// the credential. docs/api.md, "POST /permits/{id}/redeem" and "Trust".

/** For everybody, without a key. */
export function redeemRoutes(deps: Deps): Handlers {
  return {
    redeem_permit: async (c, { body }) => c.json(await redeem(deps, readPermitId(c.req.param("id")), body)),
    jwks: async c => {
      const bytes = new Uint8Array(utf8Encode(JSON.stringify(await deps.permits.jwks())))
      return sendFile(c, { type: "application/json", bytes, etag: entityTag(bytes) })
    },
  }
}

async function redeem(
  { db, permits, rememberStored }: Deps,
  permit_id: string,
  body: () => Promise<{ readonly request: RedeemPermitRequest }>,
): Promise<RedeemPermitAnswer> {
  const { permit } = (await body()).request
  const found = await findHeldPermit(db, permit_id)
  const opening = found && storedOpening(found)
  if (found === undefined || opening === undefined) {
    await rememberStored()
    throw noSuchPermit()
  }
  const verdict = await permits.check(permit, opening)
  // Its signature is this service's own: the clock is behind that of the server that signed it, or was set back.
  if (!verdict.ok && verdict.reason === "not_yet_valid") throw unavailable(CLOCK_BEHIND)
  if (!verdict.ok) throw permitInvalid(verdict.message)
  if (verdict.claims.jti !== permit_id) throw permitInvalid("The permit is another one than the path names.")
  // So that a permit which is sent again and again costs no batch. The batch finds out behind its locks.
  if (found.redeemed_at !== 0) throw alreadyRedeemed()
  if (found.state !== "open") throw permitNotOpen()
  const redeemed_at = await permits.redeem({ owner: found.owner, permit_id })
  return { ok: true, permit_id, redeemed_at: new Date(redeemed_at).toISOString() }
}

const CLOCK_BEHIND =
  "The clock of this server is behind the time of the permit: nothing is redeemed until it has caught up. Try again."
