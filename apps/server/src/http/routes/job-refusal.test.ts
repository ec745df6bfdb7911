import { expect, test } from "vitest"
import { JobError, type JobProblem } from "../../threads/job-thread.ts"
import { refusalOfJob } from "./job-refusal.ts"

const refused = (problem: JobProblem): unknown =>
  refusalOfJob(new JobError(problem, "of the inside"), "Too many wait.", "It is too much.")

test.each([
  ["busy", { code: "overloaded", status: 503, message: "Too many wait.", headers: { "Retry-After": "1" } }],
  ["closed", { code: "unavailable", status: 503, message: "The service is stopping. Try again." }],
  ["late", { code: "too_much_work", status: 500, message: "It is too much.", headers: {} }],
  ["large", { code: "too_much_work", status: 500, message: "It is too much.", headers: {} }],
] as const)("a job that ended as %s is refused for that reason", (problem, refusal) => {
  expect(refused(problem)).toMatchObject(refusal)
})

test("a fault of the work stays what it is", () => {
  const fault = new JobError("failed", "of the inside")
  expect(refusalOfJob(fault, "", "")).toBe(fault)
})
