/** The four sentences claim no more than the checks show. */
import { expect, test } from "vitest"
import type { Check, CheckId, CheckResult } from "../verify/report.ts"
import { groupFindings } from "./check-groups.ts"

const check = (id: CheckId, result: CheckResult): Check => ({ id, result, message: "" })

const ALL: readonly CheckId[] = ["shape", "sections", "decision", "leaf", "entry", "inclusion", "log_time"]

test("a record in the log is unchanged, follows, is signed and in the log, and has its time", () => {
  const found = groupFindings(ALL.map(id => check(id, "pass")))
  expect(found.map(({ result }) => result)).toEqual(["pass", "pass", "pass", "pass"])
  expect(found[2]?.sentence).toBe("Signed with keys that you trust, and in the log.")
  expect(found[3]?.sentence).not.toContain("Witnesses")
})

test("one failed check makes its group fail, and no other", () => {
  const found = groupFindings(ALL.map(id => check(id, id === "sections" ? "fail" : "pass")))
  expect(found.map(({ result }) => result)).toEqual(["fail", "pass", "pass", "pass"])
})

test("what is signed and in no log is not called logged, and has no time of a log", () => {
  const found = groupFindings([check("shape", "pass"), check("signature", "pass"), check("inclusion", "absent")])
  expect(found.map(({ result }) => result)).toEqual(["pass", "absent", "pass", "absent"])
  expect(found[2]?.sentence).toBe("Signed with keys that you trust.")
  expect(found[3]?.sentence).toBe("No log entry gives it a time.")
})

test("a leaf that agrees with the record signs nothing by itself", () => {
  expect(groupFindings([check("leaf", "pass"), check("entry", "absent")])[2]?.result).toBe("absent")
})

test("withheld sections are named as such, and witnesses only where they signed", () => {
  const found = groupFindings([check("sections", "withheld"), check("log_time", "pass"), check("witnessed", "pass")])
  expect(found[0]?.sentence).toContain("Of what the holder withheld, the hash alone was checked")
  expect(found[3]?.sentence).toContain("Witnesses signed the log")
})
