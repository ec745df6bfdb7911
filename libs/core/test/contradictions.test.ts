/**
 * What an operator who holds every key cannot write: records that verify one by one and contradict each other. docs/formats.md
 * section 13.
 */
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { recordInChain } from "../src/verify/bundle.ts"
import type { Completeness } from "../src/verify/completeness.ts"
import { verifyText } from "../src/verify/document.ts"
import { createIdentifierCheck } from "../src/verify/export-identifiers.ts"
import { type Deployment, makeDeployment, sealBatch, sealRun, tenantOf } from "./fixtures/deployment.ts"
import { withValue } from "./fixtures/json-values.ts"
import { exportReport } from "./fixtures/judged.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"
import { type Asked, exportText, stateExport } from "./fixtures/sample-exports.ts"
import { costing } from "./fixtures/samples.ts"

const TENANT = "api-key-1"
/** Start of the window in which the fixtures run. */
const WINDOW = Date.parse("2026-01-15T00:00:00.000Z")

type Charges = readonly (readonly [ordinal: number, before: number, tokens: number])[]
/** Records whose charges the operator writes as he likes: number, total before it, tokens. */
const charged = (deployment: Deployment, charges: Charges, cap = 100_000) =>
  charges.map(([ordinal, total, tokens]) => {
    tenantOf(deployment, TENANT).spent.set(WINDOW, { total, ordinal: ordinal - 1 })
    const outcome = total + tokens >= cap ? "macc_halt" : "ok"
    return sealRun(deployment, { outcome, declared: costing(tokens), window_cap: cap }).bundle
  })

const OF = "of the window of 2026-01-15T00:00:00.000Z"
function judge(deployment: Deployment, records: readonly Bundle[], asked: Asked = {}): Completeness {
  const found = exportReport(exportText(stateExport(deployment, records, asked), ...records), [deployment.trust])
  // Each record is good by itself: only together they are not.
  for (const record of records)
    expect(verifyText(exportText(record), [deployment.trust])).not.toMatchObject({ verdict: "FAILED" })
  return found
}

const sentencesOf = (found: Completeness): readonly string[] =>
  found.problems.map(one => `line ${one.line}: ${one.sentence}`)

/** Charges as texts: number, total before, tokens. */
const chargesOf = (text: string): Charges =>
  text.split(", ").map(charge => {
    const [, ordinal, before, tokens] = /^(\d+): (\d+)\+(\d+)$/.exec(charge) ?? []
    return [Number(ordinal), Number(before), Number(tokens)]
  })

describe("movements of a window", () => {
  test.each([
    ["one number twice", "1: 0+10, 1: 0+10", `has movement 1 ${OF}, which a document before it has`],
    ["one number twice within a row", "1: 0+10, 2: 10+5, 3: 15+5, 2: 10+1", `has movement 2 ${OF}`],
    ["a first that does not begin at nothing", "2: 5+10, 1: 0+10", `leaves movement 1 ${OF} at 10`],
    ["tokens from nowhere", "1: 0+10, 2: 11+5", `begins movement 2 ${OF} at 11, and movement 1 leaves it at 10`],
    ["tokens that vanish", "1: 0+10, 2: 9+5", `begins movement 2 ${OF} at 9, and movement 1 leaves it at 10`],
    ["a filled hole that does not fit", "1: 0+10, 3: 15+1, 2: 10+4", `leaves movement 2 ${OF} at 14`],
  ])("contradict themselves: %s", (_name, charges, sentence) => {
    const a = makeDeployment()
    const found = judge(a, charged(a, chargesOf(charges)), { windows: [] })
    expect(found).toMatchObject({ verdict: "FAILED", problem_count: 1 })
    expect(found.problems[0]?.sentence).toContain(sentence)
  })

  test.each([
    ["in a row", "1: 0+10, 2: 10+20, 3: 30+5"],
    ["sealed in another order", "3: 30+5, 1: 0+10, 2: 10+20"],
    ["with holes", "5: 100+10, 9: 500+20, 1: 0+1"],
    ["of nothing", "1: 0+10, 2: 10+0, 3: 10+5, 4: 15+0, 5: 15+0"],
    ["beyond the cap, each halted", "7: 99000+1000, 8: 100000+5000, 9: 105000+0"],
    ["that joins two rows", "1: 0+1, 3: 2+1, 2: 1+1, 4: 3+1"],
  ])("fit together: %s", (_name, charges) => {
    const a = makeDeployment()
    const found = judge(a, charged(a, chargesOf(charges)), { windows: [] })
    expect(found).toMatchObject({ problems: [], notes: [] })
  })

  test.each([
    ["between two documents", [5, 100, 10], [9, 109, 20], undefined, "falls by 1 tokens after movement 5"],
    [
      "before the statement",
      [1, 0, 10],
      [2, 10, 5],
      { last_ordinal: 4, total: 14 },
      "falls by 1 tokens after movement 2",
    ],
  ] as const)("in no document lower no total of a whole chain: %s", (_name, one, other, exported, sentence) => {
    const a = makeDeployment()
    const records = charged(a, [one, other])
    const window = { window_seconds: 86_400, window_start: new Date(WINDOW).toISOString() }
    const windows = exported === undefined ? [] : [{ ...window, ...exported }]
    const problem = `the window of ${window.window_start} ${sentence}, and no document lowers it`
    expect(judge(a, records, { windows })).toMatchObject({ verdict: "FAILED", problems: [{ sentence: problem }] })
  })

  test("of two windows do not touch", () => {
    const a = makeDeployment()
    const days = ["2026-01-15T12:00:00.250Z", "2026-01-16T12:00:00.250Z"]
    const records = days.map(at => sealRun(a, { outcome: "ok", at, declared: costing(60_000) }).bundle)
    expect(judge(a, records, { at: "2026-01-17T00:00:00.000Z" })).toMatchObject({ problems: [] })
  })
})

