/** `POST /execute`, `/execute/verify-determinism` and `/dcae/verify`. */
import { canonicalize, type JsonObject } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { enforcementOf } from "@runseal/core/verify/record-facts"
import { exitCode, heldToClock, type Report } from "@runseal/core/verify/report"
import { ENGINE_VERSION } from "@runseal/core/vocabulary/versions"
import { executeRequestSchema } from "@runseal/core/wire/execute-request"
import { ignoredOf } from "@runseal/core/wire/ignored-members"
import type { DcaeAnswer } from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import type { SealedRun } from "../../sealing/batch.ts"
import type { KeyClaim } from "../../store/tables/idempotency-keys.ts"
import { keyCallerOf } from "../access/caller.ts"
import { claimOf, replayedField } from "../access/idempotency.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { bodyLimits, parseObject, queueWork, readJsonBody, readJsonObject, receiveJson } from "../json-body.ts"
import { readExecuteBody, submissionOf } from "../request-bodies.ts"
import { slotOf } from "../sealing-order.ts"
import { refusalOfJob } from "./job-refusal.ts"
import { determinismAnswer, executeAnswer, explained, untilRecorded } from "./run-answer.ts"
import { callersRun, storedBundle } from "./run-views.ts"

/** Executes a body as one of the caller's runs. @throws HttpError 400 for a body that is not accepted */
async function executeBody(c: Context, deps: Deps, object: JsonObject, claim?: KeyClaim): Promise<Bundle> {
  await queueWork(c)
  const submission = submissionOf(c, deps, readExecuteBody(object))
  await queueWork(c)
  const seal = (): Promise<SealedRun> => deps.execute(submission, claim, c.get("requestId"), slotOf(c))
  const { bundle } = await deps.trialQuota.spend(keyCallerOf(c), seal)
  return bundle
}

/**
 * Executes a run, or finds the one that was made under the idempotency key of the request. The answer under a key is canonical JSON, so that a retry
 * gets the same bytes, which are made again from the stored bundle.
 */
async function execute(c: Context, deps: Deps): Promise<Response> {
  const { bytes, object } = await readJsonBody(c)
  const claim = claimOf(c, bytes)
  const settled = await deps.idempotencyKeys.once(claim, () => executeBody(c, deps, object, claim))
  const bundle = "made" in settled ? settled.made : storedBundle(await callersRun(c, deps, Number(settled.record_id)))
  await untilRecorded(deps, bundle)
  const { status, body } = executeAnswer(
    bundle,
    await explained(c, deps, bundle),
    ignoredOf(object, executeRequestSchema),
  )
  if (claim === undefined) return c.json(body, status)
  return c.body(canonicalize(body), status, { "Content-Type": "application/json", ...replayedField(settled) })
}

const notChecked = (error: unknown): never => {
  throw refusalOfJob(
    error,
    "Too many large documents are being verified. Try again.",
    "The document takes more than 60 seconds or too much memory to verify. Verify it with the command verifier.",
  )
}

async function verifyReceived(c: Context, deps: Deps): Promise<Report | Unreadable> {
  const limits = bodyLimits(c)
  const { bytes, large } = await receiveJson(c, limits)
  return large ? deps.checkDocument(bytes).catch(notChecked) : verifyDocument(parseObject(bytes, limits), [deps.trust])
}

/** The core verifier over HTTP, with the server's own trust: a convenience, not third-party evidence. */
async function dcaeAnswer(c: Context, deps: Deps): Promise<DcaeAnswer> {
  const report = heldToClock(await verifyReceived(c, deps), deps.nowMs())
  if (isUnreadable(report))
    throw new HttpError("unreadable_document", `The document cannot be verified: ${report.unreadable}`)
  const { verdict, checks, outcome_kind, facts, statement, withheld, limitations } = report
  return {
    ok: true,
    verified: exitCode(verdict, false) === 0,
    verdict,
    checks,
    ...(outcome_kind === undefined ? {} : { outcome_kind }),
    ...enforcementOf(facts),
    ...(statement === undefined ? {} : { statement }),
    withheld,
    limitations,
    engine_version: ENGINE_VERSION,
  }
}

export function executeRoutes(deps: Deps): Handlers {
  return {
    execute: c => execute(c, deps),
    verify_determinism: async c => {
      const object = await readJsonObject(c)
      await queueWork(c)
      const submission = submissionOf(c, deps, readExecuteBody(object))
      await queueWork(c)
      return c.json(determinismAnswer(await deps.rehearse(submission)))
    },
    dcae_verify: async c => c.json(await dcaeAnswer(c, deps)),
  }
}
