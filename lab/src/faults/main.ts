/**
 * `npm run faults [-- --rounds N] [--seed S] [--only NAME]`: every fault against real servers, and a table of the
 * results. Exits with 1 when a check failed.
 */
import { faultSettings, runFaults } from "./fault-run.ts"

/** Two deployments under faults at a time: their loads compete, which varies the timing of the faults. */
const SUITES_AT_ONCE = 2

const settings = faultSettings("faults", "100")
if (settings !== undefined) await runFaults({ project: "faults", suitesAtOnce: SUITES_AT_ONCE, settings })