describe("the log's time", () => {
  const at = "2026-01-15T12:10:00.000Z"
  const sealed = (specs: readonly RunSpec[]): readonly [Deployment, readonly Bundle[]] => {
    const a = makeDeployment()
    return [a, specs.map(spec => sealRun(a, spec).bundle)]
  }

  test("does not go back from a record to the next", () => {
    const [a, records] = sealed([
      { outcome: "ok", at, logged_after_s: 20 },
      { outcome: "stage_error", at },
    ])
    expect(sentencesOf(judge(a, records))).toEqual([
      "line 3: record 2 (run 2) makes the log's time go back: entry 2 of record 1 (run 1) was logged 2026-01-15T12:10:20.000Z, and entry 3 of record 2 (run 2) was logged 2026-01-15T12:10:01.000Z",
    ])
  })

  test("does not go back from the first entry of a record to one before it", () => {
    const [a, records] = sealed([
      { outcome: "ok", at, logged_after_s: 20 },
      { outcome: "ok", at },
    ])
    expect(judge(a, records).problems).toHaveLength(1)
  })

  test("does not go back within a batch, where first entries stand before all complete ones", () => {
    const a = makeDeployment()
    const records = sealBatch(a, [
      { outcome: "ok", at, logged_after_s: 5 },
      { outcome: "ok", at, logged_after_s: 9 },
    ]).map(({ bundle }) => bundle)
    expect(sentencesOf(judge(a, records))).toEqual([
      "line 3: record 2 (run 2) makes the log's time go back: entry 2 of record 2 (run 2) was logged 2026-01-15T12:10:09.000Z, and entry 3 of record 1 (run 1) was logged 2026-01-15T12:10:05.000Z",
    ])
  })

  test("does not go back from a record to the statement that counts it", () => {
    const [a, records] = sealed([{ outcome: "stage_error", at }])
    expect(sentencesOf(judge(a, records, { at: "2026-01-15T12:09:59.000Z" }))).toEqual([
      "line 2: record 1 (run 1) makes the log's time go back: entry 1 of record 1 (run 1) was logged 2026-01-15T12:10:01.000Z, and entry 2 of the export statement was logged 2026-01-15T12:09:59.000Z",
    ])
  })

  test("may stand still", () => {
    const [a, records] = sealed([
      { outcome: "ok", at },
      { outcome: "stage_error", at },
      { outcome: "ok", at },
    ])
    expect(judge(a, records, { at: "2026-01-15T12:10:01.000Z" })).toMatchObject({ problems: [] })
  })
})

