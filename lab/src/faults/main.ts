/**
 * `npm run faults [-- --rounds N] [--seed S] [--only NAME]`: every fault against real servers, and a table of the
 * results. Exits with 1 when a check failed.
 */
import { parseArgs } from "node:util"
import { runFaults } from "./fault-run.ts"

/** Two deployments under faults at a time: their loads compete, which varies the timing of the faults. */
const SUITES_AT_ONCE = 2

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
  },
})
await runFaults({ project: "faults", suitesAtOnce: SUITES_AT_ONCE, ...values })
