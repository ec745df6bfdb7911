import { describe, expect, test } from "vitest"
import { DECLARED_NAMES, WITHHOLDABLE_NAMES } from "../../src/artifacts/declared-sections.ts"
import { withholdSections } from "../../src/derivation/derive.ts"
import { isUnreadable, verifyText } from "../../src/verify/document.ts"
import { type Report, VERDICTS, type Verdict } from "../../src/verify/report.ts"
import { refusedSpec, requestApproval } from "../fixtures/asked-approvals.ts"
import { asSealed, bothForms, makeDeployment, sealRun } from "../fixtures/deployment.ts"
import type { Json, JsonMembers } from "../fixtures/json-values.ts"
import { asJson, isMembers, membersOf, valueAt, withMember, withoutMember, withValue } from "../fixtures/json-values.ts"
import { RUN_SAMPLES } from "../fixtures/sample-corpus.ts"
import { END_USER } from "../fixtures/vectors/end-user-vectors.ts"

const a = makeDeployment()
const b = makeDeployment({ seed: "another", service: "Another service", host: "log.example" })
/** Each sample, and the same kind of run of the same tenant, of another tenant, and of another trusted deployment. */
const rejected = refusedSpec(requestApproval(makeDeployment(), { end_user: END_USER }), "rejected")
const samples = [...RUN_SAMPLES, ["deny-rejected", VERDICTS.complete, rejected] as const].map(
  ([name, expected, spec]) => {
    const run = sealRun(a, spec)
    const others = [
      sealRun(a, { ...spec, payload: "Another claim." }),
      sealRun(a, { ...spec, tenant: "api-key-2" }),
      sealRun(b, spec),
    ]
    const parts = { bundle: asSealed(run.bundle), others: others.map(({ bundle }) => asSealed(bundle)) }
    return { name, expected, ...parts, run, answer: run.receipt && asJson(run.receipt) }
  },
)

function report(document: Json): Report | undefined {
  const result = verifyText(JSON.stringify(document), [a.trust, b.trust])
  return isUnreadable(result) ? undefined : result
}
const verdict = (document: Json): string => report(document)?.verdict ?? "unreadable"
const REFUSED = /^(?:FAILED|unreadable)$/

const membersAt = (document: Json, pointer: string): JsonMembers => membersOf(valueAt(document, pointer))
/** The document without one member of one of its objects. */
const without = (document: Json, pointer: string, key: string): Json =>
  withValue(document, pointer, withoutMember(membersAt(document, pointer), key))

/** The document with each member of one of its objects taken from another document; unchanged ones left out. */
const borrowed = (mine: Json, other: Json, pointer: string): readonly Json[] =>
  Object.entries(membersAt(other, pointer))
    .map(([key, value]) => withValue(mine, pointer, withMember(membersAt(mine, pointer), key, value)))
    .filter(changed => JSON.stringify(changed) !== JSON.stringify(mine))

const everyMember = (pointer: string): JsonMembers =>
  Object.assign({}, ...samples.map(({ bundle }) => membersAt(bundle, pointer)))

/** What a bundle is without complete-record anchor, where it is anything. */
const SHED: Readonly<Record<string, Verdict>> = {
  "ok-leaf-v5": VERDICTS.anchored,
  "ok-leaf-v5-without-complete-record": VERDICTS.anchored,
  "ccv-halt-without-receipt-anchor": VERDICTS.unanchored,
  "deny-unanchored": VERDICTS.unanchored,
  "attestation-gap-unanchored": VERDICTS.unanchored,
}