describe("identifiers", () => {
  test("a run sealed twice: run number, envelope id, nonce, sequence id and charge stand twice", () => {
    const a = makeDeployment()
    a.runs = 6
    const spec = { outcome: "ok", at: "2026-01-15T12:10:00.000Z" } as const
    const first = sealRun(a, spec).bundle
    a.runs--
    tenantOf(a, TENANT).spent.clear()
    const again = sealRun(a, spec).bundle
    const { envelope, transport } = first.sections
    expect(judge(a, [first, again]).problems.map(({ sentence }) => sentence)).toEqual([
      "record 2 (run 7) has the run number of record 1 (run 7)",
      `record 2 (run 7) has the envelope id ${envelope?.envelope_id} of document 1`,
      `record 2 (run 7) has the nonce ${envelope?.run_nonce} of document 1`,
      `record 2 (run 7) has the sequence id ${transport?.sequence_id} of document 1`,
      `record 2 (run 7) has movement 1 ${OF}, which a document before it has`,
    ])
  })

  test("run numbers rise", () => {
    const a = makeDeployment()
    a.runs = 9
    const first = sealRun(a, { outcome: "stage_error", at: "2026-01-15T12:10:00.000Z" }).bundle
    a.runs = 3
    const next = sealRun(a, { outcome: "stage_error", at: "2026-01-15T12:10:00.000Z" }).bundle
    expect(sentencesOf(judge(a, [first, next]))).toEqual([
      "line 3: record 2 (run 4) has a lower run number than record 1 (run 10) before it",
    ])
  })

  test("are remembered for thousands of records, each with its place", () => {
    const a = makeDeployment()
    const { bundle } = sealRun(a, { outcome: "stage_error" })
    const identifiers = createIdentifierCheck(4500)
    const withNonce = (nonce: number): Bundle => {
      const digits = nonce.toString(16).padStart(16, "0")
      const { envelope, ...rest } = bundle.sections
      const [envelope_id, long] = [`env-${digits}`, digits.repeat(4)]
      return {
        ...bundle,
        sections: { ...rest, envelope: { ...envelope!, envelope_id, run_nonce: long, hash: long } },
      }
    }
    const take = (nonce: number, place: number): readonly string[] =>
      identifiers(recordInChain(withNonce(nonce)), place, String)
    for (let n = 0; n < 5000; n++) expect(take(n, n)).toEqual([])
    for (const n of [0, 1, 777, 4500]) {
      const ofIt = expect.stringMatching(` of ${n}$`)
      expect(take(n, 6000)).toEqual([ofIt, ofIt, ofIt])
    }
    const { envelope } = withNonce(3).sections
    const other = {
      ...withNonce(9000),
      sections: {
        ...bundle.sections,
        envelope: { ...envelope!, envelope_id: "env-ffffffffffffffff", hash: "f".repeat(64) },
      },
    }
    expect(identifiers(recordInChain(other), 6000, String)).toEqual([`has the nonce ${envelope?.run_nonce} of 3`])
    // Beyond the bound nothing is remembered.
    expect(take(4501, 6000)).toEqual([])
  })
})

describe("one log", () => {
  test("a chain whose records prove themselves in two trees was forked", () => {
    const [a, b] = [makeDeployment(), makeDeployment()]
    const first = sealRun(a, { outcome: "ok" }).bundle
    // The same keys go on with another log, in which another run replaces the first.
    sealRun(b, { outcome: "ok", tenant: "api-key-2" })
    b.tenants.set(TENANT, tenantOf(a, TENANT))
    const second = sealRun(b, { outcome: "ok", tenant: TENANT }).bundle
    expect(sentencesOf(judge(b, [first, second]))).toEqual([
      "line 3: record 2 (run 2) proves itself in another tree than record 1 (run 1): the log was forked",
    ])
  })
})

describe("a policy", () => {
  test("has one name under its hash, and one list of what it requires", () => {
    const a = makeDeployment()
    const requires = ["actor_id", "actor_role", "model_name"]
    const specs: readonly RunSpec[] = [
      { outcome: "ok" },
      { outcome: "ok", alter: { policy_evaluation: part => withValue(part, "/policy_name", "Another policy") } },
      { outcome: "attestation_gap" },
      {
        outcome: "attestation_gap",
        alter: {
          attestation_gap_receipt: part =>
            withValue(withValue(part, "/required_fields", requires), "/missing_fields", requires.slice(1)),
        },
      },
    ]
    const records = specs.map(spec => sealRun(a, spec).bundle)
    const hash = records[0]!.sections.policy_evaluation?.policy_hash
    expect(sentencesOf(judge(a, records))).toEqual([
      `line 3: record 2 (run 2) gives the policy ${hash} another name than record 1 (run 1)`,
      `line 5: record 4 (run 4) gives the policy ${hash} another list of required fields than record 3 (run 3)`,
    ])
  })
})

