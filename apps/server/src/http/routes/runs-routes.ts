/**
 * Run lists, records, self-check, artifacts, report and statement. A list has the runs of the calling key, and `find` of a route gives the run
 * that its caller may read. Published statements are for everybody.
 */

import type { ReportQuery } from "@runseal/api/queries"
import { canonicalize } from "@runseal/canonical"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import {
  type ArtifactKey,
  isRefused,
  OUTCOME_KINDS,
  OUTCOMES,
  type OutcomeKind,
} from "@runseal/core/vocabulary/outcomes"
import {
  BUNDLE_FORM_DEFAULT,
  type BundleAddition,
  type BundleForm,
  REPORT_FORMAT_DEFAULT,
  type ReportFormat,
  type RunDetails,
  type RunFilters,
  type RunsPage,
  serveReceiptAnchor,
} from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { reportFileName } from "../../report/subject.ts"
import type { NoStatement } from "../../sealing/seal-run-statement.ts"
import { listAllRuns } from "../../store/tables/all-owners.ts"
import { findPublicToken } from "../../store/tables/publications-table.ts"
import { listRuns, type RunRow, type RunSummaryRow, searchRuns } from "../../store/tables/runs-table.ts"
import { readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import { keyCallerOf } from "../access/caller.ts"
import type { Handler, Handlers } from "../endpoint-routes.ts"
import { type Page, searchFilters } from "../query.ts"
import { publicBundlePath } from "./addresses.ts"
import { auditorZip, auditorZipName } from "./auditor-zip.ts"
import { type ListReader, ownPage } from "./claim-routes.ts"
import { refusalOfJob } from "./job-refusal.ts"
import { sendPublished } from "./publications-routes.ts"
import { explained, seesRules } from "./run-answer.ts"
import { detailsOf } from "./run-details.ts"
import {
  ownRun,
  type RunOfPath,
  runRecord,
  runSummary,
  selfCheck,
  shownBundle,
  storedBundle,
  storedRecord,
} from "./run-views.ts"

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

type RunsQuery = Partial<Page> &
  RunFilters & { readonly before?: number; readonly after?: number; readonly details?: RunDetails }

/** The runs that the caller reads as its own and that pass every filter. */
async function ownRuns(
  c: Context,
  deps: Deps,
  { limit, offset, before, after, details: detailed, ...filters }: RunsQuery,
): Promise<RunsPage> {
  const asked = { limit, offset, before, after }
  const { rows, last, ...page } = await ownPage(deps, keyCallerOf(c).api_key_id, asked, runReader(deps, filters))
  const details = await detailsOf(deps, rows, detailed)
  const runs = rows.map(row => ({ ...runSummary(row), ...details.get(row.run_id) }))
  return { ok: true, ...page, runs, ...(last === undefined ? {} : { next: last }) }
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
  deps: Pick<Deps, "db" | "showOutside" | "showWitnessed">,
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

// The audit report of a run. docs/api.md, "GET /runs/{id}/report.pdf".

const BUSY = "The report cannot be made now: too many are being made. Try again."
const TOO_MUCH =
  "The report takes more than 60 seconds or too much memory, because the run declared so much. Ask for format=brief, or read the bundle at the same address with /artifacts in place of /report.pdf."

/** The report of one run. */
export function reportOf(deps: Deps, find: RunOfPath): Handlers {
  return {
    report: async (c, { query }) => {
      const asked = query()
      const run = await find(c, deps)
      return sendReport(c, deps, run, { ...asked, caller: run.owner, seesRules: seesRules(c, deps) })
    },
    auditor_zip: async c => {
      const run = await find(c, deps)
      return sendAuditorZip(c, deps, run, { caller: run.owner, seesRules: seesRules(c, deps) })
    },
  }
}

/** What a report is asked for with. */
type Asked = ReportQuery & {
  /** Id of the key whose reports at one time are bounded (0 = anonymous). */
  readonly caller: number
  /** Whether who reads it is shown what the policy says of a refusal. */
  readonly seesRules: boolean
}

/** Makes and sends a report. @throws HttpError */
export async function sendReport(
  c: Context,
  deps: Deps,
  run: Pick<RunRow, "run_id" | "bundle" | "outcome_kind">,
  { format = REPORT_FORMAT_DEFAULT, with: addition, caller, seesRules }: Asked,
): Promise<Response> {
  const bundle = await shownBundle(deps, run.bundle, addition)
  const pdf = await madeReport(deps, run, { bundle, format, caller, seesRules })
  return c.body(pdf, 200, {
    "Content-Type": "application/pdf",
    "Content-Disposition": `attachment; filename="${reportFileName(run.run_id, format)}"`,
  })
}

/** @param bundle the bundle's text as the report carries it. @throws HttpError */
async function madeReport(
  deps: Deps,
  run: Pick<RunRow, "run_id" | "bundle" | "outcome_kind">,
  { bundle, format, caller, seesRules }: Required<Omit<Asked, "with">> & { readonly bundle: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const { run_id } = run
  const refusal = isRefused(run.outcome_kind) ? await deps.policies.explain(storedRecord(run), seesRules) : undefined
  const rule = refusal?.rule === undefined ? {} : { rule: refusal.rule }
  const why = refusal === undefined ? {} : { explanation: refusal.explanation, ...rule }
  const token = await findPublicToken(deps.db, run_id)
  const published = token === undefined ? {} : { public_path: publicBundlePath(token) }
  // The service signs a report, and others read it. So it never names the address that its caller wrote into the request.
  const address = deps.baseUrl === undefined ? {} : { base_url: deps.baseUrl }
  const job = { bundle, format, ...address, ...published, ...why, trust: deps.trust }
  return deps.renderReport(caller, job).catch((error: unknown) => {
    throw refusalOfJob(error, BUSY, TOO_MUCH)
  })
}

/** The format of the report that an auditor gets. */
const AUDITORS_FORMAT: ReportFormat = "auditor"

/** One file for an auditor. Bundle and report carry the same text, so that a verifier can compare them, and all is of one witnessed checkpoint. @throws HttpError */
async function sendAuditorZip(
  c: Context,
  deps: Deps,
  run: RunRow,
  reader: Pick<Asked, "caller" | "seesRules">,
): Promise<Response> {
  const plain = await shownBundle(deps, run.bundle, undefined)
  const witnessed = await readWitnessed(deps.db)
  const bundle = await deps.showWitnessed(plain, witnessed)
  const report = await madeReport(deps, run, { ...reader, bundle, format: AUDITORS_FORMAT })
  const file = auditorZip({
    run_id: run.run_id,
    origin: deps.logOrigin,
    bundle,
    isWitnessed: bundle !== plain,
    report,
    trust: JSON.stringify(deps.trustDocument),
    checkpoint: witnessed?.checkpoint,
  })
  return c.body(file, 200, {
    "Content-Type": "application/zip",
    "Content-Disposition": `attachment; filename="${auditorZipName(run.run_id)}"`,
  })
}

// The in-toto statement of a run, for in-toto tools: for the key that made the run, and for everybody where it is published.

const REASONS: Readonly<Record<NoStatement, string>> = {
  stage_error: "it ended as stage_error, and its record is not an attestation.",
  revoked_key: "a key that its record rests on is revoked from before then, and the record does not verify any more.",
}

const FILE = "statement.intoto.json"

/** The statement of one run. */
function runStatementOf(deps: Deps, find: RunOfPath): Handlers {
  return {
    run_statement: async c => {
      const { run_id, bundle } = await find(c, deps)
      return c.body(await statementOf(deps, bundle), 200, {
        "Content-Type": "application/json",
        "Content-Disposition": `attachment; filename="runseal-run-${run_id}-${FILE}"`,
      })
    },
  }
}

/** For everybody, without a key. */
export function publicStatementRoutes(deps: Deps): Handlers {
  return {
    public_statement: c => sendPublished(c, deps, bundle => statementOf(deps, bundle)),
  }
}

async function statementOf({ stateRun }: Pick<Deps, "stateRun">, bundle: string): Promise<string> {
  const statement = await stateRun(bundle)
  if (!("absent" in statement)) return statement.envelope
  const code = statement.absent === "stage_error" ? "other_outcome" : "not_found"
  throw new HttpError(code, `There is no statement of this run: ${REASONS[statement.absent]}`)
}
