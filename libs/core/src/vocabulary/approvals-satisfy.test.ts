import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  approvalsGiven,
  approvalsSatisfy,
  type CountedDecision,
  type DecisionProof,
  type RequiredApproval,
} from "./approvals-satisfy.ts"

const approval = (subject: string, groups: readonly string[], proof: DecisionProof = "idp"): CountedDecision => ({
  decision: "approve",
  person: { subject },
  groups,
  proof,
})
const rule = (by: readonly string[], count: number, proof?: RequiredApproval["proof"]): RequiredApproval => ({
  by,
  count,
  proof,
})

const TREASURY = rule(["treasury"], 1)
const EITHER = rule(["treasury", "audit"], 1)

describe("approvals satisfy", () => {
  test("a rule that asks two persons of any of its groups", () => {
    const two = [rule(["treasury", "audit"], 2)]
    expect(approvalsSatisfy(two, [approval("anna", ["treasury"]), approval("ben", ["audit"])])).toBe(true)
    expect(approvalsSatisfy(two, [approval("anna", ["treasury", "audit"])])).toBe(false)
    expect(approvalsSatisfy(two, [approval("anna", ["treasury"]), approval("ben", ["sales"])])).toBe(false)
    expect(approvalsSatisfy(two, [approval("anna", ["treasury"]), approval("anna", ["audit"])])).toBe(false)
  })

  test("two rules by two persons, in whatever order they came, and by no single one", () => {
    const [both, one] = [approval("anna", ["treasury", "audit"]), approval("ben", ["audit"])]
    for (const rules of [
      [TREASURY, EITHER],
      [EITHER, TREASURY],
    ]) {
      expect(approvalsSatisfy(rules, [both, one])).toBe(true)
      expect(approvalsSatisfy(rules, [one, both])).toBe(true)
      expect(approvalsSatisfy(rules, [both])).toBe(false)
      expect(approvalsSatisfy(rules, [one, approval("carla", ["audit"])])).toBe(false)
    }
  })

  test("only with the proof that the rule asks", () => {
    const [byKey, signedIn] = [approval("anna", ["treasury"], "key"), approval("ben", ["treasury"])]
    expect(approvalsSatisfy([rule(["treasury"], 1, "idp")], [byKey])).toBe(false)
    expect(approvalsSatisfy([rule(["treasury"], 1, "idp")], [signedIn])).toBe(true)
    expect(approvalsSatisfy([rule(["treasury"], 1, "any"), TREASURY], [byKey, signedIn])).toBe(true)
    expect(approvalsSatisfy([rule(["treasury"], 1, "passkey")], [byKey, signedIn])).toBe(false)
    const signed = approval("carla", ["treasury"], "passkey")
    for (const proof of ["any", "idp", "passkey"] as const)
      expect(approvalsSatisfy([rule(["treasury"], 1, proof)], [signed]), proof).toBe(true)
  })

  test("nothing where a person rejected", () => {
    const rejection = { ...approval("carla", ["sales"]), decision: "reject" } as const
    expect(approvalsSatisfy([TREASURY], [approval("anna", ["treasury"]), rejection])).toBe(false)
  })

  test("what trying every choice of persons finds", () => {
    const groups = fc.subarray(["a", "b", "c"], { minLength: 1 })
    const proof = fc.constantFrom("key", "idp", "passkey")
    const rules = fc.array(
      fc
        .record({
          by: groups,
          count: fc.integer({ min: 1, max: 2 }),
          proof: fc.constantFrom(undefined, "any", "idp", "passkey"),
        })
        .map(each => rule(each.by, each.count, each.proof)),
      { maxLength: 3 },
    )
    const decisions = fc.array(
      fc
        .record({ subject: fc.constantFrom("p", "q", "r", "s", "t"), groups, proof })
        .map(each => approval(each.subject, each.groups, each.proof)),
      { maxLength: 5 },
    )
    fc.assert(
      fc.property(rules, decisions, (needed, given) => {
        const each = [...new Map(given.map(decision => [decision.person.subject, decision])).values()]
        const places = placesOf(needed)
        const most = mostFilled(places, each)
        expect(approvalsSatisfy(needed, each)).toBe(most === places.length)
        const taken = approvalsGiven(needed, each)
        expect(taken.every((count, index) => count <= (needed[index]?.count ?? 0))).toBe(true)
        expect(taken.reduce((sum, count) => sum + count, 0)).toBe(most)
      }),
      { numRuns: 2000 },
    )
  })
})

const placesOf = (needed: readonly RequiredApproval[]): readonly RequiredApproval[] =>
  needed.flatMap(each => Array.from({ length: each.count }, () => each))

const fits = (place: RequiredApproval, person: CountedDecision): boolean =>
  (place.proof !== "idp" || person.proof !== "key") &&
  (place.proof !== "passkey" || person.proof === "passkey") &&
  person.groups.some(group => place.by.includes(group))

/** How many of the places can be given to persons at most, by trying all choices. */
function mostFilled([place, ...others]: readonly RequiredApproval[], persons: readonly CountedDecision[]): number {
  if (place === undefined) return 0
  const given = persons.map((person, at) =>
    fits(place, person) ? 1 + mostFilled(others, persons.toSpliced(at, 1)) : 0,
  )
  return Math.max(mostFilled(others, persons), ...given)
}