describe("what one hash covers", () => {
  const LIBRARY = "a".repeat(64)
  const matched = (severity: string): RunSpec => ({
    outcome: "pepg_deny",
    alter: {
      mcd_finding: part => withValue(withValue(part, "/severity", severity), "/library_hash", LIBRARY),
      policy_evaluation: part => withValue(part, "/signature_library_hash", LIBRARY),
    },
  })
  const denying = (rule: string): RunSpec => ({
    outcome: "pepg_deny",
    denied_by: "rule",
    alter: {
      policy_evaluation: part => withValue(withValue(part, "/fired_rule_id", rule), "/matched_rule_ids", [rule]),
    },
  })

  test("a rule of a policy has one effect", () => {
    const a = makeDeployment()
    const records = [{ outcome: "ok" } as const, denying("no-export"), denying("baseline-permit")].map(
      spec => sealRun(a, spec).bundle,
    )
    const hash = records[0]!.sections.policy_evaluation?.policy_hash
    expect(sentencesOf(judge(a, records))).toEqual([
      `line 4: record 3 (run 3) gives the rule baseline-permit of the policy ${hash} another effect than record 1 (run 1)`,
    ])
  })

  test("a signature of a library has one severity", () => {
    const a = makeDeployment()
    const records = [matched("low"), matched("low"), matched("critical")].map(spec => sealRun(a, spec).bundle)
    expect(sentencesOf(judge(a, records))).toEqual([
      `line 4: record 3 (run 3) gives the signature MCD-PI-001 of the library ${LIBRARY} another severity than record 1 (run 1)`,
    ])
  })

  test.each<[string, readonly RunSpec[], string]>([
    [
      "after the refusal",
      [
        { outcome: "attestation_gap" },
        { outcome: "ok", declared: { attested_context: { actor_id: "a", actor_role: "b" } } },
      ],
      "was admitted without prompt_hash, which the policy HASH requires, as record 1 (run 1) gives it",
    ],
    [
      "before it",
      [
        { outcome: "ok", declared: { attested_context: { actor_id: "a", actor_role: "b" } } },
        { outcome: "attestation_gap" },
      ],
      "gives prompt_hash as required by the policy HASH, which admitted record 1 (run 1) without it",
    ],
  ])("a policy admits no run without a field that it requires: %s", (_name, specs, sentence) => {
    const a = makeDeployment()
    const records = specs.map(spec => sealRun(a, spec).bundle)
    const hash = records.flatMap(({ sections }) => sections.policy_evaluation?.policy_hash ?? [])[0] ?? ""
    expect(sentencesOf(judge(a, records))).toEqual([`line 3: record 2 (run 2) ${sentence.replace("HASH", hash)}`])
  })
})

describe("a range", () => {
  const pieceOf = (a: Deployment, records: readonly Bundle[]): Completeness =>
    judge(a, records, { from: records[0]!.run.created_at, to: records.at(-1)!.run.created_at })

  test("begins in the middle of a window, and charges before it are holes", () => {
    const a = makeDeployment()
    const records = charged(a, chargesOf("1: 0+100, 2: 100+50, 3: 150+0, 4: 150+25"))
    expect(pieceOf(a, records.slice(1))).toMatchObject({
      verdict: "COMPLETE RANGE VERIFIED AND ANCHORED",
      problems: [],
      notes: [],
    })
  })

  test("may have a window that falls without a document: one outside of it lowered the total", () => {
    const a = makeDeployment()
    const records = charged(a, chargesOf("1: 0+100, 2: 100+50, 4: 60+40"))
    expect(pieceOf(a, records.slice(1))).toMatchObject({
      verdict: "COMPLETE RANGE VERIFIED AND ANCHORED",
      problems: [],
    })
  })

  test("that contradicts itself fails like a chain", () => {
    const a = makeDeployment()
    const records = charged(a, chargesOf("1: 0+100, 2: 100+50, 3: 120+40"))
    expect(sentencesOf(pieceOf(a, records.slice(1)))).toEqual([
      `line 3: record 3 (run 3) begins movement 3 ${OF} at 120, and movement 2 leaves it at 150`,
    ])
  })
})

describe("what an operator may change is told and fails nothing", () => {
  test("the cap", () => {
    const a = makeDeployment()
    const caps = [10_000_000, 10_000_000, 20_000_000, 10_000_000]
    const records = caps.map(window_cap => sealRun(a, { outcome: "ok", window_cap }).bundle)
    const found = judge(a, records)
    expect(found).toMatchObject({ verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", note_count: 2 })
    expect(found.notes).toEqual([
      {
        line: 4,
        run_id: 3,
        tenant_ordinal: 3,
        sentence: "at record 3 (run 3) the cap of tokens a window changed from 10000000 to 20000000",
      },
      {
        line: 5,
        run_id: 4,
        tenant_ordinal: 4,
        sentence: "at record 4 (run 4) the cap of tokens a window changed from 20000000 to 10000000",
      },
    ])
  })
})
