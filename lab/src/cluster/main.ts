/**
 * `npm run test:cluster [-- --rounds N] [--seed S]`: primaries of a real Patroni cluster are lost, one or N of them, and a table of
 * the results. Exits with 1 when a check failed, and with 77 when it was not run because a program is missing.
 */
import { faultSettings, runFaults } from "../faults/fault-run.ts"
import { findClusterPrograms } from "./cluster-programs.ts"

/** The status by which test programs tell that they were not run, GNU Automake "Scripts-based Testsuites". */
const NOT_RUN = 77

async function main(): Promise<void> {
  const settings = faultSettings("test:cluster", "1")
  if (settings === undefined) return
  const programs = findClusterPrograms()
  if ("missing" in programs) {
    process.stderr.write(`NOT RUN: ${programs.missing}\n`)
    process.exitCode = NOT_RUN
  } else await runFaults({ project: "cluster", suitesAtOnce: 1, settings })
}

await main()
