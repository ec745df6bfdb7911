/** What a bench found. */

/** One line of a table. */
export type Row = {
  readonly what: string
  /** Median over the rounds, where there are several. */
  readonly value: number
  readonly unit: string
  /** How it was measured, or what it is to be held against. */
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

/** A number as one reads it: three digits or so. */
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
