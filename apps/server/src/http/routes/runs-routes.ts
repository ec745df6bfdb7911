/** Run lists, records, self-check, artifacts. Every read is scoped to the calling key. */
import { canonicalize } from "@runseal/canonical"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { type ArtifactKey, OUTCOME_KINDS, OUTCOMES, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import {
  BUNDLE_FORM_DEFAULT,
  type BundleAddition,
  type BundleForm,
  type RunFilters,
  type RunsPage,
  serveReceiptAnchor,
} from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { listAllRuns } from "../../store/tables/all-owners.ts"
import { listRuns, type RunRow, type RunSummaryRow, searchRuns } from "../../store/tables/runs-table.ts"
import { keyCallerOf } from "../access/caller.ts"
import type { Handler, Handlers } from "../endpoint-routes.ts"
import { type Page, searchFilters } from "../query.ts"
import { type ListReader, ownPage } from "./claim-routes.ts"
import { ownRun, type RunOfPath } from "./own-run.ts"
import { reportOf } from "./report-routes.ts"
import { explained } from "./run-answer.ts"
import { runStatementOf } from "./run-statement-route.ts"
import { runRecord, runSummary, selfCheck, storedBundle } from "./run-views.ts"
import { shownBundle } from "./shown-bundle.ts"

/** Reads the runs that pass all filters of a query. @throws HttpError 400 */
export function runReader({ reads }: Pick<Deps, "reads">, query: RunFilters): ListReader<RunSummaryRow, number> {
  const filters = searchFilters(query)
  return {
    counted: (owner, page) =>
      reads.growing(async source => {
        const isPlain = Object.keys(filters).length === 0
        const { total, runs } = await (isPlain
          ? listRuns(source, owner, page)
          : searchRuns(source, owner, filters, page))
        return { total, rows: runs }
      }),
    before: (owners, page) => reads.growing(source => listAllRuns(source, owners, filters, page)),
    placeOf: ({ run_id }) => run_id,
  }
}

type RunsQuery = Partial<Page> & RunFilters & { readonly before?: number }

/** The runs that the caller reads as its own and that pass every filter. */
async function ownRuns(c: Context, deps: Deps, { limit, offset, before, ...filters }: RunsQuery): Promise<RunsPage> {
  const asked = { limit, offset, before }
  const { rows, last, ...page } = await ownPage(deps, keyCallerOf(c).api_key_id, asked, runReader(deps, filters))
  return { ok: true, ...page, runs: rows.map(runSummary), ...(last === undefined ? {} : { next: last }) }
}

export function runRoutes(deps: Deps): Handlers {
  return {
    runs: async (c, { query }) => c.json(await ownRuns(c, deps, query())),
    search_runs: async (c, { query }) => c.json(await ownRuns(c, deps, query())),
    run: async c => c.json(await runRecord(await ownRun(c, deps), record => explained(c, deps, record))),
    ...runParts(deps, ownRun),
  }
}

/** What is read of one run beside its record. @param base of the paths */
export function runParts(deps: Deps, find: RunOfPath): Handlers {
  const artifacts = OUTCOME_KINDS.flatMap((kind): [string, Handler][] => {
    const { artifact } = OUTCOMES[kind]
    if (artifact === undefined) return []
    return [[artifact.key, async c => c.json(artifactAnswer(await find(c, deps), kind, artifact.key))]]
  })
  return {
    verify_run: async c => c.json(selfCheck(await find(c, deps), new Date(deps.nowMs()).toISOString())),
    artifacts: async (c, { query }) => {
      const { form = BUNDLE_FORM_DEFAULT, with: addition } = query()
      return sendBundle(c, deps, await find(c, deps), form, addition)
    },
    ...Object.fromEntries(artifacts),
    ...reportOf(deps, find),
    ...runStatementOf(deps, find),
  }
}

/** The bundle goes out as the bytes that were sealed, or in full; with what outside logs hold of it by now, and witnesses signed if asked for. */
async function sendBundle(
  c: Context,
  deps: Pick<Deps, "showOutside" | "showWitnessed">,
  row: RunRow,
  form: BundleForm,
  addition: BundleAddition | undefined,
): Promise<Response> {
  const text = await shownBundle(deps, row.bundle, addition)
  return c.body(form === "full" ? canonicalize(storedBundle({ ...row, bundle: text })) : text, 200, {
    "Content-Type": "application/json",
    "Content-Disposition": `attachment; filename="runseal-run-${row.run_id}-${form === "full" ? "full-bundle" : "bundle"}.json"`,
  })
}

function artifactAnswer(row: RunRow, kind: OutcomeKind, key: ArtifactKey): object {
  if (row.outcome_kind !== kind)
    throw new HttpError(
      "other_outcome",
      `Run ${row.run_id} ended as ${row.outcome_kind}; ${key} exists only for a run that ended as ${kind}.`,
    )
  const bundle = storedBundle(row)
  if (key === "allow_token") return { ok: true, run_id: row.run_id, allow_token: bundle.allow_token }
  const receipt = receiptOf(bundle)?.receipt
  const anchor = bundle.anchors.receipt
  const receipt_anchor = anchor === undefined ? {} : { receipt_anchor: serveReceiptAnchor(anchor) }
  return { ok: true, run_id: row.run_id, [key]: receipt, ...receipt_anchor }
}
