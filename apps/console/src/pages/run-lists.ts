/**
 * Lists of runs: their filters, which are in the address, so that a bookmark is a saved view; and where they come from. A customer searches its own
 * runs, everybody else those of the deployment.
 */
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { adminRunsPageSchema } from "@runseal/core/wire/admin-answers"
import { type RunSummary, runsPageSchema } from "@runseal/core/wire/run-summaries"
import { isRefusal, type Refusal } from "../api.ts"
import { address } from "../parts/format.ts"
import { filterOf, knownFilters, numberOf, seesAll, type Visit } from "../visit.ts"

/** Filters that the API has, with what people call them; most used first. */
export const TEXT_FILTERS = [
  { name: "route_id", label: "Route", hint: "payments/transfer" },
  { name: "rule_id", label: "Rule or signature", hint: "large-payment" },
  { name: "actor_id", label: "Actor", hint: "treasury-agent-07" },
  { name: "route_prefix", label: "Route begins with", hint: "payments/" },
  { name: "end_user", label: "End user", hint: "grace" },
  { name: "approver", label: "Approver", hint: "j.doe" },
  { name: "model_name", label: "Model", hint: "m-1" },
  { name: "from", label: "From", hint: "2026-05-04" },
  { name: "to", label: "To", hint: "2026-05-06" },
  { name: "program_id", label: "Program", hint: "64 hex digits" },
  { name: "payload_hash", label: "Payload hash", hint: "64 hex digits" },
  { name: "manifest_hash", label: "Manifest hash", hint: "its first digits" },
] as const
type TextFilter = (typeof TEXT_FILTERS)[number]["name"]

export type RunView = {
  readonly status?: OutcomeKind
  /** Id of a key, as in the address. */
  readonly key?: string
  readonly texts: Readonly<Partial<Record<TextFilter, string>>>
  /** Where the page begins. */
  readonly before?: string
}

/** Reads the address of a list. @throws ApiRefusal for a filter that is not known or has a wrong value */
export function readView(visit: Visit): RunView {
  const { c } = visit
  const ofKeys = seesAll(visit) ? ["key"] : []
  knownFilters(c, ["status", ...ofKeys, ...TEXT_FILTERS.map(({ name }) => name), "before"])
  const status = filterOf(c, "status", OUTCOME_KINDS)
  const key = numberOf(c, "key")
  const before = numberOf(c, "before")
  const texts = TEXT_FILTERS.flatMap(({ name }) => {
    // As it is: a space at the end of a route makes another route.
    const value = c.req.query(name)
    return value === undefined || value === "" ? [] : [[name, value] as const]
  })
  return {
    ...(status === undefined ? {} : { status }),
    ...(key === undefined ? {} : { key }),
    ...(before === undefined ? {} : { before }),
    texts: Object.fromEntries(texts),
  }
}

/** Parameters of the address of a view, from its beginning. */
export const viewParameters = ({ status, key, texts }: RunView): Readonly<Record<string, string | undefined>> => ({
  ...texts,
  status,
  key,
})

export type ListedRun = RunSummary & { readonly key_id?: number }

export type RunsFound = {
  readonly runs: readonly ListedRun[]
  /** `before` of the next page; absent from the last. */
  readonly next?: string
  /** All that were found, where the API counts them. */
  readonly total?: number
}

/** A page of a view. @param limit 1 to 500 */
export async function findRuns(visit: Visit, view: RunView, limit: number): Promise<RunsFound | Refusal> {
  const parameters = { ...viewParameters(view), before: view.before, limit }
  const found = seesAll(visit)
    ? await visit.api.ask(address("/admin/runs", parameters), adminRunsPageSchema)
    : await visit.api.ask(address("/runs/search", parameters), runsPageSchema)
  if (isRefusal(found)) return found
  const { runs, next } = found
  return {
    runs,
    ...(next === undefined ? {} : { next: `${next}` }),
    ...("total" in found ? { total: found.total } : {}),
  }
}
