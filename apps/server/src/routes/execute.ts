/** `POST /execute`, `/execute/verify-determinism` and `/dcae/verify`. */
import { isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import { exitCode } from "@runseal/core/verify/report"
import { ENGINE_VERSION } from "@runseal/core/vocabulary/versions"
import type { DcaeAnswer } from "@runseal/core/wire/runs"
import type { Context } from "hono"
import { Hono } from "hono"
import { callerOf, originOf } from "../access/caller.ts"
import type { Deps } from "../deps.ts"
import { callerAddress } from "../http/caller-address.ts"
import { readExecuteBody } from "../http/execute-body.ts"
import { badRequest } from "../http/http-error.ts"
import { DOCUMENT_LIMITS, readJsonObject } from "../http/json-body.ts"
import type { Submission } from "../pipeline/submission.ts"
import { determinismAnswer } from "./determinism.ts"
import { executeAnswer } from "./execute-answer.ts"

async function submissionOf(c: Context, deps: Deps): Promise<Submission> {
  const body = readExecuteBody(await readJsonObject(c.req.raw))
  const caller = callerOf(c)
  const origin = originOf(
    deps.originSecret,
    caller,
    callerAddress(c, deps.trustedProxyHops)?.text,
    c.req.header("user-agent"),
  )
  return { ...body, tenant: caller.tenant, origin }
}

/** The core verifier over HTTP, with the server's own trust: a convenience, not third-party evidence. */
async function dcaeAnswer(c: Context, deps: Deps): Promise<DcaeAnswer> {
  const report = verifyDocument(await readJsonObject(c.req.raw, DOCUMENT_LIMITS), [deps.trust])
  if (isUnreadable(report)) throw badRequest(`The document cannot be verified: ${report.unreadable}`)
  const { verdict, checks } = report
  return { ok: true, verified: exitCode(verdict, false) === 0, verdict, checks, engine_version: ENGINE_VERSION }
}

export function executeRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.post("/execute", async c => {
    const submission = await submissionOf(c, deps)
    const sealed = await deps.trialQuota.spend(callerOf(c), () => deps.execute(submission))
    const { status, body } = executeAnswer(sealed.bundle)
    return c.json(body, status)
  })
  app.post("/execute/verify-determinism", async c =>
    c.json(determinismAnswer(await deps.rehearse(await submissionOf(c, deps)))),
  )
  app.post("/dcae/verify", async c => c.json(await dcaeAnswer(c, deps)))
  return app
}
