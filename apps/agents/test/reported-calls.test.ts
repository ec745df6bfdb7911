/** The calls of a callback, within their bound. */
import { expect, test } from "vitest"
import { reportedCalls } from "../src/langchain.ts"

test("a call is found once, by its outcome when it was closed", () => {
  const calls = reportedCalls<string>()
  calls.add("1", "one")
  calls.add("2", "two")
  calls.close("2", "two", "two, over")
  calls.close("1", "another", "another, over")
  expect(["1", "2", "1", "2"].map(calls.take)).toEqual(["one", "two, over", undefined, undefined])
  calls.close("1", "one", "one, over")
  expect(calls.take("1")).toBeUndefined()
})

test("beyond the bound the oldest is dropped, first of those that are closed", () => {
  const calls = reportedCalls<string>(3)
  for (const id of ["1", "2", "3"]) calls.add(id, id)
  for (const id of ["3", "2"]) calls.close(id, id, `${id}, over`)
  for (const id of ["4", "5", "6"]) calls.add(id, id)
  expect(["1", "2", "3", "4", "5", "6"].map(calls.take)).toEqual([undefined, undefined, undefined, "4", "5", "6"])
})
