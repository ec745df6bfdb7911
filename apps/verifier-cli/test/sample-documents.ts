/** The documents the transcripts verify: real ones, sealed by a small deployment whose keys follow from a seed. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import { listedAttestation } from "@runseal/core/artifacts/attestation-answer"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { withhold } from "@runseal/core/artifacts/declared-sections"
import { withholdSections } from "@runseal/core/derivation/derive"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { collectPermit, refuseRequest, requestApproval } from "../../../libs/core/test/fixtures/asked-approvals.ts"
import { attest, type Deployment, makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { type Json, withValue } from "../../../libs/core/test/fixtures/json-values.ts"
import { testPasskey, withPasskeys } from "../../../libs/core/test/fixtures/passkeys.ts"
import { closePermit, endPermits, openPermit } from "../../../libs/core/test/fixtures/permits.ts"
import { exportText, stateExport } from "../../../libs/core/test/fixtures/sample-exports.ts"
import { NOTHING_TO_GOVERN, using } from "../../../libs/core/test/fixtures/samples.ts"
import { ASKED } from "../../../libs/core/test/fixtures/vectors/asked-transfer.ts"
import { envelopeOf } from "./statement-exports.ts"

export const SERVICE = "Example Run Service"

const ESCAPE = "\u001b[2K\u001b[1A\u202eVERIFIED AND ANCHORED\n"

/** Writes every document and trust document into the folder. */
export function writeDocuments(folder: string): void {
  const write = (name: string, value: unknown): void => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value))
  }
  const deployment = makeDeployment({ seed: "transcripts", service: SERVICE })
  for (const outcome of OUTCOME_KINDS) {
    const { bundle, receipt } = sealRun(deployment, { outcome })
    write(`${outcome}.json`, bundle)
    if (outcome !== "stage_error") write(`${outcome}-statement.json`, envelopeOf(bundle, deployment))
    if (receipt !== undefined) write(`${outcome}-receipt.json`, receipt)
  }
  const { bundle, receipt } = sealRun(deployment, { outcome: "pepg_deny", denied_by: "rule" })
  const quiet = sealRun(deployment, {
    outcome: "ok",
    review: { ...NOTHING_TO_GOVERN, adapter_id: "none", decision_reason: "REVIEW_DISABLED" },
  }).bundle
  const [whole, refusal] = [sealRun(deployment, { outcome: "ok" }).bundle, receipt ?? {}]
  writeOld(deployment, write)
  writeFailing(deployment, whole, refusal, write)
  write("unreviewed.json", quiet)
  write("withheld.json", withheld(whole))
  const attestation = attest(deployment, { digest: bundle.bundle_hash })
  const listed = listedAttestation(attestation)
  write("attestation.json", attestation)
  write("listed-attestation.json", listed)
  write("backdated-attestation.json", { ...listed, created_at: "2026-01-15T12:29:59.000Z" })
  write("allow-token.json", { ok: true, run_id: whole.run.run_id, allow_token: whole.allow_token })
  write("error-answer.json", { ok: false, error: "run not found" })
  writeStreams(deployment, whole, write)
  write("twice.json", '{"kind":"vfa.audit_bundle.v2","kind":"vfa.audit_bundle.v2"}')
  writeTrust(deployment, write)
  writeExports(deployment, write)
  writePermits(write)
  writeApprovals(write)
}

const REDEEMED_AT = "2026-01-15T12:04:00.000Z"

/** UTF-16 units left of a last line: its whole length differs with that of its signatures. */
const CUT_AFTER = 5_000

/** Exports of a tenant with five records, whole and with things taken out. Last: other documents' proofs do not change. */
function writeExports(deployment: Deployment, write: Write): void {
  const tenant = "api-key-5"
  const records = (["ok", "pepg_deny", "ok", "stage_error", "ok"] as const).map(
    outcome => sealRun(deployment, { outcome, tenant }).bundle,
  )
  const [, second, third, fourth] = records
  if (second === undefined || third === undefined || fourth === undefined) throw new Error("five runs were sealed")
  const from = second.run.created_at
  const to = fourth.run.created_at
  const range = stateExport(deployment, [second, third, fourth], { tenant, from, to })
  const statement = stateExport(deployment, records, { tenant })
  const foreign = sealRun(deployment, { outcome: "ccv_halt", tenant: "api-key-6" }).bundle
  const text = exportText(statement, ...records)
  write("export.ndjson", text)
  write("range.ndjson", exportText(range, second, third, fourth))
  write("first-dropped.ndjson", exportText(range, third, fourth))
  write("last-dropped.ndjson", exportText(statement, ...records.slice(0, -1)))
  write("tampered.ndjson", exportText(statement, ...records.with(0, foreign).with(2, fourth).with(3, third)))
  write("cut.ndjson", text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1 + CUT_AFTER))
  write("statement-dropped.ndjson", exportText(...records))
  write("statement.json", statement)
}

