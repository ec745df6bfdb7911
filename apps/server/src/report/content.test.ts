import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { DeclaredName } from "@runseal/core/artifacts/declared-sections"
import { DECLARED_NAMES, withhold } from "@runseal/core/artifacts/declared-sections"
import { FINDING_CODES } from "@runseal/core/vocabulary/kernel-findings"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { REPORT_FORMATS } from "@runseal/core/wire/run-summaries"
import type { Block, Report } from "@runseal/pdf/block"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { contextOf, linesOf, reportText, sealed, textOf } from "../../spec/harness/report-samples.ts"
import { declaredValues } from "./declared.ts"
import { makeReport } from "./make-report.ts"
import { count, fieldLabel, MAX_TABLE_ROWS, MAX_TEXT_LENGTH, quote, shortQuote, unixTime } from "./spans.ts"

const whole = (bundle: Bundle): Report => makeReport(bundle, contextOf(bundle), "comprehensive")
const rowsOf = ({ blocks }: Report, caption: string): readonly (readonly string[])[] =>
  blocks
    .flatMap(block => (block.kind === "table" && block.caption === caption ? block.rows : []))
    .map(r => r.map(textOf))

const factsIn = (blocks: readonly Block[]): readonly (readonly [string, string])[] =>
  blocks.flatMap(block =>
    block.kind === "facts" ? block.rows.map(({ label, value }) => [label, textOf(value)] as const) : [],
  )

describe("what a caller declares", () => {
  const hostile = "\u202e</w:t>\u0007%PDF-1.7\n\u0085𝕏👩‍👩‍👧‍👦"

  test("is shown whole: five hundred approvers are five hundred rows, in their order", () => {
    const approvers = Array.from({ length: 500 }, (_, i) => ({
      order: i,
      actor_id: `${hostile}${i}`,
      comment: "x".repeat(5_000),
      delegated_by: { actor: [`boss ${i}`, null] },
    }))
    const rows = rowsOf(whole(sealed("ok", { declared: { authorization_chain: { approvers } } })), "Approvers")
    expect(rows).toHaveLength(500)
    for (const [i, row] of rows.entries()) {
      expect(row[0]).toBe(String(i))
      expect(row[1]).toBe(`${hostile}${i}`)
      expect(row[2]).toContain("x".repeat(5_000))
      expect(row[3]).toContain(`{"delegated_by":{"actor":["boss ${i}",null]}}`)
    }
  })

  test("is cut only with a note, and never within a character", () => {
    const note = "🙂".repeat(MAX_TEXT_LENGTH)
    const text = reportText(whole(sealed("ok", { declared: { attested_context: { decision_note: `a${note}` } } })))
    expect(text).toContain("the attached bundle holds all]")
    expect(text.isWellFormed()).toBe(true)
    const values = Array.from({ length: MAX_TABLE_ROWS + 1 }, (_, i) => i)
    const long = reportText(whole(sealed("ok", { declared: { reproducibility_context: { seeds: values } } })))
    expect(long).toContain(`Shown are the first ${count(MAX_TABLE_ROWS)} of ${count(MAX_TABLE_ROWS + 1)}`)
  })

  test("is marked as the caller's word in every section that shows it", () => {
    const { blocks } = whole(sealed("ok"))
    const marks = blocks.filter(block => linesOf(block).map(textOf).join("").includes("Declared by the caller"))
    expect(marks.length).toBeGreaterThanOrEqual(DECLARED_NAMES.length)
  })

  test("may be of any shape, and every value is shown with a path of its own", () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 5 })
    fc.assert(
      fc.property(json, value => {
        const paths = factsIn(declaredValues(JSON.parse(JSON.stringify(value)))).map(([label]) => label)
        expect(paths.filter(path => !path.endsWith("(cut)")).length).toBe(new Set(paths).size)
      }),
    )
  })

  test("may be lists where objects are usual", () => {
    const report = whole(sealed("ok", { declared: { authorization_chain: { human_in_loop: { performed_by: [] } } } }))
    expect(factsIn(report.blocks)).toContainEqual(["human_in_loop.performed_by", "[]"])
  })

  test("is told apart when it has no letters, is empty, null or no text at all", () => {
    const found = declaredValues({ a: "", b: null, c: {}, d: true, e: "true", f: 0.25, "g.h": 1, g: { h: 2 } })
    expect(factsIn(found)).toEqual([
      ["a", "(empty text)"],
      ["b", "null"],
      ["c", "{}"],
      ["d", "true"],
      ["e", "true"],
      ["f", "0.25"],
      ["g.h", "2"],
      ['["g.h"]', "1"],
    ])
    const [fourth] = found.flatMap(block => (block.kind === "facts" ? block.rows.slice(3) : []))
    expect(fourth?.value[0]?.style).toBe("mono")
  })
})

