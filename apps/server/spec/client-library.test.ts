/** docs/sdk.md: the SDK against the real service, its fetch calls the application directly. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { ERROR_CODE_NAMES } from "@runseal/core/wire/error-codes"
import { publicOrigin } from "@runseal/log/notes/checkpoint"
import {
  type Client,
  createClient,
  type ExecuteRequest,
  hashFile,
  InvalidArgumentError,
  NotFoundError,
  type ReportOptions,
  VERDICTS,
  verifyBundle,
  verifyExport,
} from "@runseal/sdk"
import { beforeEach, expect, test } from "vitest"
import { CASES, REQUESTS, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"

const { service, answers, runId } = standingSevenStates()
const IDENTITY = { route_id: "claims/triage", registry_record_hash: "b".repeat(64) }

let client: Client
let sent = 0
beforeEach(() => {
  sent = 0
  client = createClient({
    baseUrl: "http://runseal.test",
    fetch: (url, init) => {
      sent++
      return service().request(url.slice("http://runseal.test".length), init)
    },
  })
})

test.each(CASES)("execute narrows on the outcome: %s", async name => {
  const result = await client.execute(REQUESTS[name] as unknown as ExecuteRequest)
  const { status: _status, body } = answers()[name]
  expect(result.outcome_kind).toBe(STATE_OF[name])
  expect(Object.keys(result).sort()).toEqual([...Object.keys(body), "outcome_kind"].sort())
  if (result.ok) expect(result.manifest.ManifestHash).toMatch(/^[0-9a-f]{64}$/)
  else expect(result.error).toBe(body.error)
  if (name === "macc_halt") service().clock.advance(3_600_000)
})

test("a call whose answer was lost is repeated under its key: one run, and its answer", async () => {
  const total = async (): Promise<number> => {
    for await (const page of client.runs({ limit: 1 }).pages()) return page.total
    throw new Error("a list has a page")
  }
  const before = await total()
  const lossy = createClient({
    baseUrl: "http://runseal.test",
    random: () => 0,
    newIdempotencyKey: () => crypto.randomUUID(),
    fetch: async (url, init) => {
      const answer = await service().request(url.slice("http://runseal.test".length), init)
      if (sent++ % 2 === 0) throw new TypeError("the connection broke")
      return answer
    },
  })
  const result = await lossy.execute(REQUESTS.ccv_halt as unknown as ExecuteRequest)
  expect(result).toMatchObject({ outcome_kind: "ccv_halt", error_stage: "CCV" })
  expect([sent, await total()]).toEqual([2, before + 1])
  const attested = await lossy.attest({ digest: "d1".repeat(32) })
  expect(sent).toBe(4)
  const listed: string[] = []
  for await (const { attestation_id } of client.attestations().items()) listed.push(attestation_id)
  expect(listed.filter(id => id === attested.document.attestation_id)).toHaveLength(1)
})

test("run, bundle, artifact, health, version, checkpoint and trust are read", async () => {
  expect((await client.run(runId("ok"))).manifest).toEqual(answers().ok.body.manifest)
  expect((await client.artifact(runId("ccv_halt"), "ccv_halt_receipt")).document.ok).toBe(true)
  expect((await client.health()).service).toBe("runseal")
  expect((await client.version()).log_origin).toBe(service().deps.logOrigin)
  expect((await client.logCheckpoint()).document.origin).toBe(publicOrigin(service().deps.logOrigin))
  expect((await client.trust()).document.kind).toBe("vfa.trust.v1")
})

/** The bundle in a report. */
const recordIn = (pdf: Uint8Array): string => new TextDecoder().decode(verifyReportPdf(pdf, []).record)

test("a report is a PDF that carries the bundle; another format is refused before anything is sent", async () => {
  const pdf = await client.report(runId("ok"), { format: "brief" })
  expect(recordIn(pdf)).toBe((await client.bundle(runId("ok"))).text)
  const unknown: ReportOptions = JSON.parse('{"format":"short"}')
  await expect(client.report(runId("ok"), unknown)).rejects.toThrow(InvalidArgumentError)
  await expect(client.report(999_999)).rejects.toThrow(NotFoundError)
})

test("a run of a hashed program is sealed with that hash, and its report is saved with the evidence in it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-sdk-report-"))
  try {
    const [agent, report] = [join(folder, "agent.tgz"), join(folder, "report.pdf")]
    writeFileSync(agent, "a packed agent")
    const program_id = await hashFile(agent)
    const { run_id } = await client.execute({
      ...IDENTITY,
      program_id,
      payload: "Approve claim 4711?",
      authorization_chain: { approvers: [{ actor_id: "m.okafor", approved_at: new Date(0), comment: undefined }] },
    })
    expect(await client.run(run_id)).toMatchObject({ program_id })
    const { document } = await client.bundle(run_id)
    const full = await client.bundle(run_id, { form: "full" })
    expect(full.document).toMatchObject({ kind: "vfa.bundle_view.v1", bundle_hash: document.bundle_hash })
    const { text: trust } = await client.trust()
    expect(verifyBundle(full.text, [trust])).toMatchObject({ verdict: VERDICTS.complete })
    expect(JSON.stringify(document)).toContain('{"actor_id":"m.okafor","approved_at":"1970-01-01T00:00:00.000Z"}')
    await client.saveReport(run_id, report)
    expect(recordIn(readFileSync(report))).toBe((await client.bundle(run_id)).text)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("verifyDeterminism answers for the same request", async () => {
  expect(await client.verifyDeterminism(REQUESTS.ok as unknown as ExecuteRequest)).toMatchObject({
    deterministic: true,
  })
})

test("an error has the service's code, and the request id that the answer's header and the log have", async () => {
  let header: string | null | undefined
  const watched = createClient({
    baseUrl: "http://runseal.test",
    fetch: async (url, init) => {
      const answer = await service().request(url.slice("http://runseal.test".length), init)
      header = answer.headers.get("x-request-id")
      return answer
    },
  })
  const error = await watched.run(999_999).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 404, method: "GET", url: "http://runseal.test/runs/999999", requestId: header })
  expect(ERROR_CODE_NAMES).toContain(Reflect.get(Object(error), "code"))
})

test("the export of all runs is complete, and one without its last record is not", async () => {
  const trust = JSON.stringify((await client.trust()).document)
  const lines: string[] = []
  for await (const line of client.exportRuns()) lines.push(line)
  const total = lines.length - 1
  expect(total).toBeGreaterThanOrEqual(CASES.length)
  expect(await verifyExport(lines, [trust])).toMatchObject({
    verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED",
    records: total,
  })
  expect(await verifyExport(lines.slice(0, -1), [trust])).toMatchObject({
    verdict: "FAILED",
    problems: [{ tenant_ordinal: total }],
  })
})
