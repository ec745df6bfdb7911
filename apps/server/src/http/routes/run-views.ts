/**
 * The run that an endpoint is about, who may read it, and what answers show of it: summary, record, self-check. docs/api.md, "GET /runs", "GET /runs/{id}" and
 * "GET /runs/{id}/verify".
 */
import { type JsonObject, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { type Bundle, durationMs, type SealedBundle, sealedBundleSchema } from "@runseal/core/artifacts/bundle-schema"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { RECORD_FINDING_CODES } from "@runseal/core/artifacts/record-findings"
import { manifestHash, sealHash } from "@runseal/core/formulas/seal"
import { bundleOf } from "@runseal/core/verify/document"
import { parseDocument } from "@runseal/core/verify/parsed-text"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { ENGINE_VERSION, FORMULA_VERSION } from "@runseal/core/vocabulary/versions"
import type { BundleAddition, RunRecord, RunSummary, VerifyAnswer } from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { findAnyRun, findRun, type RunRow, type RunSummaryRow } from "../../store/tables/runs-table.ts"
import { readWitnessed } from "../../store/tables/witnessed-checkpoint.ts"
import { type Caller, callerOf, keyCallerOf } from "../access/caller.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchRun, readRunId } from "../path-ids.ts"
import type { ShownRefusal } from "./run-answer.ts"

/** A run in a list. */
export const runSummary = (row: RunSummaryRow): RunSummary => ({
  id: row.run_id,
  created_at: new Date(row.created_at).toISOString(),
  program_id: row.program_id,
  route_id: row.route_id,
  manifest_hash: row.manifest_hash,
  duration_ms: durationMs(row),
  status: row.outcome_kind,
  outcome_kind: row.outcome_kind,
  error_stage: row.error_stage,
  ...(row.enforcement === "" ? {} : { enforcement: row.enforcement }),
  execution_region: row.execution_region,
  ...storedFindings(row.findings),
  ...storedRefusal(row.refusal),
  ...(row.permit_id === "" ? {} : { permit_id: row.permit_id }),
  ...(row.closing_outcome === "" ? {} : { closing_outcome: row.closing_outcome }),
})

/** The findings of a row, `CODE:count` with spaces between; a code that this release does not know was written by another. */
function storedFindings(text: string): Pick<RunSummary, "findings"> {
  const findings = text.split(" ").flatMap(one => {
    const [name, count] = one.split(":")
    const code = RECORD_FINDING_CODES.find(known => known === name)
    return code === undefined ? [] : [{ code, count: Number(count) }]
  })
  return findings.length === 0 ? {} : { findings }
}

/** Why a gate refused the run, `REASON` or `REASON:rule_id`. */
function storedRefusal(text: string): Pick<RunSummary, "explanation"> {
  const [reason = "", rule_id] = text.split(":")
  return reason === "" ? {} : { explanation: { reason, ...(rule_id === undefined ? {} : { rule_id }) } }
}

/** The stored bundle of a row. @throws Error when the stored text is no bundle: the database was changed from outside */
export function storedBundle(row: RunRow): Bundle {
  const bundle = bundleOf(row.bundle)
  if (bundle === undefined) throw unreadable(row)
  return bundle
}

type Stored = Pick<RunRow, "run_id" | "bundle">

/** The same as it was sealed, for what needs no derived section. */
export function storedRecord(row: Stored): SealedBundle {
  const record = parseExact(sealedBundleSchema, parseDocument(row.bundle).value)
  if (!record.ok) throw unreadable(row)
  return record.value
}

const unreadable = ({ run_id }: Stored): Error => new Error(`the stored bundle of run ${run_id} is unreadable`)

/** The full run record. @param refusalOf why a gate refused it, as far as the reader may see that */
export async function runRecord(
  row: RunRow,
  refusalOf: (record: SealedBundle) => Promise<ShownRefusal>,
): Promise<RunRecord> {
  const record = storedRecord(row)
  const { run, sections, manifest, partial_manifest } = record
  const refusal = await refusalOf(record)
  return {
    ok: true,
    ...runSummary(row),
    payload_hash: sections.payload.payload_hash,
    duration_us: row.duration_us,
    error_message: run.error_message ?? "",
    ...(refusal === undefined ? {} : { explanation: refusal.explanation }),
    ...(manifest === undefined ? {} : { manifest }),
    ...(partial_manifest === undefined ? {} : { partial_manifest }),
  }
}

/** The members of the stored document; none when the database was changed from outside and it is no JSON object any more. */
export function storedFields({ bundle }: Pick<RunRow, "bundle">): JsonObject {
  try {
    const value = parseStrictJson(bundle)
    return isObject(value) ? value : {}
  } catch (error) {
    if (error instanceof StrictJsonError) return {}
    throw error
  }
}

/** Re-derives what the run's seal must be from the stored fields; undefined when nothing was sealed. */
function rederive(
  row: RunRow,
): { readonly hash: string; readonly kind: VerifyAnswer["verification_kind"] } | undefined {
  const bundle = storedFields(row)
  const manifest = bundle.manifest ?? bundle.partial_manifest
  if (isObject(manifest)) return { hash: manifestHash(manifest), kind: "manifest-self-seal" }
  const gap = bundle.attestation_gap_receipt
  return isObject(gap) ? { hash: sealHash(gap), kind: "receipt-self-seal" } : undefined
}

/** The server's self-check: true exactly when the stored fields re-derive to the recorded seal. */
export function selfCheck(row: RunRow, verificationAt: string): VerifyAnswer {
  const { manifest_hash } = row
  if (row.outcome_kind === "stage_error") {
    const reason = "The original run is a stage_error: it has no manifest to verify."
    return { ok: true, verified: false, manifest_hash, reason }
  }
  const derived = rederive(row)
  const recomputed_hash = derived?.hash ?? ""
  return {
    ok: true,
    verified: recomputed_hash === manifest_hash,
    manifest_hash,
    recomputed_hash,
    verification_at: verificationAt,
    verification_kind: derived?.kind ?? "manifest-self-seal",
    formula_version: FORMULA_VERSION,
    dcae_engine_hint: { available_at: "/dcae/verify", engine_version: ENGINE_VERSION },
  }
}

// The run a per-run endpoint is about. docs/api.md, "Keys".

/** Finds the run of a path. @throws HttpError 404 when there is none that the caller reads there */
export type RunOfPath = (c: Context, deps: Pick<Deps, "reads">) => Promise<RunRow>

const runId = (c: Context): number => readRunId(c.req.param("id"))

/** The run of the path. @throws HttpError 404 when there is none, also when it is another caller's */
export const ownRun: RunOfPath = (c, deps) => callersRun(c, deps, runId(c))

/** The caller's run with this number. @throws HttpError 404 when there is none, also when it is another caller's */
export const callersRun = (c: Context, { reads }: Pick<Deps, "reads">, id: number): Promise<RunRow> =>
  withRoom(
    c,
    reads.immutable(source => findRun(source, keyCallerOf(c).api_key_id, id)),
  )

/** Whether an administrator or auditor reads what this key made. */
export const readsOwner = ({ reads }: Caller, owner: number): boolean => reads === undefined || reads.includes(owner)

/** For what names every key. @throws HttpError 403 for an auditor of named keys */
export function refuseNamed(c: Context): void {
  if (callerOf(c).reads !== undefined)
    throw new HttpError(
      "admin_key_required",
      "This auditor reads the runs of named keys, and nothing that is of all keys.",
    )
}

/** The run of the path, of any key: for administrators, and for auditors who read that key. */
export const anyRun: RunOfPath = (c, { reads }) =>
  withRoom(
    c,
    reads
      .immutable(source => findAnyRun(source, runId(c)))
      .then(row => (row !== undefined && readsOwner(callerOf(c), row.owner) ? row : undefined)),
  )

async function withRoom(c: Context, found: Promise<RunRow | undefined>): Promise<RunRow> {
  const row = await found
  if (row === undefined) throw noSuchRun()
  await roomForAnswer(c, row.bundle.length)
  return row
}

// A stored bundle as it is served.

/** With what outside logs hold of it by now, and with what it was asked for with. @param sealed the stored text */
export async function shownBundle(
  { db, showOutside, showWitnessed }: Pick<Deps, "db" | "showOutside" | "showWitnessed">,
  sealed: string,
  addition: BundleAddition | undefined,
): Promise<string> {
  const [text = sealed] = await showOutside([sealed])
  return addition === undefined ? text : showWitnessed(text, await readWitnessed(db))
}
