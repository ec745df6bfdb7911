/** docs/formats.md section 13: what an export proves, and what its verifier says of one that was tampered with. */
import { utf8Encode } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import type { ExportStatement } from "../src/artifacts/export-statement.ts"
import { type Completeness, foldExport, PROBLEMS_MAX } from "../src/verify/completeness.ts"
import { verifyText } from "../src/verify/document.ts"
import { GAPS_MAX, ordinalGaps } from "../src/verify/export-documents.ts"
import { makeDeployment, sealBatch, sealRun } from "./fixtures/deployment.ts"
import { exportReport } from "./fixtures/judged.ts"
import { exportText, placeOf, stateExport } from "./fixtures/sample-exports.ts"

const a = makeDeployment()
const OUTCOMES = ["ok", "pepg_deny", "stage_error", "ccv_halt", "attestation_gap", "ok", "aivp_t4_halt"] as const
/** A tenant's records, interleaved with those of another tenant. */
const records = OUTCOMES.map(outcome => {
  const [mine] = sealBatch(a, [{ outcome }, { outcome: "stage_error", tenant: "api-key-2" }])
  return mine!.bundle
})
const stranger = sealRun(a, { outcome: "ok", tenant: "api-key-2" }).bundle
const whole = stateExport(a, records)
const part = records.slice(2, 5)
const clockOf = (at: number): string => records[at]!.run.created_at
const range = stateExport(a, part, { from: clockOf(2), to: clockOf(4) })
/** Where a missing record is missed. */
const between = (behind: Bundle | undefined, before: Bundle | undefined): string =>
  [
    ...(behind === undefined ? [] : [`after run ${behind.run.run_id}`]),
    ...(before === undefined ? [] : [`before run ${before.run.run_id}`]),
  ].join(" and ")
const nameOf = (bundle: Bundle): string => `record ${placeOf(bundle).tenant_ordinal} (run ${bundle.run.run_id})`

type Piece = ExportStatement | Bundle | string

const complete = (pieces: readonly Piece[], trusts: readonly TrustedKeys[] = [a.trust]): Completeness =>
  exportReport(
    pieces.map(piece => (typeof piece === "string" ? `${piece.trimEnd()}\n` : exportText(piece))).join(""),
    trusts,
  )

const sentencesOf = (pieces: readonly Piece[]): readonly string[] => {
  const { verdict, problems, problem_count } = complete(pieces)
  expect(problem_count).toBe(problems.length)
  expect(verdict === "FAILED").toBe(problems.length > 0)
  return problems.map(({ sentence }) => sentence)
}

