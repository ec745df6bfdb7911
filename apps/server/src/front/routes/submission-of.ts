/** A request's body with what the server saw of its caller. */
import type { Submission, SubmittedRun } from "@runseal/core/wire/submission"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { callerOf, originOf } from "../access/caller.ts"
import { callerAddress, type Proxies } from "../http/caller-address.ts"

export function submissionOf(
  c: Context,
  deps: Pick<Deps, "originSecret" | keyof Proxies>,
  run: SubmittedRun,
): Submission {
  const caller = callerOf(c)
  const address = callerAddress(c, deps)?.text
  const origin = originOf(deps.originSecret, caller, address, c.req.header("user-agent"))
  const { tenant, budgets = {} } = caller
  return { ...run, tenant, origin, budgets }
}
