/** A row of the suite's table: one fault and its effects. */
import type { TestContext } from "vitest"

export type FaultRow = {
  readonly fault: string
  /** The database, or why the fault was not run. */
  readonly where: string
  rounds: number
  /** Requests that were answered with a record. */
  acknowledged: number
  /** Requests that were refused or cut off. */
  unacknowledged: number
  /** Of those that were not acknowledged: records that exist all the same. */
  found: number
  /** Requests that were sent again under their idempotency key; each got its one record. */
  retried: number
  /** Other results, in words. */
  note: string
}

declare module "vitest" {
  interface TaskMeta {
    fault?: FaultRow
  }
}

/** The row of this test, filled while it runs, so that a failure shows its progress. */
export function faultRow({ task }: TestContext, fault: string, where: string): FaultRow {
  const row: FaultRow = { fault, where, rounds: 0, acknowledged: 0, unacknowledged: 0, found: 0, retried: 0, note: "" }
  task.meta.fault = row
  return row
}
