/** A request's body with what the server saw of its caller. */
import type { Submission, SubmittedRun } from "@runseal/core/wire/submission"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { ANONYMOUS_KEY_ID, type KeyCaller, keyCallerOf, originOf } from "../access/caller.ts"
import { callerAddress, type Proxies } from "../caller-address.ts"

/** @throws HttpError 403 for a run that is only to be observed, of a caller who may not ask for that */
export function submissionOf(
  c: Context,
  deps: Pick<Deps, "originSecret" | "observing" | keyof Proxies>,
  run: SubmittedRun,
): Submission {
  const caller = keyCallerOf(c)
  if (run.enforcement !== undefined) mayObserve(caller, deps.observing)
  const address = callerAddress(c, deps)?.text
  const origin = originOf(deps.originSecret, caller, address, c.req.header("user-agent"))
  const { tenant, budgets = {} } = caller
  const end_user = c.get("endUser")
  return { ...run, tenant, origin, budgets, ...(end_user === undefined ? {} : { end_user }) }
}

/** @param allowed who may ask for what is only observed; `everybody` also where every run is observed */
function mayObserve({ api_key_id, observe }: KeyCaller, allowed: Deps["observing"]): void {
  if (allowed === "nobody")
    throw new HttpError("observe_not_allowed", "This deployment lets nobody ask for a run that is only observed.")
  if (allowed === "keys" && api_key_id !== ANONYMOUS_KEY_ID && observe !== true)
    throw new HttpError(
      "observe_not_allowed",
      "This key may not ask for a run that is only observed: an admin key can set observe to true on it.",
    )
}
