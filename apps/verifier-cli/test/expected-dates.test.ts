import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { Report } from "@runseal/core/verify/report"
import { expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { reportOn } from "../../../libs/core/test/fixtures/judged.ts"
import { InputError } from "../src/exit-answer.ts"
import { readExpectations } from "../src/expected-facts.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const clock = Date.parse(bundle.run.created_at)

const reportOf = (): Report => reportOn(bundle, [deployment.trust])

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** Whether a record of `clock` is no older than an hour for a reader so much later. */
async function isYoung(laterMs: number): Promise<string | undefined> {
  const [expectation] = await readExpectations({ maxAge: "1h" }, clock + laterMs, [])
  return expectation?.(reportOf(), new Uint8Array()).result
}

test("a record that is dated ahead of the reader is not young: its age is not known", async () => {
  expect(await isYoung(HOUR_MS)).toBe("pass")
  expect(await isYoung(HOUR_MS + 1)).toBe("fail")
  expect(await isYoung(0)).toBe("pass")
  expect(await isYoung(-5 * MINUTE_MS)).toBe("pass")
  expect(await isYoung(-5 * MINUTE_MS - 1)).toBe("fail")
  expect(await isYoung(-24 * HOUR_MS)).toBe("fail")
})

test.each([
  "2025-02-29",
  "2026-02-31T00:00:00Z",
  "2026-13-01",
  "2026-01-15T24:00:00Z",
  "2026-1-15",
  "2026-01-15 10:00",
])("%s is no date", async notBefore => {
  await expect(readExpectations({ notBefore }, 0, [])).rejects.toThrow(InputError)
})

test.each(["2024-02-29", "2024-02-29T23:59:59Z", "2024-02-29T00:00:00.5+14:00"])("%s is one", async notBefore => {
  expect(await readExpectations({ notBefore }, 0, [])).toHaveLength(1)
})

test("a time between two milliseconds is after the first of them", async () => {
  const until = async (fraction: string) => {
    const notBefore = `${bundle.run.created_at.slice(0, -1)}${fraction}Z`
    const [expectation] = await readExpectations({ notBefore }, 0, [])
    return expectation?.(reportOf(), new Uint8Array()).result
  }
  expect([await until("000"), await until("0009")]).toEqual(["pass", "fail"])
})

test("an attestation that its log dates beyond every calendar is later than any time, and has no age", async () => {
  const { log, serviceKey, trust } = deployment
  const leaf = {
    leaf_version: "vfa.attestation.v1",
    digest: "0".repeat(64),
    algorithm: "sha256",
    attestation_id: `att-${"0".repeat(32)}`,
  } as const
  const anchor = log.anchor(log.append(leaf, serviceKey, 9_000_000_000_000), log.head())
  const { digest, attestation_id } = leaf
  const answer = { ok: true, attestation_id, digest, log_entry_id: anchor.entry.logIndex, ...anchor }
  const report = verifyText(JSON.stringify(answer), [trust])
  if (isUnreadable(report)) throw new Error(report.unreadable)
  const expectations = await readExpectations({ notBefore: "2026-01-15", maxAge: "1h" }, clock, [])
  expect(expectations.map(one => one(report, new Uint8Array()))).toMatchObject([
    { result: "pass", message: "the record is of Unix second 9000000000000" },
    { result: "fail" },
  ])
})
