/** A service for tests: a real HTTP server that answers as docs/api.md says, over records that are really sealed. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { explainReceipt } from "@runseal/core/artifacts/explanation"
import { isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import { exitCode } from "@runseal/core/verify/report"
import { isObject, textMember } from "@runseal/core/vocabulary/json-members"
import { OUTCOME_KINDS, OUTCOMES, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { formatCheckpoint } from "@runseal/log/notes/checkpoint"
import { formatNote, noteKey, noteSignatureLine } from "@runseal/log/notes/signed-note"
import { type Deployment, makeDeployment, type SealedRun, sealRun } from "../../core/test/fixtures/deployment.ts"
import { exportText, stateExport } from "../../core/test/fixtures/sample-exports.ts"
import { type AdministrationFixture, administrationFixture } from "./administration-fixture.ts"
import { permitFixture } from "./permit-fixture.ts"
import { STATEMENT_FILE, statementAnswer } from "./statement-fixture.ts"

export const API_KEY = "runseal_0123456789abcdef0123456789abcdef0123456789abcdef"

/** The report of every run. */
export const REPORT = "%PDF-1.7\nreport\n%%EOF\n"

export type Asked = {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
export type Answer = { readonly status: number; readonly body: JsonValue; readonly text?: string }
/** Answers one request in place of the service. */
export type Fault = (response: ServerResponse, asked: Asked) => void

export type Service = {
  readonly baseUrl: string
  readonly deployment: Deployment
  /** Every run of the calling key, oldest first; run n is the n-th. */
  readonly runs: readonly SealedRun[]
  /** Every request, in order. */
  readonly asked: Asked[]
  /** Answers the next requests, one each. */
  readonly faults: Fault[]
  readonly stop: () => Promise<void>
}

/** Starts a service whose runs 1–7 ended in each of the seven states, in the order of the vocabulary. */
export async function startService(): Promise<Service> {
  const deployment = makeDeployment({ seed: "sdk", service: "Example Run Service" })
  const runs = OUTCOME_KINDS.map(outcome => sealRun(deployment, { outcome }))
  const administration = administrationFixture(deployment, runs)
  const permits = permitFixture(deployment, outcome => {
    const run = runs.find(({ bundle }) => bundle.run.outcome_kind === outcome)
    return run && executeAnswer(run.bundle)
  })
  const asked: Asked[] = []
  const faults: Fault[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = "", url: path = "", headers } = request
    const question = { method, path, headers, body: Buffer.concat(chunks).toString() }
    asked.push(question)
    const fault = faults.shift()
    if (fault !== undefined) return fault(response, question)
    const permitted = isAuthorised(question) || permits.isPublic(path) ? await permits.answer(question) : undefined
    const { status, body, text } = permitted ?? answer(deployment, runs, administration, question)
    response.writeHead(status, { "content-type": "application/json" }).end(text ?? JSON.stringify(body))
  })
  await new Promise<void>(done => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  const stop = (): Promise<void> =>
    new Promise(done => {
      server.close(() => done())
      server.closeAllConnections()
    })
  return { baseUrl: `http://127.0.0.1:${port}`, deployment, runs, asked, faults, stop }
}

const isAuthorised = ({ headers }: Asked): boolean => headers["x-service-key"] === API_KEY

const refusal = (status: number, error: string): Answer => ({ status, body: { ok: false, error } })
const ok = (body: JsonObject): Answer => ({ status: 200, body: { ok: true, ...body } })

const RELEASE = { service: "runseal", version: "1.0.0", orchestrator_version: "1.0.0", orchestrator_git_sha: "unknown" }

function answer(
  deployment: Deployment,
  runs: readonly SealedRun[],
  administration: AdministrationFixture,
  asked: Asked,
): Answer {
  const { method, path, body } = asked
  const [name = "", query = ""] = path.split("?")
  const open = publicAnswer(deployment, name) ?? administration.publicAnswer(name)
  if (open !== undefined) return open
  if (!isAuthorised(asked)) return refusal(401, "A valid key is required.")
  const administered = administration.answer(asked)
  if (administered !== undefined) return administered
  if (method === "POST") return postAnswer(deployment, runs, name, parseStrictJson(body))
  if (name === "/runs" || name === "/runs/search") return listAnswer(runs, new URLSearchParams(query))
  if (name === "/runs/export") return exportAnswer(deployment, runs)
  if (name === "/admin/runs") return adminListAnswer(runs, new URLSearchParams(query))
  if (name === "/admin/runs/export") return exportAnswer(deployment, runs)
  const [, id = "", part = ""] = /^(?:\/admin)?\/runs\/(\d+)(?:\/([a-z0-9.-]+))?$/.exec(name) ?? []
  const run = runs[Number(id) - 1]
  if (run !== undefined && part === STATEMENT_FILE) return statementAnswer(deployment, run.bundle)
  return run === undefined ? refusal(404, "There is no such run.") : runAnswer(run.bundle, part)
}

