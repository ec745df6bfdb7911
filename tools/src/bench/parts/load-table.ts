/** Loads as rows of one table. */
import type { Measured } from "../measured-load.ts"
import { median, readable, type Section } from "../row.ts"

export type LoadRow = { readonly what: string; readonly measured: Measured; readonly note?: string }

const COLUMNS = ["what", "a second", "p50 ms", "p99 ms", "service µs each", "database µs each", ""]

/** A table of loads. Processor time is of all threads of the service, and of all processes of the database. */
export const loadSection = (title: string, rows: readonly LoadRow[]): Section => ({
  title,
  columns: COLUMNS,
  rows: rows.map(({ what, measured: { perSecond, p50, p99, cost }, note = "" }) => [
    what,
    ...[perSecond, p50, p99, cost.serverMicros, cost.databaseMicros ?? Number.NaN].map(readable),
    note,
  ]),
})

/** The round that lies in the middle by its rate. */
export function middleRound(rounds: readonly Measured[]): Measured {
  const rate = median(rounds.map(({ perSecond }) => perSecond))
  const found = rounds.find(({ perSecond }) => perSecond === rate)
  if (found === undefined) throw new Error("nothing was measured")
  return found
}

/** How often one rate is in another. */
export const times = (rate: Measured, other: Measured): string => `${readable(rate.perSecond / other.perSecond)} ×`