describe("an export as the service makes it", () => {
  test("of everything is a complete chain", () => {
    expect(complete([whole, ...records])).toMatchObject({
      verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED",
      service: "Runseal fixture service",
      records: 7,
      outside: 0,
      problems: [],
    })
  })

  test("of a time is a complete range, and says what rests on the service's word", () => {
    const found = complete([range, ...part])
    expect(found).toMatchObject({ verdict: "COMPLETE RANGE VERIFIED AND ANCHORED", records: 3, problems: [] })
    expect(found.limitations.map(({ code }) => code)).toEqual(
      expect.arrayContaining(["operator_log", "later_records", "second_chain", "stated_range"]),
    )
    expect(found.limitations.map(({ code }) => code)).not.toContain("chain_tail")
  })

  test("of a time in which nothing was admitted, or of a tenant without records, has a statement alone", () => {
    const empty = stateExport(a, [], { from: "2027-01-01T00:00:00.000Z" })
    expect(complete([empty])).toMatchObject({ verdict: "COMPLETE RANGE VERIFIED AND ANCHORED", records: 0 })
    const nobody = stateExport(a, [], { tenant: "api-key-9" })
    expect(complete([nobody])).toMatchObject({ verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED", records: 0 })
  })

  test("may hold records that were admitted at another time, between its ends", () => {
    const late = makeDeployment()
    const seconds = [10, 3, 11]
    const sealed = seconds.map(second => {
      const at = `2026-01-15T12:00:${`${second}`.padStart(2, "0")}.000Z`
      return sealRun(late, { outcome: "stage_error", at, logged_after_s: 12 - second }).bundle
    })
    const statement = stateExport(late, sealed, { from: "2026-01-15T12:00:10.000Z" })
    expect(complete([statement, ...sealed], [late.trust])).toMatchObject({ problems: [], records: 3, outside: 1 })
  })
})

describe("what is missing, doubled or reordered is named", () => {
  test.each(records.map((bundle, at) => ({ at, ordinal: at + 1, name: nameOf(bundle) })))(
    "$name dropped",
    ({ at, ordinal }) => {
      expect(sentencesOf([whole, ...records.toSpliced(at, 1)])).toEqual([
        `document ${ordinal} is missing, ${between(records[at - 1], records[at + 1])}`,
      ])
    },
  )

  test.each(records.map((bundle, at) => ({ at, name: nameOf(bundle) })))("$name doubled", ({ at, name }) => {
    expect(sentencesOf([whole, ...records.toSpliced(at, 0, records[at]!)])).toEqual([`${name} is here again`])
  })

  test.each(records.slice(1).map((bundle, at) => ({ at, bundle, name: nameOf(records[at]!) })))(
    "$name swapped with the next",
    ({ at, bundle, name }) => {
      const swapped = records.with(at, bundle).with(at + 1, records[at]!)
      expect(sentencesOf([whole, ...swapped])).toEqual([`${name} is out of order, after document ${at + 2}`])
    },
  )

  test("whatever records an export is left with in whatever order: none, unless it is the export itself", () => {
    const shuffled = fc.shuffledSubarray([...records.keys(), 0, 3, 6], { minLength: 0 })
    fc.assert(
      fc.property(shuffled, order => {
        const unchanged = order.length === records.length && order.every((at, place) => at === place)
        const found = complete([whole, ...order.map(at => records[at]!)])
        expect(found.problem_count === 0).toBe(unchanged)
        const left = new Set(order)
        const missing = [...records.keys()].filter(at => !left.has(at)).map(at => at + 1)
        const named = found.problems.flatMap(({ sentence }) => {
          const [, first, last = first] = /^documents? (\d+)(?: to (\d+))? (?:is|are) missing/.exec(sentence) ?? []
          const from = Number(first)
          return first === undefined ? [] : Array.from({ length: Number(last) - from + 1 }, (_, i) => from + i)
        })
        expect(named.sort((one, other) => one - other)).toEqual(missing)
      }),
      { numRuns: 40 },
    )
  })

  test("all of them dropped", () => {
    expect(sentencesOf([whole])).toEqual(["documents 1 to 7 are missing"])
    expect(sentencesOf([range])).toEqual(["documents 3 to 5 are missing"])
  })
})

test("a record that only a newer verifier can judge leaves the export unjudged, and is named", () => {
  const fold = foldExport([a.trust])
  const later = exportText(records[1]!).replace("vfa.derivation.v2", "vfa.derivation.v3")
  const lines = [whole, records[0]!, later, ...records.slice(2)]
  for (const [at, line] of lines.entries())
    fold.take(at + 1, utf8Encode(typeof line === "string" ? line : exportText(line)))
  expect(fold.end()).toEqual({
    unreadable: "line 3: run.derivation: vfa.derivation.v3 is not known here: a newer verifier is needed",
  })
})

describe("what does not belong to it is named", () => {
  test("a record of another tenant, also in the place of one that is missing", () => {
    expect(sentencesOf([whole, ...records, stranger])).toEqual([
      `run ${stranger.run.run_id} is a document of another tenant`,
    ])
    expect(sentencesOf([whole, ...records.with(3, stranger)])).toEqual([
      `run ${stranger.run.run_id} is a document of another tenant`,
      `document 4 is missing, ${between(records[2], records[4])}`,
    ])
  })

  test("a record before or behind the range", () => {
    const [before, behind] = [records[1]!, records[5]!]
    expect(sentencesOf([range, before, ...part])).toEqual([
      `${nameOf(before)} is not of the piece that the statement speaks of`,
    ])
    expect(sentencesOf([range, ...part, behind])).toEqual([
      `${nameOf(behind)} is not of the piece that the statement speaks of`,
    ])
    expect(sentencesOf([stateExport(a, [], { to: "2020-01-01T00:00:00.000Z" }), before])).toHaveLength(1)
  })

  test("a record of a second chain of the same tenant, in any place", () => {
    const fork = makeDeployment()
    const seconds = records.map((_, at) => sealRun(fork, { outcome: OUTCOMES[at]!, payload: "another" }).bundle)
    for (const at of records.keys()) {
      const { verdict, problems } = complete([whole, ...records.with(at, seconds[at]!)], [a.trust, fork.trust])
      expect(verdict).toBe("FAILED")
      expect(problems.some(({ line }) => line === at + 2 || line === at + 3)).toBe(true)
    }
  })

  test("a changed record, a line that is no record, a line that is no JSON, a line cut short", () => {
    const changed = exportText(records[2]!).replace('"duration_us":', '"duration_us":1')
    expect(sentencesOf([whole, ...records.slice(0, 2), changed, ...records.slice(3)])).toEqual([
      `run ${records[2]!.run.run_id} does not verify; first failed check, bundle_hash: the bundle does not match its hash`,
    ])
    expect(sentencesOf([whole, whole, ...records])).toEqual([
      "this line is no document of a chain: no record, no request for an approval, no opening or end of permits, and no admin event",
    ])
    expect(sentencesOf([whole, "{}", ...records])).toEqual([
      expect.stringMatching(/^this line cannot be read: not a Runseal document/),
    ])
    const cut = exportText(whole, ...records).slice(0, -100)
    expect(sentencesOf([cut])).toEqual([
      expect.stringMatching(/^this line cannot be read: not strict JSON/),
      `document 7 is missing, ${between(records[5], undefined)}`,
    ])
  })

  test("a record that was sealed after the statement, or is stated of another deployment", () => {
    const early = makeDeployment()
    const one = sealRun(early, { outcome: "stage_error" }).bundle
    const statement = stateExport(early, [one])
    const two = sealRun(early, { outcome: "stage_error" }).bundle
    const ahead = { head_ordinal: 2, last_ordinal: 2, head: early.tenants.get("api-key-1")!.previous }
    // The operator states two records, and the second is behind the statement in the log.
    const forged = makeDeployment()
    sealRun(forged, { outcome: "stage_error" })
    const lie = stateExport(forged, [one], { alter: { ...ahead, last_record: ahead.head } })
    expect(complete([statement, one], [early.trust]).problems).toEqual([])
    expect(complete([lie, one, two], [early.trust]).problems.map(({ sentence }) => sentence)).toContain(
      `${nameOf(two)} was logged after the statement that counts it`,
    )
  })
})

describe("the statement decides", () => {
  const older = makeDeployment()
  const first = sealRun(older, { outcome: "ok" }).bundle
  const before = stateExport(older, [first])
  const second = sealRun(older, { outcome: "ok" }).bundle
  const now = stateExport(older, [first, second])

  test("an older one speaks of what there was then", () => {
    expect(complete([before, first], [older.trust]).verdict).toBe("COMPLETE CHAIN VERIFIED AND ANCHORED")
    expect(complete([now, first], [older.trust]).problems.map(({ sentence }) => sentence)).toEqual([
      `document 2 is missing, ${between(first, undefined)}`,
    ])
    expect(complete([before, first, second], [older.trust]).verdict).toBe("FAILED")
  })

  test("one of another range, another tenant or another service fits no other records", () => {
    expect(sentencesOf([range, ...records])).toHaveLength(4)
    expect(sentencesOf([whole, ...part])).toEqual([
      `documents 1 to 2 are missing, ${between(undefined, part[0])}`,
      `documents 6 to 7 are missing, ${between(part[2], undefined)}`,
    ])
    expect(
      complete([stateExport(a, [stranger], { tenant: "api-key-2", from: stranger.run.created_at }), ...part]).verdict,
    ).toBe("FAILED")
    const b = makeDeployment({ seed: "another", service: "Another service", host: "log.example" })
    const end = { head_ordinal: whole.leaf.head_ordinal, head: whole.leaf.head }
    const found = complete([stateExport(b, records, { alter: end }), ...records], [a.trust, b.trust])
    expect(found).toMatchObject({ verdict: "FAILED", service: "Another service" })
    // Each record verifies, with other keys than the statement.
    const keys = found.problems.filter(({ sentence }) =>
      /does not verify; first failed check, (?:entry|complete_record)/.test(sentence),
    )
    expect(keys.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8])
  })

  test("without it, or without trust in its keys, nothing is complete", () => {
    expect(sentencesOf([...records])).toEqual(["an export begins with its statement, and this line is none"])
    expect(complete([whole, ...records], []).verdict).toBe("FAILED")
    for (const text of ["", "{}", "nonsense", exportText(whole).slice(0, -30)]) {
      const fold = foldExport([a.trust])
      if (text !== "") fold.take(1, utf8Encode(text))
      expect(fold.end()).toMatchObject({ unreadable: expect.any(String) })
    }
    const long = foldExport([a.trust])
    long.take(1, undefined)
    expect(long.end()).toEqual({ unreadable: "it is longer than a document may be" })
  })

  test("one that contradicts itself is refused, whoever signed it", () => {
    const lies = [
      { first_ordinal: 2 },
      { last_ordinal: 6 },
      { head_ordinal: 8 },
      { head_ordinal: 0 },
      { head: "0".repeat(64) },
      { head: "f".repeat(64) },
      { previous_record: "f".repeat(64) },
      { last_record: "f".repeat(64) },
      // Admin events are of the deployment's chain alone.
      { records: records.length - 1, events: 1 },
    ]
    for (const alter of lies) {
      const report = verifyText(exportText(stateExport(a, records, { alter })), [a.trust])
      expect(report).toMatchObject({ verdict: "FAILED", first_failure: "shape" })
    }
    expect(verifyText(exportText(stateExport(a, [])), [a.trust])).toMatchObject({ first_failure: "shape" })
  })

  test("one of the deployment's chain counts admin events alone", () => {
    const end = { head_ordinal: 1, head: "f".repeat(64), last_record: "f".repeat(64) }
    const piece = { first_ordinal: 1, last_ordinal: 1, previous_record: "0".repeat(64), ...end }
    const statement = (counts: object) =>
      verifyText(exportText(stateExport(a, [], { tenant: "deployment", alter: { ...piece, ...counts } })), [a.trust])
    expect(statement({ events: 1 })).toMatchObject({ verdict: "EXPORT STATEMENT VERIFIED AND ANCHORED" })
    expect(statement({ records: 1 })).toMatchObject({ verdict: "FAILED", first_failure: "shape" })
  })

  test("one of a tenant that nobody is cannot be read", () => {
    for (const tenant of ["api-key-0", "Deployment", "\u200b"])
      expect(verifyText(exportText(stateExport(a, [], { tenant })), [a.trust])).toMatchObject({
        unreadable: expect.stringContaining("tenant_id"),
      })
  })

  test("an operator who states other ends than the records have is found out", () => {
    const at = { from: clockOf(2), to: clockOf(4) }
    const lie = (alter: object): readonly string[] => sentencesOf([stateExport(a, part, { ...at, alter }), ...part])
    expect(lie({ previous_record: "e".repeat(64) })).toEqual([
      `${nameOf(part[0]!)} does not name the document before it that the statement gives`,
    ])
    expect(lie({ last_record: "e".repeat(64) })).toEqual([
      `${nameOf(part[2]!)} is not the one that the statement gives as the last`,
    ])
    expect(lie({ from: "2026-01-15T12:59:00.000Z", to: "2026-01-15T12:59:01.000Z" })).toEqual([
      `${nameOf(part[0]!)} ends the piece and was admitted outside the time asked for`,
      `${nameOf(part[2]!)} ends the piece and was admitted outside the time asked for`,
    ])
  })
})

test("hostile lines are answered, never thrown, and never complete", () => {
  const line = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.json().map(utf8Encode),
    fc
      .constantFrom<string>(exportText(whole), exportText(range), exportText(records[2]!))
      .map(text => utf8Encode(text.trimEnd())),
    fc.nat(2000).map(at => utf8Encode(exportText(whole).slice(0, at))),
    fc.constant(undefined),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), lines => {
      const fold = foldExport([a.trust])
      for (const [at, text] of lines.entries()) fold.take(at + 1, text)
      const found = fold.end()
      expect("unreadable" in found || found.verdict === "FAILED").toBe(true)
    }),
    { numRuns: 300 },
  )
})

describe("memory is bounded", () => {
  test("problems beyond the bound are counted", () => {
    const doubled = Array.from({ length: PROBLEMS_MAX + 5 }, () => records[0]!)
    const found = complete([whole, ...doubled])
    expect(found.problems).toHaveLength(PROBLEMS_MAX)
    expect(found.problem_count).toBe(PROBLEMS_MAX + 4 + 1)
  })

  test("gaps beyond the bound are given back", () => {
    const gaps = ordinalGaps()
    for (let at = 0; at < GAPS_MAX; at++) expect(gaps.open({ first: at * 10, last: at * 10 + 2 })).toBeUndefined()
    expect(gaps.open({ first: 99_999, last: 99_999 })).toEqual({ first: 99_999, last: 99_999 })
    expect(gaps.fill(11)).toBe(true)
    expect(gaps.fill(11)).toBe(false)
    expect(gaps.left().slice(1, 3)).toEqual([
      { first: 10, last: 10 },
      { first: 12, last: 12 },
    ])
  })
})
