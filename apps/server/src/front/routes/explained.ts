/** What a caller is shown of why a run was refused. docs/api.md, "Explanation". */
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { callerOf } from "../access/caller.ts"

/** Undefined of a run that no gate refused. */
export type ShownRefusal = Awaited<ReturnType<Deps["policies"]["explain"]>>

type Explaining = Pick<Deps, "policies" | "explaining">

/** The refusal of a record that the caller reads; undefined for a run that no gate refused. */
export const explained = (
  c: Context,
  { policies, explaining }: Explaining,
  record: Parameters<Deps["policies"]["explain"]>[0],
): Promise<ShownRefusal> => policies.explain(record, explaining === "owner" || callerOf(c).scope === "admin")
