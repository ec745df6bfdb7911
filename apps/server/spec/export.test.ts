/** `GET /runs/export` and docs/formats.md sections 7.7 and 13: what a caller gets, and what it proves to an auditor. */
import { digest, type JsonObject } from "@runseal/canonical"
import { tenantOf } from "@runseal/core/seal/tenant-chain"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import type { Completeness } from "@runseal/core/verify/completeness"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { beforeAll, describe, expect, test } from "vitest"
import { exportReport } from "../../../libs/core/test/fixtures/judged.ts"
import { createApp } from "../src/app.ts"
import { EXPORTS_PER_CALLER_MAX } from "../src/sealing/exports.ts"
import { draftExport, stateExport } from "../src/sealing/seal-export-statement.ts"
import { lockTenants } from "../src/store/tables/tenants.ts"
import { eachDatabase } from "./database/databases.ts"
import { trustOf } from "./harness/auditor.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint, type RequestTarget } from "./harness/key-holders.ts"
import { expectRefused, numberAt, objectAt, readAnswer, textAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { openService, standingService } from "./harness/test-service.ts"
import { runVerifierOn } from "./harness/verifier.ts"

const DAY_MS = 86_400_000

/** The lines of an export, as the holder of the secret gets them. */
async function exported(target: RequestTarget, query = "", secret?: string): Promise<readonly string[]> {
  const headers = secret === undefined ? {} : { "X-Service-Key": secret }
  const response = await target.request(`/runs/export${query}`, { headers })
  const text = await response.text()
  expect(response.status, text.slice(0, 300)).toBe(200)
  expect(response.headers.get("content-type")).toBe("application/x-ndjson")
  expect(text.endsWith("\n")).toBe(true)
  return text.slice(0, -1).split("\n")
}

const completeness = (lines: readonly string[], trust: TrustedKeys): Completeness => exportReport(lines, [trust])

const leafOf = (lines: readonly string[]): JsonObject => objectAt(JSON.parse(lines[0] ?? ""), "leaf")
const runIds = (lines: readonly string[]): readonly number[] =>
  lines.slice(1).map(line => numberAt(JSON.parse(line), "run", "run_id"))

eachDatabase("exports", open => {
  const service = standingService(() => ({ open }))
  let trust: TrustedKeys
  const judged = (lines: readonly string[]): Completeness => completeness(lines, trust)
  const problems = (lines: readonly string[]): readonly string[] => {
    const { verdict, problems: found } = judged(lines)
    expect(verdict === "FAILED").toBe(found.length > 0)
    return found.map(({ sentence }) => sentence)
  }

  beforeAll(async () => {
    trust = await trustOf(service())
  })

  test("of a caller without records is a statement that there is none, and his first record is of the same tenant", async () => {
    const lines = await exported(service())
    expect(lines).toHaveLength(1)
    expect(leafOf(lines)).toMatchObject({ head_ordinal: 0, head: "0".repeat(64) })
    expect(judged(lines)).toMatchObject({ verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", records: 0 })
    await service().execute(request())
    const [statement = "", record = ""] = await exported(service())
    expect(textAt(JSON.parse(record), "run", "tenant_salt")).toBe(textAt(JSON.parse(lines[0] ?? ""), "tenant_salt"))
    expect(textAt(JSON.parse(statement), "tenant_id")).toBe("anonymous")
  })

  describe("with records", () => {
    let whole: readonly string[] = []
    const days = (at: number): string => textAt(JSON.parse(whole[at] ?? ""), "run", "created_at")

    beforeAll(async () => {
      // Other tests may have left some; these are a day apart, of several outcomes.
      for (const body of [
        request({ payload: EICAR }),
        request({ route_id: "other" }),
        request(),
        request({ payload: "" }),
      ]) {
        service().clock.advance(DAY_MS)
        await service().execute(body)
      }
      whole = await exported(service())
    })

    test("it is the statement and every record, byte for byte as it is served alone, oldest first", async () => {
      const ids = runIds(whole)
      expect(ids).toEqual([...ids].sort((a, b) => a - b))
      expect(ids.length).toBe(numberAt((await service().get("/runs")).body, "total"))
      for (const [at, id] of ids.entries())
        expect(whole[at + 1]).toBe((await service().get(`/runs/${id}/artifacts`)).text)
      expect(leafOf(whole)).toMatchObject({ first_ordinal: 1, last_ordinal: ids.length, head_ordinal: ids.length })
      expect(judged(whole)).toMatchObject({ verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", records: ids.length })
    })

    test("a cut, a changed statement, an older statement with the tail cut off, and one of another range are found", async () => {
      const text = whole.join("\n")
      const cut = text.slice(0, -50).split("\n")
      expect(problems(cut).at(-1)).toMatch(new RegExp(`^document ${whole.length - 1} is missing`))
      const altered = whole[0]!.replace(`"last_ordinal":${whole.length - 1}`, `"last_ordinal":${whole.length - 2}`)
      expect(problems([altered, ...whole.slice(1, -1)])[0]).toMatch(/^the export statement does not verify/)
      await service().execute(request())
      const now = await exported(service())
      expect(problems([whole[0]!, ...now.slice(1)])).toEqual([expect.stringMatching(/is not of the piece/)])
      expect(problems([now[0]!, ...whole.slice(1)])[0]).toMatch(new RegExp(`^document ${whole.length} is missing`))
      const range = await exported(service(), `?from=${days(2)}`)
      expect(problems([range[0]!, ...whole.slice(1)]).length).toBeGreaterThan(0)
      expect(problems([whole[0]!, ...range.slice(1)]).length).toBeGreaterThan(0)
    })

    test("a time range has both its ends, and its first and last record are missed too", async () => {
      const range = await exported(service(), `?from=${days(2)}&to=${days(4)}`)
      expect(range.slice(1)).toEqual(whole.slice(2, 5))
      expect(leafOf(range)).toMatchObject({ first_ordinal: 2, last_ordinal: 4, from: days(2), to: days(4) })
      expect(judged(range)).toMatchObject({ verdict: "COMPLETE RANGE VERIFIED AND ANCHORED", records: 3, outside: 0 })
      expect(problems(range.toSpliced(1, 1))[0]).toMatch(/^document 2 is missing/)
      expect(problems(range.slice(0, -1))[0]).toMatch(/^document 4 is missing/)
      const later = new Date(Date.parse(days(2)) + 1).toISOString()
      expect(leafOf(await exported(service(), `?from=${later}&to=${days(3)}`))).toMatchObject({ first_ordinal: 3 })
      const zoned = encodeURIComponent(days(3).replace("Z", "+00:00"))
      expect(leafOf(await exported(service(), `?to=${zoned}`))).toMatchObject({ last_ordinal: 3, to: days(3) })
    })

    test("a range without records is a statement that there is none", async () => {
      for (const query of ["?to=2020-01-01T00:00:00Z", "?from=2099-01-01T00:00:00Z"]) {
        const lines = await exported(service(), query)
        expect(lines).toHaveLength(1)
        expect(judged(lines)).toMatchObject({ verdict: "COMPLETE RANGE VERIFIED AND ANCHORED", records: 0 })
      }
    })

    test("a time before the year 0, which no statement could name, is refused", async () => {
      const year = encodeURIComponent("0000-01-01T00:00:00+01:00")
      expect(expectRefused(await service().get(`/runs/export?from=${year}`), 400)).toMatch(/^from must be/)
    })

    test("the command says the same, and so of a file that lacks its first or its last record", async () => {
      const published = (await service().get("/.well-known/runseal-trust.json")).text
      const verify = (lines: readonly string[]): ReturnType<typeof runVerifierOn> =>
        runVerifierOn("export.ndjson", `${lines.join("\n")}\n`, published, ["--complete"])
      expect(await verify(whole)).toMatchObject({ exit: 0, verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED" })
      const first = await verify(whole.toSpliced(1, 1))
      expect(first).toMatchObject({ exit: 1, verdict: "FAILED" })
      expect(first.stdout).toMatch(/document 1 is missing/)
      const last = await verify(whole.slice(0, -1))
      expect(last).toMatchObject({ exit: 1, verdict: "FAILED" })
      expect(last.stdout).toMatch(new RegExp(`document ${whole.length - 1} is missing`))
    })
  })

  test("records that are sealed while an export is read are not of it; the export holds no connection", async () => {
    for (let at = 0; at < 20; at++) await service().execute(request())
    const response = await createApp(service().deps).request("/runs/export")
    const reader = response.body!.getReader()
    const pages: string[] = [new TextDecoder().decode((await reader.read()).value)]
    service().statements.push(pages[0]!.trimEnd())
    // The embedded database has one connection: an export that held it would stop this.
    expect((await service().execute(request())).status).toBe(200)
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      pages.push(new TextDecoder().decode(next.value))
      expect((await service().execute(request())).status).toBe(200)
    }
    expect(pages.length).toBeGreaterThan(2)
    const lines = pages.join("").trimEnd().split("\n")
    expect(judged(lines)).toMatchObject({ verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", problems: [] })
    const later = numberAt((await service().get("/runs")).body, "total") - (lines.length - 1)
    expect(later).toBe(pages.length)
  })

  test("what is sealed between the look at the chain and the statement is statements when it was admitted in time", async () => {
    const tenant = { tenant_id: "anonymous", owner: 0 }
    await service().execute(request())
    service().clock.advance(DAY_MS)
    const { nowMs, advance } = service().clock
    const clock = new Date(nowMs()).toISOString()
    const until = await draftExport(service().db, tenant, clock, { to_ms: nowMs() + DAY_MS })
    const since = await draftExport(service().db, tenant, clock, { from_ms: nowMs() })
    const past = await draftExport(service().db, tenant, clock, { to_ms: nowMs() })
    expect(since.counted).toBeUndefined()
    await service().execute(request())
    advance(2 * DAY_MS)
    await service().execute(request())
    const statements = await service().db.transaction(async tx => {
      const tenants = await lockTenants(tx, [{ ...tenant, salt: "0".repeat(64) }])
      const head = tenantOf(tenants, tenant.tenant_id)
      return Promise.all([until, since, past].map(draft => stateExport(tx, draft, head)))
    })
    const [, ...all] = await exported(service())
    const leaves = all.map(line => objectAt(Object(readBundle(JSON.parse(line))), "anchors", "complete_record", "leaf"))
    const [before, third, last] = leaves.slice(-3)
    const count = leaves.length
    const head = { head_ordinal: count, head: digest(last!) }
    const [first, second, unchanged] = statements.map(({ leaf }) => leaf)
    expect(first).toMatchObject({ ...head, first_ordinal: 1, last_ordinal: count - 1, last_record: digest(third!) })
    expect(second).toMatchObject({
      ...head,
      first_ordinal: count - 1,
      last_ordinal: count,
      previous_record: digest(before!),
      last_record: head.head,
    })
    expect(unchanged).toMatchObject({ ...head, last_ordinal: count - 2, last_record: digest(before!) })
  })

  test("exports beside runs that are sealed are each complete", async () => {
    const all = await Promise.all(
      Array.from({ length: EXPORTS_PER_CALLER_MAX }, async () => {
        const [lines] = await Promise.all([
          exported(service()),
          service().execute(request()),
          service().execute(request()),
        ])
        return lines
      }),
    )
    for (const lines of all) expect(problems(lines)).toEqual([])
    const [now, total] = [await exported(service()), (await service().get("/runs")).body]
    expect(leafOf(now).head_ordinal).toBe(numberAt(total, "total"))
  })

  test("of one caller a few are sent at one time; one that is left frees its place", async () => {
    const app = createApp(service().deps)
    const open = await Promise.all(Array.from({ length: EXPORTS_PER_CALLER_MAX }, () => app.request("/runs/export")))
    const refused = await service().get("/runs/export")
    expectRefused(refused, 503)
    expect(refused.headers.get("retry-after")).toBe("1")
    const readers = open.map(({ body }) => body!.getReader())
    for (const reader of readers) {
      service().statements.push(new TextDecoder().decode((await reader.read()).value).trimEnd())
      await reader.cancel()
    }
    expect((await exported(service())).length).toBeGreaterThan(1)
  })
})

eachDatabase("exports of locked services", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let customer: Holder
  let other: Holder

  test("hold the caller's own records alone, an admin's too", async () => {
    await service().execute(request())
    admin = await mint(service(), ADMIN)
    customer = await mint(service(), CUSTOMER, admin)
    other = await mint(service(), { name: "other" }, admin)
    const trust = await trustOf(service())
    for (const holder of [customer, other, customer, admin]) await holder.execute(request())
    expect(runIds(await exported(service(), "", customer.secret))).toEqual([2, 4])
    expect(runIds(await exported(service(), "", admin.secret))).toEqual([5])
    const [theirs, mine] = [await exported(service(), "", other.secret), await exported(service(), "", customer.secret)]
    expect(completeness(theirs, trust).problems).toEqual([])
    const mixed = completeness([mine[0]!, theirs[1]!, mine[2]!], trust).problems.map(({ sentence }) => sentence)
    expect(mixed).toEqual(["run 3 is a document of another tenant", "document 1 is missing, before run 4"])
    expectRefused(await caller(service()).get("/runs/export"), 401)
  })
})

test("a record that is gone from the database cuts the export off, and the statement tells", async () => {
  const service = await openService()
  try {
    for (let at = 0; at < 3; at++) await service.execute(request())
    await service.db.sql`delete from document where log_index = (select log_index from run where run_id = 2)`
    const response = await createApp(service.deps).request("/runs/export")
    await expect(response.text()).rejects.toThrow()
    expect(service.logLines.some(line => line.includes("an export was cut off"))).toBe(true)
    // Its place is free again, and what is whole can be exported.
    for (let at = 0; at < EXPORTS_PER_CALLER_MAX + 1; at++)
      expect(
        (await readAnswer(await createApp(service.deps).request("/runs/export?to=2020-01-01T00:00:00Z"))).status,
      ).toBe(200)
  } finally {
    await service.close()
  }
})
