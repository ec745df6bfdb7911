import * as v from "valibot"
import { describe, expect, test } from "vitest"
import {
  GATES,
  isRefused,
  KERNELS,
  OUTCOME_KINDS,
  OUTCOMES,
  RECEIPT_KEYS,
  RECEIPT_KINDS,
  STAGES,
} from "../src/vocabulary/outcomes.ts"
import { PIPELINE_PATH, STEP_LABELS, WHOLE_PATH } from "../src/vocabulary/pipeline-path.ts"
import {
  chargeIdSchema,
  clockMillis,
  clockSchema,
  clockSeconds,
  countSchema,
  decimalSchema,
  envelopeIdSchema,
  nonEmptySchema,
  ordinalSchema,
  sequenceIdSchema,
  sha256Schema,
} from "../src/vocabulary/scalars.ts"

describe("the table of outcomes", () => {
  test("answers 200 only to a completed run, 500 only to a stage error, 422 to every refusal", () => {
    const statuses = OUTCOME_KINDS.map(kind => OUTCOMES[kind].http_status)
    expect(statuses).toEqual([200, 422, 422, 422, 422, 422, 500])
  })

  test("names the gate that ended the run as error_stage", () => {
    const stages = OUTCOME_KINDS.map(kind => OUTCOMES[kind].error_stage)
    expect(stages).toEqual(["", "PEPG", "CCV", "MACC", "AIVP_T4", "PEPG_ADMISSION", ""])
  })

  test("gives every refusal a receipt, and a partial manifest's marker to all but the gap", () => {
    const refused = OUTCOME_KINDS.filter(isRefused)
    expect(refused.map(kind => OUTCOMES[kind].artifact?.key)).toEqual(RECEIPT_KEYS)
    expect(refused.filter(kind => OUTCOMES[kind].marker === undefined)).toEqual(["attestation_gap"])
    for (const key of RECEIPT_KEYS) expect(OUTCOMES[RECEIPT_KINDS[key]].artifact?.key).toBe(key)
    expect([OUTCOMES.ok.artifact?.key, OUTCOMES.stage_error.artifact]).toEqual(["allow_token", undefined])
  })

  test("has words of its own for every outcome, and calls only a completed run an attestation", () => {
    const words = OUTCOME_KINDS.map(kind => OUTCOMES[kind].words)
    expect(words.map(({ standing }) => standing)).toEqual(["attestation", ...new Array(5).fill("refusal"), "diagnosis"])
    for (const pick of ["title", "verdict", "framing", "enforcement", "stages", "statement"] as const)
      expect(new Set(words.map(of => of[pick])).size, pick).toBe(OUTCOME_KINDS.length)
    expect(words.map(({ proof }) => proof.hash_name)).toEqual([
      "Manifest hash",
      "Deny receipt hash",
      "CCV halt receipt hash",
      "MACC halt receipt hash",
      "AIVP-T4 halt receipt hash",
      "Attestation gap receipt hash",
      "Bundle hash",
    ])
    for (const text of [OUTCOMES.stage_error.words.framing, OUTCOMES.stage_error.words.statement])
      expect(text).toContain("for operational diagnosis only and is not an attestation")
  })

  test("gives every artifact a path and a version of its own", () => {
    const artifacts = OUTCOME_KINDS.flatMap(kind => OUTCOMES[kind].artifact ?? [])
    for (const { key, path, version } of artifacts) {
      expect(path).toBe(key.replaceAll("_", "-"))
      expect(version).toMatch(/^vfa\.[a-z0-9_]+\.v1$/)
    }
    expect(new Set(artifacts.map(({ version }) => version)).size).toBe(artifacts.length)
  })
})

test("a run's path before the log is stages 1–6 in order, with every gate between them", () => {
  const steps = PIPELINE_PATH.map(({ step }) => step)
  expect(steps.filter(step => STAGES.some(stage => stage === step))).toEqual(STAGES.slice(0, 6))
  expect(steps.filter(step => GATES.some(gate => gate === step))).toEqual(GATES)
  expect(steps.indexOf("PEPG_ADMISSION")).toBeGreaterThan(steps.indexOf("DTL"))
  expect(steps.indexOf("DKEC")).toBe(steps.indexOf("PEPG") + 1)
  expect(KERNELS).toEqual(["DSE", "TOK", "DSC", "NREP", "AIVP", "DCAE"])
})

