/** docs/formats.md section 14 and decision 0062: what the service signs of a run for other people's tools. */
import { verify } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decodeBase64, parseStrictJson } from "@runseal/canonical"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { preAuthenticationEncoding } from "@runseal/log/entries/dsse"
import { describe, expect, test } from "vitest"
import { changeKeys, revokeRetiredKey } from "../src/sealing/key-change.ts"
import { openDatabase } from "../src/store/driver/database.ts"
import { testClock } from "./harness/clock.ts"
import { ADMIN, caller, mint } from "./harness/key-holders.ts"
import { expectRefused, objectAt, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { CASES, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"
import { readStoredBundle, writeStoredBundle } from "./harness/stored-bundle.ts"
import { openService, type TestService } from "./harness/test-service.ts"

const { service, runId } = standingSevenStates()
const pathOf = (run: number): string => `/runs/${run}/statement.intoto.json`
const payloadOf = (envelope: string): Uint8Array =>
  decodeBase64(textAt(parseStrictJson(envelope), "payload")) ?? Uint8Array.of()

describe.each(CASES.filter(name => name !== "stage_error"))("the statement of %s", name => {
  test("is signed by the published service key, over the pre-authentication encoding", async () => {
    const { status, headers, body, text } = await service().get(pathOf(runId(name)))
    expect(status, text).toBe(200)
    expect(headers.get("content-disposition")).toContain(`runseal-run-${runId(name)}-statement.intoto.json`)
    const key = await (await service().request("/.well-known/service.pub")).text()
    const signed = preAuthenticationEncoding("application/vnd.in-toto+json", payloadOf(text))
    const signature = decodeBase64(textAt(body, "signatures", 0, "sig")) ?? Uint8Array.of()
    expect(verify("sha256", signed, key, signature)).toBe(true)
  })

  test("has the bundle's hash as its subject and verifies for an auditor", async () => {
    const { text } = await service().get(pathOf(runId(name)))
    const { body: bundle } = await service().get(`/runs/${runId(name)}/artifacts`)
    const statement = parseStrictJson(payloadOf(text))
    expect(textAt(statement, "subject", 0, "digest", "sha256")).toBe(bundle.bundle_hash)
    expect(objectAt(statement, "predicate").outcome_kind).toBe(STATE_OF[name])
    const report = verifyText(text, [service().deps.trust])
    expect(isUnreadable(report) ? report : report.verdict).toBe(VERDICTS.run_statement)
  })
})

test("the record of a stage error is no attestation: there is no statement of it", async () => {
  expect(expectRefused(await service().get(pathOf(runId("stage_error"))), 404)).toContain("stage_error")
  expectRefused(await service().get(pathOf(999_999)), 404)
})

test("POST /dcae/verify judges a statement, which no log entry makes evidence", async () => {
  const { body } = await service().get(pathOf(runId("ok")))
  const { body: judged } = await service().post("/dcae/verify", body)
  expect(judged).toMatchObject({ verified: false, verdict: VERDICTS.run_statement })
})

test("a record is signed once: asked for again, the answer is the same to the byte", async () => {
  const [first, second] = [await service().get(pathOf(runId("ok"))), await service().get(pathOf(runId("ok")))]
  expect(second.text).toBe(first.text)
})

test("anybody reads the statement of a published run, with its ETag, until it is withdrawn", async () => {
  const own = await openService()
  try {
    const admin = await mint(own, ADMIN)
    const { body } = await admin.execute(request())
    const token = textAt((await admin.post(`/admin/runs/${body.run_id}/publish`)).body, "token")
    const path = `/public/runs/${token}/statement.intoto.json`
    const answer = await caller(own).get(path)
    expect(answer.text).toBe((await admin.get(`/runs/${body.run_id}/statement.intoto.json`)).text)
    const etag = answer.headers.get("etag") ?? ""
    expect(answer.headers.get("cache-control")).toBe("public, max-age=3600")
    expect((await own.request(path, { headers: { "If-None-Match": etag } })).status).toBe(304)
    await admin.post(`/admin/runs/${body.run_id}/unpublish`)
    expectRefused(await caller(own).get(path), 404)
  } finally {
    await own.close()
  }
})

test("nothing is signed for a record that was changed in the database, whoever recomputed its hashes", async () => {
  const own = await openService()
  try {
    const { body } = await own.execute(request())
    const text = await readStoredBundle(own.db, Number(body.run_id))
    const route = textAt(parseStrictJson(text), "run", "route_id")
    for (const changed of [text.replaceAll(`"${route}"`, '"claims/payout"'), text.slice(1), "{}"]) {
      await writeStoredBundle(own.db, Number(body.run_id), changed)
      expectRefused(await own.get(pathOf(Number(body.run_id))), 500)
    }
    await writeStoredBundle(own.db, Number(body.run_id), text)
    expect((await own.get(pathOf(Number(body.run_id)))).status).toBe(200)
  } finally {
    await own.close()
  }
})

describe.each(["service", "log"] as const)("a record whose %s key is revoked from then on", role => {
  test("has no statement, 404 and not a fault, also where it is published; records of before and after have theirs", {
    timeout: 120_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "runseal-revoked-"))
    const clock = testClock()
    const open = (): Promise<TestService> =>
      openService({
        open: () => openDatabase({ kind: "pglite", dataDir: join(folder, "data") }),
        keysDir: join(folder, "keys"),
        clock,
      })
    let own = await open()
    try {
      const admin = await mint(own, ADMIN)
      const seal = async (): Promise<number> => Number((await admin.execute(request())).body.run_id)
      const before = await seal()
      clock.advance(60_000)
      const exposed = await seal()
      const token = textAt((await admin.post(`/admin/runs/${exposed}/publish`)).body, "token")
      const second = Math.floor(clock.nowMs() / 1000) - 30
      const parts = { db: own.db, config: own.config, nowMs: clock.nowMs }
      const { changed } = await changeKeys(parts, [role])
      await revokeRetiredKey(parts, changed[0]?.retired ?? "", second)
      await own.close()
      own = await open()
      const reader = caller(own, admin.secret)
      const after = Number((await reader.execute(request())).body.run_id)
      for (const path of [pathOf(exposed), `/public/runs/${token}/statement.intoto.json`]) {
        const refused = await reader.get(path)
        expect(expectRefused(refused, 404)).toContain("revoked")
      }
      expect((await reader.get(pathOf(before))).status).toBe(200)
      expect((await reader.get(pathOf(after))).status).toBe(200)
      const text = await readStoredBundle(own.db, exposed)
      const route = textAt(parseStrictJson(text), "run", "route_id")
      await writeStoredBundle(own.db, exposed, text.replaceAll(`"${route}"`, '"claims/payout"'))
      expectRefused(await reader.get(pathOf(exposed)), 500)
    } finally {
      await own.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
