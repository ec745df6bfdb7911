import { canonicalize } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { reduce } from "@runseal/core/derivation/derive"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { LIMITATIONS } from "@runseal/core/verify/report"
import { OUTCOME_KINDS, OUTCOMES, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/run-summaries"
import type { Block, Report } from "@runseal/pdf/block"
import { describe, expect, test } from "vitest"
import { contextOf, linesOf, reportText, sealed, textOf } from "../../spec/harness/report-samples.ts"
import { makeReport } from "./make-report.ts"
import { STAGE_HASHES } from "./sections/metadata.ts"

const BUNDLES: Readonly<Record<OutcomeKind, Bundle>> = {
  ok: sealed("ok"),
  pepg_deny: sealed("pepg_deny"),
  ccv_halt: sealed("ccv_halt"),
  macc_halt: sealed("macc_halt"),
  aivp_t4_halt: sealed("aivp_t4_halt"),
  attestation_gap: sealed("attestation_gap"),
  stage_error: sealed("stage_error"),
}
const CASES = OUTCOME_KINDS.flatMap(kind => REPORT_FORMATS.map(format => [kind, format] as const))
const reportOf = (kind: OutcomeKind, format: ReportFormat): Report =>
  makeReport(BUNDLES[kind], contextOf(BUNDLES[kind]), format)

const headings = ({ blocks }: Report, level: number): readonly string[] =>
  blocks.flatMap(block => (block.kind === "heading" && block.level === level ? [block.text] : []))
const partOf = ({ blocks }: Report, title: string): readonly Block[] => {
  const start = blocks.findIndex(block => block.kind === "heading" && block.level === 1 && block.text === title)
  const after = blocks.slice(start + 1)
  const end = after.findIndex(block => block.kind === "heading" && block.level === 1)
  return after.slice(0, end === -1 ? undefined : end)
}
const factIn = (blocks: readonly Block[], label: string): string | undefined => {
  const row = blocks.flatMap(block => (block.kind === "facts" ? block.rows : [])).find(found => found.label === label)
  return row && textOf(row.value)
}

/** The full form of the attached record: pages print hashes of derived sections too. */
function attachedBundle({ attachment }: Report): Bundle {
  const bundle = readBundle(JSON.parse(attachment.text))
  if ("unreadable" in bundle) throw new Error(bundle.unreadable)
  return bundle
}

describe.each(CASES)("the report of %s, %s", (kind, format) => {
  const bundle = BUNDLES[kind]
  const report = reportOf(kind, format)
  const { words } = OUTCOMES[kind]

  test("has its parts in the order of docs/report.md", () => {
    const [cover, ...rest] = report.blocks
    expect(cover?.kind).toBe("cover")
    const marks = rest.flatMap(block => {
      if (block.kind === "heading" && block.level === 1) return [block.text]
      return block.kind === "callout" ? [block.title] : []
    })
    const order = [
      "Executive Summary",
      "Enforcement, not observation",
      "How to verify",
      words.record_title,
      words.proof.title,
      words.proof.hash_name,
      "Run Metadata",
      "Pipeline Stages",
      ...(format === "auditor" || format === "comprehensive" ? ["Evidence and Checks"] : []),
      ...(format === "legal" || format === "comprehensive" ? ["Legal Evidence"] : []),
      "Verification Statement",
      "The service's own verification",
    ]
    expect(marks).toEqual(order)
  })

  test("has an Executive Summary of exactly two paragraphs: this run, then what its outcome means", () => {
    const start = report.blocks.findIndex(block => block.kind === "heading")
    const [first, second, after] = report.blocks.slice(start + 1)
    expect([first?.kind, second?.kind, after?.kind]).toEqual(["paragraph", "paragraph", "callout"])
    const opener = first ? linesOf(first).map(textOf).join("") : ""
    const framing = second ? linesOf(second).map(textOf).join("") : ""
    expect(opener).toContain(`Run ${bundle.run.run_id} was requested by the tenant api-key-1`)
    expect(opener).toContain(bundle.run.created_at)
    expect(framing.startsWith(words.framing)).toBe(true)
    const { receipt, complete_record } = bundle.anchors
    if (receipt !== undefined)
      expect(framing).toContain(`The receipt is anchored at entry ${receipt.entry.logIndex} of`)
    expect(framing).toContain(`entry ${complete_record?.entry.logIndex}`)
  })

  test("shows as its proof the hash of what seals the run", () => {
    const expected = bundle.manifest?.ManifestHash ?? receiptOf(bundle)?.receipt.hash ?? bundle.bundle_hash
    const [banner] = partOf(report, words.proof.title)
    if (banner?.kind !== "callout") throw new Error("the proof begins with its banner")
    expect([banner.title, banner.lines.map(textOf)[0]]).toEqual([words.proof.hash_name, expected])
  })

  test("has the Pipeline Duration in its metadata", () => {
    expect(factIn(partOf(report, "Run Metadata"), "Pipeline Duration")).toBe("4 ms (4.321 ms wall-clock)")
  })

  test("ends with the statement of its outcome and everything nobody verified", () => {
    const part = partOf(report, "Verification Statement")
    const text = reportText({ blocks: part })
    expect(text).toContain(words.statement)
    expect(text).toContain("no third-party evidence")
    expect(text).toContain(LIMITATIONS.software_attestation.sentence)
    expect(text).toContain(LIMITATIONS.declared_content.sentence)
    expect(text).toContain(LIMITATIONS.operator_log.sentence)
  })

  test("prints no hash that the attached bundle does not hold, unless it is labelled as made at render time", () => {
    const text = canonicalize(attachedBundle(report))
    const printed = [...reportText(report).matchAll(/(claim:|compile:)?([0-9a-f]{64})/g)].map(
      ([, label, hash = ""]) => ({ hash, labelled: label !== undefined }),
    )
    expect(printed.length).toBeGreaterThan(2)
    for (const { hash, labelled } of printed) expect(text.includes(hash) || labelled, hash).toBe(true)
    const claims = printed.filter(({ labelled }) => labelled)
    expect(claims.length > 0).toBe(format === "legal" || format === "comprehensive")
    for (const { hash } of claims) expect(text.includes(hash)).toBe(false)
  })

  test("says the same when it is made again, also from the bundle's stored text", () => {
    expect(reportOf(kind, format)).toEqual(report)
    expect(makeReport(attachedBundle(report), contextOf(bundle), format)).toEqual(report)
  })

  test("is dated, named and filled from the run alone", () => {
    expect(report.date).toBe(bundle.run.created_at)
    expect(report.attachment.name).toBe(`runseal-run-${bundle.run.run_id}-bundle.json`)
    expect(report.attachment.text).toBe(canonicalize(reduce(bundle)))
    expect(report.running_head.right).toBe(words.verdict)
    expect(report.running_foot).toBe(`runseal-audit-run-${bundle.run.run_id}-${format}.pdf`)
  })

  test("has as many cells in every row as its table has columns", () => {
    for (const block of report.blocks)
      if (block.kind === "table")
        for (const row of block.rows) expect(row.length, block.caption).toBe(block.columns.length)
  })
})

describe("an ok run", () => {
  const { ok } = BUNDLES

  test.each(["auditor", "comprehensive"] as const)("has its eleven sections in order, %s", format => {
    expect(headings(reportOf("ok", format), 2).slice(0, 11)).toEqual([
      "Decision",
      "Outcome Summary",
      "Model and Execution Context",
      "Policy Evaluation",
      "Authorization and Approval Chain",
      "Risk Assessment",
      "Request Substance",
      "Runtime Budget State",
      "Tenant Budget Snapshot",
      "At-Execution Tenant State",
      "Real-World Effect",
    ])
  })

  test.each(REPORT_FORMATS)("has 18 pipeline-stage hashes, each the manifest's, %s", format => {
    const part = partOf(reportOf("ok", format), "Pipeline Stages")
    const [rows = []] = part.flatMap(block => (block.kind === "table" ? [block.rows] : []))
    expect(rows).toHaveLength(18)
    for (const [i, [stage, field, meaning]] of STAGE_HASHES.entries()) {
      const named = format === "brief" ? field : `${field}${meaning}`
      expect(rows[i]?.map(textOf)).toEqual([stage, named, ok.manifest?.[field]])
    }
    expect(new Set(rows.map(row => textOf(row[2] ?? []))).size).toBe(18)
  })

  test("draws both budgets, the window with what was charged before", () => {
    const gauges = reportOf("ok", "comprehensive").blocks.filter(block => block.kind === "gauge")
    const budget = ok.sections.budget_snapshot
    expect(gauges.map(({ used, limit }) => [used, limit])).toEqual([
      [budget?.declared_tokens, budget?.run_limit],
      [budget?.window?.tokens, budget?.window?.cap],
    ])
    expect(gauges[1]?.before).toBe((budget?.window?.total_after ?? 0) - (budget?.window?.tokens ?? 0))
  })
})

describe("a run that was not completed", () => {
  const ended = OUTCOME_KINDS.filter(kind => kind !== "ok")

  test.each(ended)("%s has no table of pipeline-stage hashes, and says which stages ran", kind => {
    const part = partOf(reportOf(kind, "comprehensive"), "Pipeline Stages")
    expect(part.map(({ kind: name }) => name)).toEqual(["paragraph"])
    expect(reportText({ blocks: part })).toBe(OUTCOMES[kind].words.stages)
  })

  test("that was denied says that execution halted before any pipeline artifact existed", () => {
    expect(reportText(reportOf("pepg_deny", "brief"))).toContain(
      "Execution halted before any pipeline artifact existed",
    )
  })

  test.each(ended.filter(kind => kind !== "stage_error"))("%s shows every field of its receipt", kind => {
    const receipt = receiptOf(BUNDLES[kind])?.receipt
    for (const format of REPORT_FORMATS) {
      const text = reportText({ blocks: partOf(reportOf(kind, format), OUTCOMES[kind].words.record_title) })
      for (const value of Object.values(receipt ?? {}))
        if (typeof value === "string") expect(text, `${format} ${value}`).toContain(value)
    }
  })

  test.each(ended)("%s has no heading without content, in any format", kind => {
    for (const format of REPORT_FORMATS)
      for (const bundle of [BUNDLES[kind], sealed(kind, { minimal: true })]) {
        const { blocks } = makeReport(bundle, contextOf(bundle), format)
        const last = blocks.at(-1)
        expect(last?.kind).not.toBe("heading")
        for (const [i, block] of blocks.entries()) {
          const next = blocks[i + 1]
          if (block.kind === "heading" && next?.kind === "heading")
            expect(next.level, `${block.text} before ${next.text}`).toBeGreaterThan(block.level)
        }
      }
  })

  test.each(ended)("%s is not told as if it had run", kind => {
    const text = reportText(reportOf(kind, "comprehensive"))
    for (const title of ["At-Execution Tenant State", "Real-World Effect", "Execution Record"])
      expect(text.split("\n")).not.toContain(title)
    expect(text).not.toContain("nothing further was made")
  })

  test("draws where it stopped", () => {
    for (const kind of ended) {
      const [line] = reportOf(kind, "brief").blocks.filter(block => block.kind === "timeline")
      const stopped = line?.steps.filter(({ state }) => state === "stopped").map(({ code }) => code)
      expect(stopped).toEqual([BUNDLES[kind].run.error_stage])
      const states = line?.steps.map(({ state }) => state) ?? []
      expect(states.indexOf("stopped")).toBe(states.filter(state => state === "passed").length)
    }
  })

  test("that failed is for operational diagnosis only, in its summary and its statement", () => {
    for (const format of REPORT_FORMATS) {
      const report = reportOf("stage_error", format)
      for (const part of ["Executive Summary", "Verification Statement"])
        expect(reportText({ blocks: partOf(report, part) })).toContain(
          "for operational diagnosis only and is not an attestation",
        )
    }
  })
})