describe("what is absent or kept back", () => {
  test.each(DECLARED_NAMES)("a withheld %s is named as withheld, and none of its content is shown", name => {
    const bundle = sealed("ok")
    const shown: Bundle = { ...bundle, sections: withheld(bundle, name) }
    const text = reportText(whole(shown))
    expect(text).toContain(`The section ${name} is withheld`)
    expect(text).toContain(shown.sections[name].hash)
    for (const format of REPORT_FORMATS) makeReport(shown, contextOf(shown), format)
  })

  test("a run that declared nothing says so for each section", () => {
    const text = reportText(whole(sealed("ok", { minimal: true })))
    for (const name of DECLARED_NAMES)
      expect(text).toMatch(new RegExp(`The caller declared nothing in [\\w, ]*\\b${name}\\b[\\w, ]*\\.`))
    expect(text).toContain("no AI output was sent")
    expect(text).toContain("a release with nothing to govern")
  })

  test("of an unanchored receipt the report states that it carries no entry", () => {
    const bundle = sealed("pepg_deny", { receipt_anchor: "none", complete_record: false })
    for (const format of REPORT_FORMATS) {
      const text = reportText(makeReport(bundle, contextOf(bundle), format))
      expect(text).toContain("The receipt carries no log entry: it is not anchored.")
      expect(text).toContain("not anchored")
      expect(text).toContain("SELF-CONSISTENT ONLY, NOT ANCHORED")
    }
  })

  test("a receipt without entry in an anchored record says both", () => {
    const text = reportText(whole(sealed("ccv_halt", { receipt_anchor: "none" })))
    expect(text).toContain("The receipt carries no log entry: it is not anchored. The record as a whole is anchored")
  })

  test.each(["vfa.leaf.v5", "vfa.leaf.v6"] as const)("a record of %s is reported like any other", leaf => {
    const text = reportText(whole(sealed("ok", { leaf })))
    expect(text).toContain(leaf)
    expect(text).toContain("VERIFIED AND ANCHORED")
  })

  test.each(["DOG", "DTL", "PEPG", "DKEC", "MACC", "AIVP_T4", "AER", "ZKSP", "DLA"] as const)(
    "a run that failed at %s shows what had been completed, and no more",
    failed_step => {
      const bundle = sealed("stage_error", { failed_step })
      const report = whole(bundle)
      const names = Object.keys(bundle.sections).sort()
      expect(rowsOf(report, "Sections of the record").map(([name]) => name)).toEqual(names)
      expect(reportText(report)).toContain(names.join(", "))
      expect(reportText(report)).toContain(`${failed_step} (`)
    },
  )

  test.each([
    [
      "pepg_deny",
      { denied_by: "rule" },
      "The policy gate had denied this run (rule no-export); then stage LEDGER failed.",
    ],
    ["attestation_gap", {}, "The admission gate had refused this run (required attested fields were missing); then"],
    ["ccv_halt", {}, "The budget of one run had halted this run (1000001 tokens declared, limit 1000000); then"],
    ["macc_halt", { window_cap: 1 }, "The tenant's cumulative budget had halted this run (window total "],
    ["aivp_t4_halt", {}, "The governance review had halted this run (halt by openai-compatible, reason "],
  ] as const)("a %s whose sealing failed is told as both, in every format", (refused, spec, sentence) => {
    const bundle = sealed("stage_error", { failed_step: "LEDGER", refused, ...spec })
    for (const format of REPORT_FORMATS) {
      const report = makeReport(bundle, contextOf(bundle), format)
      expect(reportText(report).split(sentence).length).toBeGreaterThan(2)
      expect(report.running_head.right).toBe("Refused, then failed: not an attestation")
      const gates = rowsOf(report, "Gates").map(([code, , result]) => [code, result])
      const gate = OUTCOMES[refused].error_stage
      const at = gates.findIndex(([code]) => code === gate)
      expect(gates.map(([, result]) => result)).toEqual(
        gates.length === 0 ? [] : gates.map((_, i) => (i < at ? "passed" : i === at ? "ended the run" : "not reached")),
      )
    }
    expect(reportText(whole(bundle))).toContain("and then failed at LEDGER (Log entry)")
  })

  test("a window that was not charged is reported as not charged", () => {
    expect(reportText(whole(sealed("ccv_halt")))).toContain("The tenant's window was not charged")
  })
})

