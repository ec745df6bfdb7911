/** docs/formats.md section 16: a served document with any single value changed, dropped or borrowed from another run does not verify. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { beforeAll, describe, expect, test } from "vitest"
import { objectAt } from "./harness/read-answer.ts"
import { CASES, executeEvery, standingSevenStates } from "./harness/seven-states.ts"
import { type Variant, variants } from "./harness/variants.ts"

const { service, runId } = standingSevenStates()

let trust: TrustedKeys
const second: Partial<Record<string, number>> = {}
beforeAll(async () => {
  const parsed = parseTrust((await service().get("/.well-known/runseal-trust.json")).body)
  if ("problem" in parsed) throw new Error(parsed.problem)
  trust = parsed
  const again = await executeEvery(service())
  for (const name of CASES) second[name] = Number(again[name].body.run_id)
})

const GOOD: readonly string[] = [VERDICTS.complete, VERDICTS.receipt, VERDICTS.anchored, VERDICTS.attestation]
const verifies = (document: JsonValue): boolean => {
  const report = verifyDocument(document, [trust])
  return !isUnreadable(report) && GOOD.includes(report.verdict)
}

const bundleOf = async (run: number): Promise<JsonObject> => (await service().get(`/runs/${run}/artifacts`)).body

describe.each(CASES)("the bundle of %s", name => {
  test("verifies as served, and with no single value changed, member dropped or member added", async () => {
    const bundle = await bundleOf(runId(name))
    expect(verifies(bundle)).toBe(true)
    const all = [...variants(bundle)]
    expect(all.length).toBeGreaterThan(150)
    expect(all.filter(({ document }) => verifies(document)).map(({ at }) => at)).toEqual([])
  })

  test("does not verify with an anchor, a section or a decision of another run of the same state", async () => {
    const [bundle, other] = [await bundleOf(runId(name)), await bundleOf(second[name] ?? 0)]
    const borrowed: Variant[] = []
    for (const part of ["run", "manifest", "partial_manifest", "allow_token", "anchors", "bundle_hash"])
      if (Object.hasOwn(bundle, part)) borrowed.push({ at: part, document: { ...bundle, [part]: other[part] ?? null } })
    for (const group of ["sections", "anchors"])
      for (const key of Object.keys(objectAt(bundle, group))) {
        const members = { ...objectAt(bundle, group), [key]: objectAt(other, group)[key] ?? null }
        if (JSON.stringify(members) === JSON.stringify(bundle[group])) continue
        borrowed.push({ at: `${group}/${key}`, document: { ...bundle, [group]: members } })
      }
    expect(verifies(other)).toBe(true)
    expect(borrowed.length).toBeGreaterThan(5)
    expect(borrowed.filter(({ document }) => verifies(document)).map(({ at }) => at)).toEqual([])
  })
})

const RECEIPTS = [
  ["deny_by_signature", "deny-receipt"],
  ["deny_by_rule", "deny-receipt"],
  ["ccv_halt", "ccv-halt-receipt"],
  ["macc_halt", "macc-halt-receipt"],
  ["aivp_t4_halt", "aivp-t4-halt-receipt"],
  ["attestation_gap", "attestation-gap-receipt"],
] as const

describe.each(RECEIPTS)("the receipt document of %s", (name, path) => {
  test("verifies as served, and with no single value changed, member dropped or member added", async () => {
    const { body } = await service().get(`/runs/${runId(name)}/${path}`)
    expect(verifies(body)).toBe(true)
    const all = [...variants(body)]
    expect(all.length).toBeGreaterThan(40)
    expect(all.filter(({ document }) => verifies(document)).map(({ at }) => at)).toEqual([])
  })

  test("does not verify with the anchor of another run", async () => {
    const { body } = await service().get(`/runs/${runId(name)}/${path}`)
    const other = (await service().get(`/runs/${second[name]}/${path}`)).body
    expect(verifies({ ...body, receipt_anchor: other.receipt_anchor ?? null })).toBe(false)
    expect(verifies({ ...body, run_id: other.run_id ?? null })).toBe(false)
  })
})