describe.each(samples)("$name", ({ name, bundle, others, expected, run }) => {
  test("fails without any one of its sections", () => {
    for (const name of Object.keys(membersAt(bundle, "/sections")))
      expect(verdict(without(bundle, "/sections", name))).toMatch(REFUSED)
  })

  test.each(["", "/run", "/sections", "/anchors", "/manifest", "/partial_manifest", "/allow_token"])(
    "fails with anything that stands in '%s' borrowed from another run, tenant or deployment",
    pointer => {
      for (const changed of others.flatMap(other => borrowed(bundle, other, pointer)))
        expect(verdict(changed)).toMatch(REFUSED)
    },
  )

  test("fails with a section, decision or anchor that runs of its kind do not have", () => {
    for (const pointer of ["", "/sections", "/anchors"]) {
      const strange = Object.entries(everyMember(pointer)).filter(
        ([key]) => !Object.hasOwn(membersAt(bundle, pointer), key),
      )
      for (const [key, value] of strange)
        expect(verdict(withValue(bundle, pointer, withMember(membersAt(bundle, pointer), key, value)))).toMatch(REFUSED)
    }
  })

  test("fails with its anchors in each other's slots", () => {
    const slots = ["pre_anchor", "receipt", "complete_record"]
    const anchors = membersAt(bundle, "/anchors")
    for (const [slot, anchor] of Object.entries(anchors))
      for (const other of slots.filter(name => name !== slot)) {
        const moved = withMember(withoutMember(anchors, slot), other, anchor)
        for (const changed of [moved, withMember(anchors, other, anchor)])
          expect(verdict(withValue(bundle, "/anchors", changed))).toMatch(REFUSED)
      }
  })

  test(`without its complete-record anchor it is ${SHED[name] ?? VERDICTS.failed}`, () => {
    expect(verdict(without(bundle, "/anchors", "complete_record"))).toBe(SHED[name] ?? VERDICTS.failed)
  })

  test("fails without its first anchor", () => {
    for (const slot of ["pre_anchor", "receipt"])
      if (valueAt(bundle, `/anchors/${slot}`) !== undefined)
        expect(verdict(without(bundle, "/anchors", slot))).toBe(VERDICTS.failed)
  })

  test("stands with declared sections withheld, and each is listed", () => {
    for (const names of [...DECLARED_NAMES.map(one => [one]), DECLARED_NAMES]) {
      for (const { document } of bothForms(name, withholdSections(run.bundle, names))) {
        const shown = report(document)
        expect(shown).toMatchObject({ verdict: expected, withheld: names })
        expect(shown?.limitations.map(({ code }) => code)).toContain("withheld_section")
        expect(shown?.checks.find(({ id }) => id === "sections")?.result).toBe("withheld")
      }
    }
  })

  test("fails with any other section withheld", () => {
    for (const [section, value] of Object.entries(membersAt(bundle, "/sections"))) {
      if (WITHHOLDABLE_NAMES.some(each => each === section) || !isMembers(value)) continue
      const { kind = "", hash = "" } = value
      expect(verdict(withValue(bundle, `/sections/${section}`, { kind, withheld: true, hash }))).toBe("unreadable")
    }
  })
})

const sameRun = (one: Json, other: Json): boolean => valueAt(one, "/run_id") === valueAt(other, "/run_id")

describe("a receipt answer", () => {
  const answers = samples.flatMap(({ name, answer, run }) => (answer === undefined ? [] : [{ name, answer, run }]))

  const anchored = answers.filter(({ answer }) => valueAt(answer, "/receipt_anchor") !== undefined)
  test.each(anchored)("$name fails with anything borrowed from another receipt", ({ name, answer }) => {
    for (const changed of answers.flatMap(other => borrowed(answer, other.answer, ""))) {
      // Anchor v1 binds no run number.
      const renumbered = name.endsWith("-v1") && !sameRun(changed, answer)
      expect(verdict(changed)).toMatch(renumbered ? VERDICTS.receipt : REFUSED)
    }
  })

  const unanchored = answers.filter(({ answer }) => valueAt(answer, "/receipt_anchor") === undefined)
  test.each(unanchored)("$name, which has no log entry, is never anchored by what it borrows", ({ answer }) => {
    for (const changed of answers.flatMap(other => borrowed(answer, other.answer, "")))
      expect(verdict(changed)).not.toBe(VERDICTS.receipt)
  })

  test.each(answers)("$name without its log entry is no longer anchored", ({ answer }) => {
    const shed = without(answer, "", "receipt_anchor")
    const [receipt] = Object.values(membersAt(shed, "")).filter(isMembers)
    if (receipt?.anchor_required !== true) return expect(verdict(shed)).toBe(VERDICTS.receipt_unanchored)
    expect(report(shed)?.checks.find(({ id }) => id === "entry")).toEqual({
      id: "entry",
      result: "fail",
      message: "the receipt requires a log entry and has none; the refusal itself is valid",
    })
  })
})