/** Everything, whatever time is asked for. */
function exportAnswer(deployment: Deployment, runs: readonly SealedRun[]): Answer {
  const bundles = runs.map(({ bundle }) => bundle)
  return { status: 200, body: null, text: exportText(stateExport(deployment, bundles), ...bundles) }
}

function publicAnswer({ trustDocument, log, checkpointKey }: Deployment, name: string): Answer | undefined {
  if (name === "/health") return ok({ ...RELEASE, time: "2026-01-15T13:00:00.000Z" })
  if (name === "/version") return ok({ ...RELEASE, log_origin: log.origin, formula_version: "manifest.v1" })
  if (name === "/.well-known/runseal-trust.json") return { status: 200, body: trustDocument }
  if (name !== "/log/checkpoint") return undefined
  const { size, root } = log.head()
  const text = formatCheckpoint({ origin: "runseal.local", size, root, extensions: [] })
  const { keyId } = noteKey("runseal.local", "ed25519", checkpointKey.raw)
  const signature = checkpointKey.sign(Buffer.from(text))
  const line = noteSignatureLine({ name: "runseal.local", keyId, signature })
  return { status: 200, body: null, text: formatNote(text, [line]) }
}

function postAnswer(deployment: Deployment, runs: readonly SealedRun[], name: string, body: JsonValue): Answer {
  if (name === "/dcae/verify") {
    const report = verifyDocument(body, [deployment.trust])
    if (isUnreadable(report)) return refusal(400, `The document cannot be verified: ${report.unreadable}`)
    const { verdict, checks, outcome_kind, withheld, limitations } = report
    const verified = exitCode(verdict, false) === 0
    const named = outcome_kind === undefined ? {} : { outcome_kind }
    return ok({ verified, verdict, checks, ...named, withheld, limitations, engine_version: "test" })
  }
  if (name === "/execute/verify-determinism") {
    const sealed = { manifest_hash: runs[0]?.bundle.manifest?.ManifestHash ?? "" }
    const diff = { differs: false, differing_fields: [] }
    return ok({ deterministic: true, first: sealed, second: sealed, diff })
  }
  if (name !== "/execute" || textMember(body, "route_id") === "") return refusal(400, "route_id: must not be empty.")
  // A payload that names an outcome has it; any other runs through.
  const payload = textMember(body, "payload")
  const run = runs.find(({ bundle }) => bundle.run.outcome_kind === payload) ?? runs[0]
  return run === undefined ? refusal(503, "There are no runs.") : executeAnswer(run.bundle)
}

const durationMs = ({ run }: Bundle): number => Math.floor(run.duration_us / 1000)

/** docs/api.md, "POST /execute". */
export function executeAnswer(bundle: Bundle): Answer {
  const { run, manifest, partial_manifest, allow_token } = bundle
  const { http_status: status, sentence } = OUTCOMES[run.outcome_kind]
  const base = { run_id: run.run_id, duration_ms: durationMs(bundle) }
  if (manifest !== undefined && allow_token !== undefined) return ok({ ...base, manifest, allow_token })
  const found = receiptOf(bundle)
  const refused = { ok: false, ...base, error: run.error_message ?? sentence, error_stage: run.error_stage ?? "" }
  const sealed = { ...(partial_manifest && { partial_manifest }), ...(found && { [found.key]: found.receipt }) }
  const explained = found && { explanation: explainReceipt(found.receipt, bundle.sections) }
  return { status, body: { ...refused, ...explained, ...sealed } }
}

function summary(bundle: Bundle): JsonObject {
  const { run, manifest, partial_manifest } = bundle
  const { run_id: id, created_at, program_id, route_id, outcome_kind, error_stage = "", execution_region } = run
  const sealed = (manifest ?? partial_manifest)?.ManifestHash ?? receiptOf(bundle)?.receipt.hash ?? ""
  const facts = { id, created_at, program_id, route_id, manifest_hash: sealed, duration_ms: durationMs(bundle) }
  return { ...facts, status: outcome_kind, outcome_kind, error_stage, execution_region }
}

