/** Where tables are kept: docs/performance.md, each command's between two marks that name it. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const PAGE = fileURLToPath(new URL("../../../docs/performance.md", import.meta.url))

/** Puts a command's tables into the page in place of those that were there. @throws Error when the marks are not on the page */
export function keepOnPage(tables: string, command: string): void {
  writeFileSync(PAGE, withTables(readFileSync(PAGE, "utf8"), tables, command))
}

/** The page with these tables between the command's marks; all else stays. @throws Error when the page has not both marks, in order */
export function withTables(page: string, tables: string, command: string): string {
  const [first, last] = [`<!-- ${command}: begin -->`, `<!-- ${command}: end -->`]
  const [begin, end] = [page.indexOf(first), page.indexOf(last)]
  if (begin < 0 || end < begin) throw new Error("docs/performance.md has lost the marks that the tables stand between")
  return `${page.slice(0, begin + first.length)}\n\n${tables}\n\n${page.slice(end)}`
}