describe("a clock", () => {
  test.each([
    "2026-01-15T12:00:00.000Z",
    "0000-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
    "2024-02-29T00:00:00.000Z",
  ])("is %s", text => {
    expect(clockMillis(text)).toBe(Date.parse(text))
    expect(v.is(clockSchema, text)).toBe(true)
  })

  test.each([
    "2026-01-15T12:00:00Z",
    "2026-01-15T12:00:00.00Z",
    "2026-01-15T12:00:00.0000Z",
    "2026-01-15T12:00:00.000z",
    "2026-01-15t12:00:00.000Z",
    "2026-01-15T12:00:00.000+00:00",
    "2026-02-29T12:00:00.000Z",
    "2026-01-15T24:00:00.000Z",
    "2026-01-15T12:00:60.000Z",
    "+002026-01-15T12:00:00.000Z",
    "2026-01-15T12:00:00.000Z\n",
    "",
  ])("is not %j", text => {
    expect(clockMillis(text)).toBeUndefined()
    expect(v.is(clockSchema, text)).toBe(false)
  })

  test.each([0, 4, 99, 100, 1900, 1969, 1970, 2000, 2026, 2100, 9999])("is of a day that there is: year %i", year => {
    for (let month = 0; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const date = [[year, 4] as const, [month, 2] as const, [day, 2] as const]
        const text = `${date.map(([number, digits]) => `${number}`.padStart(digits, "0")).join("-")}T23:59:59.999Z`
        const parsed = new Date(text)
        const there = !Number.isNaN(parsed.getTime()) && parsed.toISOString() === text
        expect(clockMillis(text)).toBe(there ? parsed.getTime() : undefined)
      }
  })

  test("counts whole seconds downwards, before the epoch too", () => {
    expect(clockSeconds("1970-01-01T00:00:01.999Z")).toBe(1)
    expect(clockSeconds("1969-12-31T23:59:59.999Z")).toBe(-1)
    expect(clockSeconds("yesterday")).toBeUndefined()
  })
})

describe("a scalar has one spelling", () => {
  const hex = "0123456789abcdef"
  test.each([
    [
      "a hash",
      sha256Schema,
      [hex.repeat(4)],
      [hex.repeat(4).toUpperCase(), hex, `${hex.repeat(4)}\n`, `0${hex.repeat(4)}`, 1],
    ],
    ["an envelope id", envelopeIdSchema, [`env-${hex}`], [`env-${hex}0`, `ENV-${hex}`, hex, `env-${hex}\n`]],
    ["a sequence id", sequenceIdSchema, [`seq-${hex}`], [`env-${hex}`, `seq-${hex.slice(1)}`]],
    ["a charge id", chargeIdSchema, [`chg-${hex}${hex}`], [`chg-${hex}`, `chg-${hex}${hex.toUpperCase()}`]],
    ["a count", countSchema, [0, 1, 2 ** 53 - 1], [-1, 0.5, 2 ** 53, Number.NaN, "1", null, 1n]],
    ["an ordinal", ordinalSchema, [1, 2 ** 53 - 1], [0, -1, 1.5, 2 ** 53, "1"]],
    [
      "a decimal",
      decimalSchema,
      ["0", "1", "9007199254740991"],
      ["", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "9007199254740992", 1],
    ],
    ["a text that says something", nonEmptySchema, ["x", " "], ["", 1, undefined]],
  ])("%s", (_, schema, accepted, refused) => {
    for (const value of accepted) expect(v.is(schema, value)).toBe(true)
    for (const value of refused) expect(v.is(schema, value)).toBe(false)
  })
})

test("the whole path is all nine stages in order, with the gates where they stand", () => {
  expect(WHOLE_PATH.filter(step => STAGES.some(stage => stage === step))).toEqual(STAGES)
  expect(WHOLE_PATH.slice(0, PIPELINE_PATH.length)).toEqual(PIPELINE_PATH.map(({ step }) => step))
  expect(Object.keys(STEP_LABELS)).toEqual(WHOLE_PATH)
})
