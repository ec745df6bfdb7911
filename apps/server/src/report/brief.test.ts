/** `brief` is two pages for a manager. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { drawReport } from "@runseal/pdf/draw-report"
import { PAGE, STYLES } from "@runseal/pdf/page/style"
import { describe, expect, test } from "vitest"
import type { RunSpec } from "../../../../libs/core/test/fixtures/run-spec.ts"
import { costing, FULL_DECLARED } from "../../../../libs/core/test/fixtures/samples.ts"
import { hasTool } from "../../../../libs/pdf/test/pdf-tools.ts"
import { overlapsIn, wordsIn } from "../../../../libs/pdf/test/pdf-words.ts"
import { contextOf, sealed } from "../../spec/harness/report-samples.ts"
import { makeReport } from "./make-report.ts"
import { MAX_SHORT_LENGTH } from "./spans.ts"
import type { ReportContext } from "./subject.ts"

const poppler = hasTool("pdftotext")
const PUBLISHED = {
  base_url: "https://evidence.runs.example.com",
  public_path: `/public/runs/${"a".repeat(32)}/bundle.json`,
}

const briefOf = (bundle: Bundle, facts: Partial<ReportContext> = {}): Promise<Uint8Array> =>
  drawReport(makeReport(bundle, contextOf(bundle, facts), "brief"))
const pagesOf = (pdf: Uint8Array): number =>
  Buffer.from(pdf)
    .toString("latin1")
    .match(/\/Type \/Page\b/g)?.length ?? 0

describe.each(OUTCOME_KINDS)("the brief of %s", kind => {
  test("has two pages, published or not", async () => {
    expect(pagesOf(await briefOf(sealed(kind)))).toBe(2)
    expect(pagesOf(await briefOf(sealed(kind), PUBLISHED))).toBe(2)
  })

  test.each<Omit<RunSpec, "outcome">>([
    { minimal: true },
    { complete_record: false, receipt_anchor: "none" },
    { denied_by: "rule", failed_step: "DOG" },
  ])("has two pages for a run with %j", async spec => {
    expect(pagesOf(await briefOf(sealed(kind, spec)))).toBe(2)
  })

  test("has two pages when tenant, route and region have names of a line, and one finding", async () => {
    const authorization_chain = { ...FULL_DECLARED.authorization_chain, approvers: [{ actor_id: "lead-3" }] }
    const full = { ...FULL_DECLARED, authorization_chain }
    const declared = kind === "ccv_halt" ? costing(1_000_001, full) : full
    const bundle = sealed(kind, kind === "attestation_gap" ? {} : { declared })
    const name = "treasury operations / payments / approvals / emea".repeat(2).slice(0, MAX_SHORT_LENGTH)
    const named = { ...bundle, run: { ...bundle.run, tenant_id: name, route_id: name, execution_region: name } }
    expect(pagesOf(await drawReport(makeReport(named, contextOf(bundle, PUBLISHED), "brief")))).toBe(2)
  })

  test.skipIf(kind === "ok" || kind === "stage_error")("has two pages when all that refused it is long", async () => {
    const bundle = sealed(kind, { denied_by: "rule" })
    const value = "a value of many words ".repeat(40)
    const explanation = {
      reason: "RULE_DENIED",
      rule_id: "large",
      description: "Nobody may do this. ".repeat(50),
      read: Array.from({ length: 20 }, (_, at) => ({ name: `act.value_${at}`, value, word: "act" as const })),
    }
    expect(pagesOf(await briefOf(bundle, { ...PUBLISHED, explanation }))).toBe(2)
  })

  test.skipIf(!poppler)("has no word on another, nor outside its margins (skipped without poppler)", async () => {
    const words = wordsIn(await briefOf(sealed(kind), PUBLISHED))
    expect(words.length).toBeGreaterThan(300)
    expect(overlapsIn(words)).toEqual([])
    const { area, head, foot } = STYLES.compact
    const outside = words.filter(
      ({ left, right, top, bottom }) =>
        left < area.left - 1 || right > PAGE.width - area.left + 1 || top < head - 3 || bottom > foot + 13,
    )
    expect(outside).toEqual([])
  })
})
