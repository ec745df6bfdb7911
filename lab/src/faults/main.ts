/**
 * `npm run faults [-- --rounds N] [--seed S] [--only NAME]`: every fault against real servers, and a table of the
 * results. Exits with 1 when a check failed.
 */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { startVitest, type TestCase, type TestState } from "vitest/node"
import { printTable, type TableRow } from "./fault-table.ts"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))
/** Two deployments under faults at a time: their loads compete, which varies the timing of the faults. */
const SUITES_AT_ONCE = 2

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
  },
})
for (const name of ["rounds", "seed"] as const)
  if (!/^[1-9]\d{0,5}$/.test(values[name])) throw new Error(`--${name} must be a whole number from 1 to 999999`)
process.env.FAULT_ROUNDS = values.rounds
process.env.FAULT_SEED = values.seed

const VERDICTS: Readonly<Record<TestState, TableRow["verdict"]>> = {
  passed: "holds",
  failed: "FAILED",
  skipped: "not run",
  pending: "FAILED",
}

function rowOf(test: TestCase): TableRow {
  const { state, errors } = test.result()
  const { fault } = test.meta()
  const notes = [...(fault === undefined || fault.note === "" ? [] : [fault.note]), ...(errors ?? []).map(firstLine)]
  return {
    fault: fault?.fault ?? test.name,
    where: fault?.where ?? "",
    rounds: fault?.rounds ?? 0,
    acknowledged: fault?.acknowledged ?? 0,
    unacknowledged: fault?.unacknowledged ?? 0,
    found: fault?.found ?? 0,
    retried: fault?.retried ?? 0,
    seconds: (test.diagnostic()?.duration ?? 0) / 1000,
    verdict: VERDICTS[state],
    note: notes.join("; "),
  }
}

const firstLine = ({ message }: { readonly message: string }): string => message.split("\n")[0] ?? ""

const since = Date.now()
const vitest = await startVitest(values.only === "" ? [] : [values.only], {
  root: ROOT,
  project: ["faults"],
  watch: false,
  maxWorkers: SUITES_AT_ONCE,
  reporters: ["default"],
})
const tests = vitest.state.getTestModules().flatMap(module => [...module.children.allTests()])
const rows = tests.map(rowOf)
await vitest.close()
process.stdout.write(printTable(rows))
const failed = rows.filter(({ verdict }) => verdict === "FAILED").length
const seconds = Math.round((Date.now() - since) / 1000)
process.stdout.write(`\nseed ${values.seed}, ${values.rounds} rounds, ${seconds} s: `)
process.stdout.write(failed === 0 && rows.length > 0 ? "everything holds\n" : `${failed} of ${rows.length} FAILED\n`)
process.exitCode = failed === 0 && rows.length > 0 && vitest.state.getUnhandledErrors().length === 0 ? 0 : 1
