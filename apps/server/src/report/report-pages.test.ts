/** A refusal is read by people in a hurry: its longest report has few pages, and no part without content. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/run-summaries"
import { drawReport } from "@runseal/pdf/draw-report"
import { describe, expect, test } from "vitest"
import type { RunSpec } from "../../../../libs/core/test/fixtures/run-spec.ts"
import { contextOf, sealed } from "../../spec/harness/report-samples.ts"
import { makeReport } from "./make-report.ts"

const PAGES_MAX = 6
const REFUSALS = OUTCOME_KINDS.filter(kind => kind !== "ok")
type Spec = Omit<RunSpec, "outcome">

const pagesOf = async (bundle: Bundle, format: ReportFormat): Promise<number> =>
  Buffer.from(await drawReport(makeReport(bundle, contextOf(bundle), format)))
    .toString("latin1")
    .match(/\/Type \/Page\b/g)?.length ?? 0

const SPECS: readonly (readonly [OutcomeKind, Spec])[] = [
  ...REFUSALS.map(kind => [kind, {}] as const),
  ...REFUSALS.map(kind => [kind, { minimal: true }] as const),
  ["pepg_deny", { denied_by: "rule" }],
  ["stage_error", { failed_step: "DLA" }],
  ["stage_error", { failed_step: "LEDGER", refused: "aivp_t4_halt" }],
]

describe.each(SPECS)("the reports of %s %j", (kind, spec) => {
  test.each(REPORT_FORMATS)("have at most six pages, %s", async format => {
    expect(await pagesOf(sealed(kind, spec), format)).toBeLessThanOrEqual(PAGES_MAX)
  })
})
