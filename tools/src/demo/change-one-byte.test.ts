import { expect, test } from "vitest"
import { changeOneByte, renumber } from "./audit.ts"

test("the first place of the text is changed, and nothing else", () => {
  expect(changeOneByte('{"a":1,"b":1}', { from: ":1", to: ":2" })).toBe('{"a":2,"b":1}')
})

test.each([
  ["ab", "cd"],
  ["a", "bb"],
  ["a", "a"],
])("changing %s to %s is no change of one byte and is refused", (from, to) => {
  expect(() => changeOneByte("ab", { from, to })).toThrow("do not differ in one byte")
})

test("a change that finds nothing to change is refused", () => {
  expect(() => changeOneByte("ab", { from: "c", to: "d" })).toThrow('does not hold "c"')
})

test("a receipt gets another run's number of the same length", () => {
  expect(renumber('{"ok":true,"run_id":12}')).toBe('{"ok":true,"run_id":22}')
  expect(renumber('{"run_id":9}')).toBe('{"run_id":8}')
  expect(() => renumber("{}")).toThrow("no run_id")
})