describe("a signature that matched", () => {
  const bundle = sealed("pepg_deny", { denied_by: "mcd" })
  const id = bundle.sections.mcd_finding?.matched_signature_id ?? ""

  test("is shown in every format, with its name and reference when the shipped library is the record's", () => {
    for (const format of REPORT_FORMATS) {
      const context = contextOf(bundle, {
        signature: { title: "A known attack", description: "It attacks.", reference: "CWE-78" },
      })
      const facts = new Map(factsIn(makeReport(bundle, context, format).blocks))
      expect(facts.get("Signature")).toBe(`${id} A known attack`)
      expect(facts.get("Reference")).toBe("CWE-78")
      expect(facts.get("Matched in")).toBe("the payload")
      expect(new Map(factsIn(makeReport(bundle, contextOf(bundle), format).blocks)).get("Signature")).toBe(id)
    }
  })
})

test("the summary of a denial by signature says where the text is that matched", () => {
  const place = "/causal_graph/effect_log/0/target"
  for (const [matched_in, words] of [
    ["payload", "the payload"],
    [place, `the declared text ${place}`],
  ] as const)
    for (const format of REPORT_FORMATS) {
      const bundle = sealed("pepg_deny", { denied_by: "mcd", matched_in })
      expect(reportText(makeReport(bundle, contextOf(bundle), format))).toContain(
        `: the signature matched in ${words}.`,
      )
    }
})

