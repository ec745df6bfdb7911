/**
 * Lists of runs: their filters, which are in the address, so that a bookmark is a saved view; and where they come from. A customer searches its own
 * runs, everybody else those of the deployment.
 */
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import {
  type AdminRunsPage,
  adminRunsPageSchema,
  RUNS_ADDITIONS,
  usageAnswerSchema,
} from "@runseal/core/wire/admin-answers"
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
  { name: "from", label: "From (UTC)", hint: "2026-05-04" },
  { name: "to", label: "To (UTC)", hint: "2026-05-06" },
  { name: "program_id", label: "Program", hint: "64 hex digits" },
  { name: "payload_hash", label: "Payload hash", hint: "64 hex digits" },
  { name: "manifest_hash", label: "Manifest hash", hint: "its first digits" },
] as const
type TextFilter = (typeof TEXT_FILTERS)[number]["name"]

/** Times that end now, by what the address has for them. A bookmark of one is always of the last hours. */
export const LAST_TIMES = {
  "1h": { name: "Last hour", hours: 1 },
  "24h": { name: "24 hours", hours: 24 },
  "7d": { name: "7 days", hours: 168 },
  "30d": { name: "30 days", hours: 720 },
} as const
export type LastTime = keyof typeof LAST_TIMES
export const LAST_NAMES: readonly LastTime[] = ["1h", "24h", "7d", "30d"]
const HOUR_MS = 3_600_000

/** Filters that take one word, with what people call them. */
export const WORD_FILTERS = [
  { name: "enforcement", label: "Enforced", words: [["observe", "only observed"]] },
  {
    name: "closing_outcome",
    label: "Permitted act",
    words: [
      ["failed", "failed"],
      ["completed", "done"],
    ],
  },
] as const
type WordFilter = (typeof WORD_FILTERS)[number]["name"]

export type RunView = {
  readonly status?: OutcomeKind
  /** A time that ends now; in place of the filters `from` and `to`. */
  readonly last?: LastTime
  /** Id of a key, as in the address. */
  readonly key?: string
  readonly texts: Readonly<Partial<Record<TextFilter | WordFilter, string>>>
  /** Where the page begins. */
  readonly before?: string
}

/** Reads the address of a list. @throws ApiRefusal for a filter that is not known or has a wrong value */
export function readView(visit: Visit): RunView {
  const { c } = visit
  const ofKeys = seesAll(visit) ? ["key"] : []
  const names = [...TEXT_FILTERS, ...WORD_FILTERS].map(({ name }) => name)
  knownFilters(c, ["status", "last", ...ofKeys, ...names, "before"])
  const status = filterOf(c, "status", OUTCOME_KINDS)
  const last = filterOf(c, "last", LAST_NAMES)
  const key = numberOf(c, "key")
  const before = numberOf(c, "before")
  const texts = TEXT_FILTERS.flatMap(({ name }) => {
    // As it is: a space at the end of a route makes another route.
    const value = c.req.query(name)
    return value === undefined || value === "" ? [] : [[name, value] as const]
  })
  const words = WORD_FILTERS.flatMap(({ name, words }) => {
    const value = filterOf(
      c,
      name,
      words.map(([word]) => word),
    )
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...(status === undefined ? {} : { status }),
    ...(last === undefined ? {} : { last }),
    ...(key === undefined ? {} : { key }),
    ...(before === undefined ? {} : { before }),
    // A time that ends now was chosen in place of the one before.
    texts: Object.fromEntries([
      ...texts.filter(([name]) => last === undefined || (name !== "from" && name !== "to")),
      ...words,
    ]),
  }
}

type Parameters = Readonly<Record<string, string | undefined>>

/** What the address of a list holds. */
type Addressed = { readonly [Name in "status" | "key" | "last"]?: RunView[Name] | undefined } & Pick<RunView, "texts">

/** Parameters of the address of a view, from its beginning. */
export const viewParameters = ({ status, key, last, texts }: Addressed): Parameters => ({ ...texts, last, status, key })

/** The same for the API, which knows no time that ends now. */
export function apiParameters({ last, ...view }: RunView): Parameters {
  const from = last && { from: new Date(Date.now() - LAST_TIMES[last].hours * HOUR_MS).toISOString() }
  return { ...viewParameters(view), ...from }
}

/** How many runs of each outcome there are. */
export type Counts = NonNullable<AdminRunsPage["counts"]>

export type ListedRun = RunSummary & { readonly key_id?: number }

export type RunsFound = {
  readonly runs: readonly ListedRun[]
  /** `before` of the next page; absent from the last. */
  readonly next?: string
  /** All that were found, where the API counted them. */
  readonly total?: number
  /** Those that every filter but the outcome leaves, by outcome. */
  readonly counts?: Counts
}

type FindOptions = {
  /** Whether the runs of all keys are counted too. */
  readonly counted?: boolean
  /** Whether who acted and why a run was refused are read from the records, which costs much. */
  readonly details?: boolean
}

/** A page of a view. @param limit 1 to 500 */
export async function findRuns(
  visit: Visit,
  view: RunView,
  limit: number,
  { counted = false, details = false }: FindOptions = {},
): Promise<RunsFound | Refusal> {
  const parameters = { ...apiParameters(view), before: view.before, limit, details: details ? "record" : undefined }
  if (!seesAll(visit)) {
    const found = await visit.api.ask(address("/runs/search", parameters), runsPageSchema)
    return isRefusal(found) ? found : { runs: found.runs, ...placeOf(found.next), total: found.total }
  }
  const asked = { ...parameters, with: counted ? RUNS_ADDITIONS[0] : undefined }
  const found = await visit.api.ask(address("/admin/runs", asked), adminRunsPageSchema)
  if (isRefusal(found)) return found
  const { runs, next, counts } = found
  return { runs, ...placeOf(next), ...(counts === undefined ? {} : { counts, total: totalOf(counts, view) }) }
}

const placeOf = (next: number | undefined): Pick<RunsFound, "next"> => (next === undefined ? {} : { next: `${next}` })

/** The runs of a view, of which all outcomes were counted. */
const totalOf = (counts: Counts, { status }: RunView): number =>
  status === undefined ? Object.values(counts).reduce((sum, count) => sum + count, 0) : counts[status]

/** Names of the keys that the visitor reads, by their ids; none for a customer. */
export async function keyNames(visit: Visit): Promise<ReadonlyMap<number, string>> {
  if (!seesAll(visit)) return new Map()
  const usage = await visit.api.ask("/admin/usage", usageAnswerSchema)
  return isRefusal(usage) ? new Map() : new Map(usage.keys.map(({ key_id, name }) => [key_id, name]))
}