/** A chain with permits in a log of its own: one closed, one whose act failed, one that ended, one that is open. */
function writePermits(write: Write): void {
  const options = { seed: "transcripts", service: SERVICE, signatures: "rfc6979" } as const
  const deployment = makeDeployment(options)
  const [opened, failing, lost] = [openPermit(deployment), openPermit(deployment), openPermit(deployment)]
  const close = closePermit(deployment, opened, { declared: using(2600) }).bundle
  const failed = closePermit(deployment, failing, { failed: "TIMED_OUT", declared: "nothing" }).bundle
  const denied = closePermit(deployment, openPermit(deployment), { outcome: "pepg_deny", denied_by: "rule" }).bundle
  const end = endPermits(deployment, [lost])
  write("opening.json", opened.opening)
  write("changed-opening.json", { ...opened.opening, audience: "somebody.else" })
  write("close.json", close)
  write("failed-close.json", failed)
  write("denied-close.json", denied)
  write("permit-end.json", end)
  const service = makeDeployment(options)
  const [one, two] = [openPermit(service), openPermit(service)]
  const run = sealRun(service, { outcome: "ok" }).bundle
  const closed = closePermit(service, one, { declared: using(2600) }).bundle
  const last = endPermits(service, [two])
  const chain = [one.opening, two.opening, run, closed, last]
  const statement = stateExport(service, chain, { at: "2026-01-15T13:00:00.250Z" })
  write("permits.ndjson", exportText(statement, ...chain))
  write("opening-dropped.ndjson", exportText(statement, two.opening, run, closed, last))
}

/** A chain with requests for an approval in a log of its own: one that two persons approved, one that was rejected, one that waits too long. */
function writeApprovals(write: Write): void {
  const service = makeDeployment({ seed: "transcripts", service: SERVICE, signatures: "rfc6979" })
  const [collected, refused, waiting] = [1, 2, 3].map(() => requestApproval(service, ASKED))
  if (collected === undefined || refused === undefined || waiting === undefined) throw new Error("three were asked")
  const opened = collectPermit(service, collected)
  const close = closePermit(service, opened, { redeemed_at: REDEEMED_AT, at: "2026-01-15T12:05:00.000Z" }).bundle
  const rejected = refuseRequest(service, refused, "rejected", { at: "2026-01-15T12:06:00.000Z" }).bundle
  write("request.json", collected.request)
  write("changed-request.json", { ...collected.request, reserve_tokens: 1 })
  write("approved-opening.json", opened.opening)
  write("approved-close.json", close)
  write("rejected.json", rejected)
  write("approvals-withheld.json", withholdSections(rejected, ["approvals"]))
  const once = makeDeployment({ seed: "transcripts", service: SERVICE, signatures: "rfc6979" })
  const asked = requestApproval(once, ASKED)
  const alter = { approvals: (part: Json) => withValue(part, "/decisions/1/decision", "approve") }
  write("lied-rejection.json", refuseRequest(once, asked, "rejected", { alter }).bundle)
  writeSigned(write)
  const chain = [collected.request, refused.request, waiting.request, opened.opening, close, rejected]
  write("approvals.ndjson", exportText(stateExport(service, chain), ...chain))
  write("overdue.ndjson", exportText(stateExport(service, chain, { at: "2026-01-15T14:00:00.250Z" }), ...chain))
}