describe("limits of the evidence", () => {
  test("a record that does not verify says so first, and attests nothing", () => {
    const bundle = { ...sealed("ok"), bundle_hash: "0".repeat(64) }
    for (const format of REPORT_FORMATS) {
      const report = makeReport(bundle, contextOf(bundle), format)
      const [cover, notice] = report.blocks
      expect(cover).toMatchObject({ kind: "cover", tone: "bad", verdict: "Record does not verify" })
      expect(notice).toMatchObject({ kind: "callout", title: "This record does not verify" })
      expect(report.running_head).toMatchObject({ right: "Record does not verify", tone: "bad" })
      expect(reportText(report)).not.toContain("This record attests")
    }
  })

  test("a review by built-in rules and a review switched off are called that", () => {
    expect(reportText(whole(sealed("ok")))).toContain("built-in deterministic rules, not by a model or a person")
    const off = { adapter_id: "none", decision_reason: "REVIEW_DISABLED", finding_count: 0, rule_ids: [] } as const
    const text = reportText(whole(sealed("ok", { review: { ...off, decision_kind: "release" } })))
    expect(text).toContain("The review was switched off")
  })

  test("the public bundle is in the QR code when the run is published, else the instructions", () => {
    const bundle = sealed("ok")
    const public_path = `/public/runs/${"a".repeat(32)}/bundle.json`
    const codes = [{}, { public_path }].map(facts =>
      makeReport(bundle, contextOf(bundle, facts), "brief").blocks.flatMap(b =>
        b.kind === "callout" ? (b.code ?? []) : [],
      ),
    )
    expect(codes).toEqual([["https://runs.example.com/verify"], [`https://runs.example.com${public_path}`]])
  })

  test("without an address that the operator gave, no page names one", () => {
    const bundle = sealed("ok")
    const { base_url: _, ...context } = contextOf(bundle, { public_path: `/public/runs/${"a".repeat(32)}/bundle.json` })
    for (const format of REPORT_FORMATS) {
      const report = makeReport(bundle, context, format)
      expect(reportText(report)).not.toMatch(/https?:/)
      expect(report.blocks.filter(block => block.kind === "callout" && block.code !== undefined)).toEqual([])
    }
  })

  test("a policy that is named as its rule is named beside the receipt, which names the rule", () => {
    const bundle = sealed("pepg_deny", { denied_by: "rule" })
    const { policy_evaluation: evaluation } = bundle.sections
    if (evaluation === undefined) throw new Error("nothing was evaluated")
    const { fired_rule_id: name } = evaluation
    const named = { ...bundle, sections: { ...bundle.sections, policy_evaluation: { ...evaluation, policy_id: name } } }
    const shown = factsIn(makeReport(named, contextOf(bundle), "comprehensive").blocks)
    expect(shown).toContainEqual(["Policy ID", name])
    expect(shown).toContainEqual(["Matched rules", evaluation.matched_rule_ids.join(", ")])
  })

  test("every finding of the kernels is explained", () => {
    const found = sealed("ok", {
      declared: { request_substance: { cost: { input_tokens: 1, output_tokens: 1, total_tokens: 3 } } },
    })
    const findings = (bundle: Bundle): readonly string[] =>
      rowsOf(whole(bundle), "The six kernels in their order").flatMap(([, found = ""]) =>
        found === "none" ? [] : [found],
      )
    expect(findings(found)).toEqual([expect.stringMatching(/^COST_DOES_NOT_ADD_UP.*fewer than/)])
    const opener = " The record has 1 finding, which stops no run: COST_DOES_NOT_ADD_UP."
    for (const format of REPORT_FORMATS)
      expect(reportText(makeReport(found, contextOf(found), format))).toContain(opener)
    for (const text of findings(sealed("ok"))) expect(FINDING_CODES.some(code => text.startsWith(code))).toBe(true)
  })
})

describe("words", () => {
  test("are short where a sentence holds them", () => {
    expect(textOf(shortQuote("x".repeat(500)))).toBe(`${"x".repeat(96)}… (cut)`)
    expect(textOf(shortQuote("route"))).toBe("route")
  })

  test("of a hash are mono, an empty text is named as empty", () => {
    expect(quote("a".repeat(64))).toEqual([{ text: "a".repeat(64), style: "mono" }])
    expect(textOf(quote(""))).toBe("(empty text)")
  })

  test("for numbers, times and fields are the same on every machine", () => {
    expect([0, 999, 1000, 9007199254740991].map(count)).toEqual(["0", "999", "1,000", "9,007,199,254,740,991"])
    expect(unixTime("1768478402")).toBe("2026-01-15T12:00:02Z")
    expect(unixTime("9007199254740991")).toBe("9007199254740991 s after the Unix epoch")
    expect(["mcd_finding_hash", "rule_ids", "envelope_id"].map(fieldLabel)).toEqual([
      "MCD finding hash",
      "Rule IDs",
      "Envelope ID",
    ])
  })
})

const withheld = ({ sections }: Bundle, name: DeclaredName): Bundle["sections"] => ({
  ...sections,
  [name]: withhold(sections[name]),
})
