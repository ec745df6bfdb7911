import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { withTables } from "./page.ts"
import { PARTS } from "./parts/all.ts"

const PAGE = "before\n\n<!-- a: begin -->\n\nold\n\n<!-- a: end -->\n\n<!-- b: begin -->\n\nother\n\n<!-- b: end -->\n"

test("tables of one command take the place of its own and of no other's", () => {
  expect(withTables(PAGE, "new", "a")).toBe(PAGE.replace("old", "new"))
  expect(withTables(withTables(PAGE, "new", "a"), "new", "a")).toBe(PAGE.replace("old", "new"))
})

test("a page that has lost a mark is not written", () => {
  for (const lost of ["<!-- a: begin -->", "<!-- a: end -->"])
    expect(() => withTables(PAGE.replace(lost, ""), "new", "a")).toThrow("lost the marks")
})

test("docs/performance.md has a place for every part of the bench", () => {
  const page = readFileSync(new URL("../../../docs/performance.md", import.meta.url), "utf8")
  for (const { name } of PARTS) expect(withTables(page, "new", `npm run bench -- ${name}`)).toContain("\n\nnew\n\n")
})
