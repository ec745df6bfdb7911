import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { withTables } from "./page.ts"
import { PARTS } from "./parts/all.ts"

const [MINE, YOURS] = ["`npm run bench` on a machine", "`npm run bench -- b` on another"]
const PAGE = `before\n\n<!-- measured: a -->\n${MINE}\n\nold\n\n<!-- measured: b -->\nother\n`
const measured = (name: string, conditions: string, tables = "new") => ({ name, conditions, tables })

test("tables of one part take the place of its own and of no other's", () => {
  expect(withTables(PAGE, measured("a", MINE))).toBe(PAGE.replace("old", "new"))
  expect(withTables(withTables(PAGE, measured("a", MINE)), measured("a", MINE))).toBe(PAGE.replace("old", "new"))
  expect(withTables(PAGE, measured("b", MINE))).toBe(PAGE.replace("other", "new"))
})

test("each part says what it holds for, once for parts in a row", () => {
  const apart = withTables(PAGE, measured("a", YOURS))
  expect(apart).toBe(`before\n\n<!-- measured: a -->\n${YOURS}\n\nnew\n\n<!-- measured: b -->\n${MINE}\n\nother\n`)
  expect(withTables(apart, measured("b", YOURS))).not.toContain(MINE)
  expect(withTables(apart, measured("a", MINE, "old"))).toBe(PAGE)
})

test("a page without the part's mark is not written", () => {
  expect(() => withTables(PAGE, measured("c", MINE))).toThrow("no place for c")
})

test.each([
  ["performance.md", PARTS.filter(({ onlyByName }) => onlyByName !== true).map(({ name }) => name)],
  ["scale.md", ["load"]],
])("docs/%s has a place for every part", (page, names) => {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8")
  for (const name of names) expect(withTables(text, measured(name, MINE, "| new |"))).toContain("| new |")
})