/** The answer on a request that waits, and the opening of one that two persons signed with passkeys, whose keys a reader knows; in a log of its own. */
function writeSigned(write: Write): void {
  const options = { seed: "transcripts", service: SERVICE, signatures: "rfc6979" } as const
  const service = makeDeployment(options)
  const payload = '{"arguments":{"amount":12500.00,"currency":"EUR"},"note":"for M\\u00fcller \\u202e"}'
  const asked = requestApproval(service, { ...ASKED, payload })
  const { approval_id } = asked.request
  write("approval.json", { ok: true, approval_id, state: "waiting", request: asked.request, payload })
  write("signed-opening.json", collectPermit(service, asked, { retell: withPasskeys(asked.request, options) }).opening)
  const keys = ["carla.diaz@example", "erik.lund@example"].map(subject => testPasskey(subject, options).key)
  write("approver-keys.json", { kind: "vfa.approver_keys.v1", keys })
  write("one-approver-key.json", { kind: "vfa.approver_keys.v1", keys: keys.slice(0, 1) })
}

/** Streams of one document a line: all good, and with every kind of trouble. */
function writeStreams(deployment: Deployment, whole: Bundle, write: Write): void {
  const lines = (...documents: readonly unknown[]): string => documents.map(one => `${JSON.stringify(one)}\n`).join("")
  const refused = sealRun(deployment, { outcome: "ccv_halt" })
  const unanchored = sealRun(deployment, { outcome: "ccv_halt", receipt_anchor: "none", complete_record: false })
  const changed = { ...whole, run: { ...whole.run, route_id: "claims/payout" } }
  write("good.ndjson", lines(whole, refused.bundle, refused.receipt))
  write("doubtful.ndjson", lines(whole, unanchored.receipt))
  write("mixed.ndjson", `${lines(whole)}\n${lines(changed, { ok: false })}{"cut":\n${lines(whole).trimEnd()}`)
  write("empty.ndjson", "\n\r\n")
}

type Write = (name: string, value: unknown) => void

/** Records in the form of their day: leaf v5, receipts before anchoring, receipt anchor v1. */
function writeOld(deployment: Deployment, write: Write): void {
  write("leaf-v5.json", sealRun(deployment, { outcome: "ok", leaf: "vfa.leaf.v5", complete_record: false }).bundle)
  const unanchored = sealRun(deployment, { outcome: "ccv_halt", receipt_anchor: "none", complete_record: false })
  write("unanchored.json", unanchored.bundle)
  write("unanchored-receipt.json", unanchored.receipt)
  write(
    "anchor-v1-receipt.json",
    sealRun(deployment, { outcome: "pepg_deny", receipt_anchor: "vfa.receipt_anchor.v1" }).receipt,
  )
}

function writeFailing(deployment: Deployment, whole: Bundle, receipt: JsonObject, write: Write): void {
  const { receipt_anchor: _, ...withoutEntry } = receipt
  write("missing-entry-receipt.json", withoutEntry)
  write("late.json", sealRun(deployment, { outcome: "ok", logged_after_s: 601 }).bundle)
  write("changed.json", { ...whole, run: { ...whole.run, route_id: "claims/payout" } })
  const envelope = envelopeOf(whole, deployment)
  const payload = Buffer.from(envelope.payload, "base64").toString().replace(whole.run.route_id, "claims/payout")
  write("changed-statement.json", { ...envelope, payload: Buffer.from(payload).toString("base64") })
  write("hostile.json", { ...whole, run: { ...whole.run, route_id: ESCAPE.repeat(12) } })
  write("hostile-key.json", { ...whole, [ESCAPE]: true })
}

const withheld = (bundle: Bundle): Bundle => ({
  ...bundle,
  sections: { ...bundle.sections, causal_graph: withhold(bundle.sections.causal_graph) },
})

function writeTrust({ trustDocument }: Deployment, write: Write): void {
  const impostor = makeDeployment({ seed: "an impostor", service: SERVICE })
  write("trust.json", trustDocument)
  write("impostor-trust.json", impostor.trustDocument)
  write("impostor-ok.json", sealRun(impostor, { outcome: "ok" }).bundle)
  write("new-key-trust.json", { ...trustDocument, service_keys: impostor.trustDocument.service_keys })
  write("hostile-trust.json", { ...trustDocument, service: `Example\u202e` })
  const [key] = trustDocument.service_keys
  write("revoked-trust.json", { ...trustDocument, service_keys: [{ ...key, revoked_from: "2026-01-10T00:00:00Z" }] })
}
