/** Where the tables are kept: docs/scale.md, between two marks. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const PAGE = fileURLToPath(new URL("../../../docs/scale.md", import.meta.url))
const BEGIN = "<!-- npm run scale -- --write: begin -->"
const END = "<!-- npm run scale -- --write: end -->"

/** The page's text before, between and after the marks. @throws Error when it has lost them */
function parts(): readonly [before: string, tables: string, after: string] {
  const page = readFileSync(PAGE, "utf8")
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error("docs/scale.md has lost the marks that the tables stand between")
  return [page.slice(0, begin + BEGIN.length), page.slice(begin + BEGIN.length, end).trim(), page.slice(end)]
}

/** Puts the tables into the page in place of those that were there. */
export function keepOnScalePage(tables: string): void {
  const [before, , after] = parts()
  writeFileSync(PAGE, `${before}\n\n${tables}\n\n${after}`)
}

/** The tables as they stand on the page. */
export const tablesOnScalePage = (): string => parts()[1]
