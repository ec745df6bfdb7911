/** Tables, printed and written into docs/performance.md: those of each command between two marks with its name. */
import { readFileSync, writeFileSync } from "node:fs"
import { arch, cpus, platform, totalmem } from "node:os"
import { fileURLToPath } from "node:url"

const PAGE = fileURLToPath(new URL("../../../docs/performance.md", import.meta.url))
const GIBIBYTE = 2 ** 30

/** One line of a table. */
export type Row = {
  readonly what: string
  /** Median over the rounds, where there are several. */
  readonly value: number
  readonly unit: string
  /** How it was measured, or what to compare it with. */
  readonly note: string
}

/** One table of the page. */
export type Section = {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The middle of the values, the lower one of two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[(sorted.length - 1) >> 1] ?? Number.NaN
}

/** A number with about three digits. */
export function readable(value: number): string {
  if (!Number.isFinite(value)) return "–"
  if (Math.abs(value) < 10) return value.toFixed(2)
  return Math.abs(value) < 100 ? value.toFixed(1) : Math.round(value).toLocaleString("en")
}

/** Rows as a table. */
export const sectionOf = (title: string, rows: readonly Row[]): Section => ({
  title,
  columns: ["what", "value", ""],
  rows: rows.map(({ what, value, unit, note }) => [what, `${readable(value)} ${unit}`.trim(), note]),
})

/** A section in Markdown. */
export const markdown = ({ title, columns, rows }: Section): string => {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`
  return [`### ${title}`, "", line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n")
}

/**
 * The machine and the versions that a table was measured on. No date: the same machine gives the same text.
 * @param database its version; absent: there was none
 */
export function machine(database: string | undefined): string {
  const [first] = cpus()
  const memory = `${Math.round(totalmem() / GIBIBYTE)} GiB`
  const { node, openssl, v8 } = process.versions
  const parts = [
    first?.model.trim() ?? "unknown processor",
    `${cpus().length} cores`,
    memory,
    `${platform()} ${arch()}`,
  ]
  const versions = [
    `Node ${node}`,
    `V8 ${v8}`,
    `OpenSSL ${openssl}`,
    database === undefined ? "no PostgreSQL" : `PostgreSQL ${database}`,
  ]
  return `${parts.join(", ")}; ${versions.join(", ")}`
}

/** Replaces a command's tables on the page. @throws Error when the marks are not on the page */
export function keepOnPage(tables: string, command: string): void {
  writeFileSync(PAGE, withTables(readFileSync(PAGE, "utf8"), tables, command))
}

/** The page with these tables between the command's marks; all else stays. @throws Error when the page has not both marks, in order */
export function withTables(page: string, tables: string, command: string): string {
  const [first, last] = [`<!-- ${command}: begin -->`, `<!-- ${command}: end -->`]
  const [begin, end] = [page.indexOf(first), page.indexOf(last)]
  if (begin < 0 || end < begin) throw new Error("docs/performance.md has lost the marks around the tables")
  return `${page.slice(0, begin + first.length)}\n\n${tables}\n\n${page.slice(end)}`
}
