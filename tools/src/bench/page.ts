/** Where the tables are kept: docs/performance.md, between two marks. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const PAGE = fileURLToPath(new URL("../../../docs/performance.md", import.meta.url))
const BEGIN = "<!-- npm run bench -- --write: begin -->"
const END = "<!-- npm run bench -- --write: end -->"

/** Puts the tables into the page in place of those that were there. @throws Error when the marks are not on the page */
export function keepOnPage(tables: string): void {
  const page = readFileSync(PAGE, "utf8")
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error("docs/performance.md has lost the marks that the tables stand between")
  writeFileSync(PAGE, `${page.slice(0, begin + BEGIN.length)}\n\n${tables}\n\n${page.slice(end)}`)
}
