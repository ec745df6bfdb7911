/** What a caller is shown of why a run was refused. docs/api.md, "Explanation". */
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { callerOf } from "../access/caller.ts"

/** Undefined of a run that no gate refused. */
export type ShownRefusal = Awaited<ReturnType<Deps["policies"]["explain"]>>

/** Whether the caller, who reads a record, is shown what the policy says of its refusal. */
export const seesRules = (c: Context, { explaining }: Pick<Deps, "explaining">): boolean =>
  explaining === "owner" || callerOf(c).scope === "admin"

/** The refusal of a record that the caller reads; undefined for a run that no gate refused. */
export const explained = (
  c: Context,
  deps: Pick<Deps, "policies" | "explaining">,
  record: Parameters<Deps["policies"]["explain"]>[0],
): Promise<ShownRefusal> => deps.policies.explain(record, seesRules(c, deps))