function listAnswer(runs: readonly SealedRun[], query: URLSearchParams): Answer {
  const [limit, offset] = [Number(query.get("limit") ?? 50), Number(query.get("offset") ?? 0)]
  const wanted = query.get("status")
  const found = runs.map(run => summary(run.bundle)).filter(run => wanted === null || run.status === wanted)
  return ok({ total: found.length, limit, offset, runs: found.reverse().slice(offset, offset + limit) })
}

/** docs/api.md, "The deployment": as if all runs were of key 1. */
function adminListAnswer(runs: readonly SealedRun[], query: URLSearchParams): Answer {
  const limit = Number(query.get("limit") ?? 50)
  const wanted = query.get("status")
  const before = Number(query.get("before") ?? runs.length + 1)
  const found = runs
    .map(({ bundle }) => bundle)
    .filter(({ run }) => run.run_id < before && (wanted === null || run.outcome_kind === wanted))
    .reverse()
  const page = found.slice(0, limit)
  const next = found.length > limit ? page.at(-1)?.run.run_id : undefined
  const listed = page.map(bundle => ({ ...summary(bundle), key_id: 1 }))
  return ok({ limit, runs: listed, ...(next === undefined ? {} : { next }) })
}

function runAnswer(bundle: Bundle, part: string): Answer {
  const { run, manifest, partial_manifest, sections } = bundle
  if (part === "artifacts") return { status: 200, body: null, text: JSON.stringify(bundle, null, 1) }
  if (part === "verify") return selfCheck(bundle)
  if (part === "report.pdf") return { status: 200, body: null, text: REPORT }
  if (part !== "") return artifactAnswer(bundle, part)
  const sealed = { ...(manifest && { manifest }), ...(partial_manifest && { partial_manifest }) }
  const facts = { payload_hash: sections.payload.payload_hash, duration_us: run.duration_us }
  return ok({ ...summary(bundle), ...facts, error_message: run.error_message ?? "", ...sealed })
}

/** docs/api.md, "GET /runs/{id}/verify". A stage_error's absent members are null here: a client must take both. */
function selfCheck(bundle: Bundle): Answer {
  const { manifest_hash } = summary(bundle)
  if (manifest_hash === "" || manifest_hash === undefined) {
    const absent = { recomputed_hash: null, verification_at: null, verification_kind: null, formula_version: null }
    const reason = "The original run is a stage_error: it has no manifest to verify."
    return ok({ verified: false, manifest_hash: "", ...absent, dcae_engine_hint: null, reason })
  }
  return ok({
    verified: true,
    manifest_hash,
    recomputed_hash: manifest_hash,
    verification_at: "2026-01-15T13:00:00.000Z",
    verification_kind: "manifest-self-seal",
    formula_version: "manifest.v1",
    dcae_engine_hint: { available_at: "/dcae/verify", engine_version: "test" },
  })
}

function artifactAnswer(bundle: Bundle, path: string): Answer {
  const { run_id, outcome_kind } = bundle.run
  const kind = OUTCOME_KINDS.find(candidate => OUTCOMES[candidate].artifact?.path === path)
  const key = kind && OUTCOMES[kind].artifact?.key
  if (kind === undefined || key === undefined) return refusal(404, "There is no such endpoint.")
  if (kind !== outcome_kind) return refusal(404, wrongState(run_id, outcome_kind, kind))
  if (key === "allow_token") return ok({ run_id, allow_token: bundle.allow_token ?? {} })
  const anchor = bundle.anchors.receipt
  const receipt_anchor = anchor && { version: anchor.leaf.leaf_version, ...anchor }
  return ok({ run_id, [key]: bundle[key] ?? {}, ...(receipt_anchor && { receipt_anchor }) })
}

const wrongState = (run: number, actual: OutcomeKind, needed: OutcomeKind): string =>
  `Run ${run} ended as ${actual}; this artifact exists only for a run that ended as ${needed}.`

/** JSON text of a value in which one member of the top level is changed. */
export const altered = (body: JsonValue, change: JsonObject): string =>
  JSON.stringify({ ...(isObject(body) ? body : {}), ...change })
