/** Tables, printed and written into pages of docs, each part behind a mark with its name. The marks are at the end of a page. */
import { readFileSync, writeFileSync } from "node:fs"
import { arch, cpus, platform, totalmem } from "node:os"
import { fileURLToPath } from "node:url"

const DOCS = new URL("../../../docs/", import.meta.url)
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

/** The tables of one part, and the command and machine that they hold for. */
export type Measured = { readonly name: string; readonly conditions: string; readonly tables: string }

/** Replaces a part's tables on a page of docs. @throws Error when the page has no place for them */
export function keepOnPage(measured: Measured, page: "performance.md" | "scale.md"): void {
  const file = fileURLToPath(new URL(page, DOCS))
  writeFileSync(file, withTables(readFileSync(file, "utf8"), measured))
}

const MARK = /^<!-- measured: ([\w-]+) -->\n/m
/** Conditions are one line, which begins with the command. */
const CONDITIONS = /^(`npm run .*)\n\n/

/** The page with these tables behind the part's mark; all else stays. @throws Error when the page has no such mark */
export function withTables(page: string, measured: Measured): string {
  const [text = "", ...rest] = page.split(MARK)
  const parts = partsOf(rest)
  if (!parts.some(({ name }) => name === measured.name)) throw new Error(`the page has no place for ${measured.name}`)
  let conditions = ""
  const blocks = parts.map(part => {
    const next = part.name === measured.name ? measured : part
    // What holds for the part before is not repeated.
    const line = next.conditions === conditions ? "" : `${next.conditions}\n\n`
    conditions = next.conditions
    return `<!-- measured: ${next.name} -->\n${line}${next.tables}\n`
  })
  return `${text}${blocks.join("\n")}`
}

/** Names and texts in turn, as parts that each have their conditions. */
function partsOf(rest: readonly string[]): readonly Measured[] {
  let conditions = ""
  return rest.flatMap((block, at) => {
    if (at % 2 === 0) return []
    conditions = CONDITIONS.exec(block)?.[1] ?? conditions
    return [{ name: rest[at - 1] ?? "", conditions, tables: block.replace(CONDITIONS, "").trimEnd() }]
  })
}
