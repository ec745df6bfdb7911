/** The table that `npm run faults` prints. */
import type { FaultRow } from "./fault-row.ts"

export type TableRow = FaultRow & {
  readonly seconds: number
  readonly verdict: "holds" | "FAILED" | "not run"
}

const HEADS = [
  "fault",
  "on",
  "rounds",
  "acknowledged",
  "unacknowledged",
  "found",
  "retried",
  "s",
  "verdict",
  "note",
] as const

/** One line a fault, columns aligned: names to the left, numbers to the right. */
export function printTable(rows: readonly TableRow[]): string {
  const cells = rows.map(row => [
    row.fault,
    row.where,
    ...[row.rounds, row.acknowledged, row.unacknowledged, row.found, row.retried, Math.round(row.seconds)].map(String),
    row.verdict,
    row.note,
  ])
  const widths = HEADS.map((head, column) => Math.max(head.length, ...cells.map(line => line[column]!.length)))
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, column) => (/^\d+$/.test(text) ? text.padStart(widths[column]!) : text.padEnd(widths[column]!)))
      .join("  ")
      .trimEnd()
  return `\n${[line(HEADS), ...cells.map(line)].join("\n")}\n`
}
