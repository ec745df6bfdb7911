/** Runs the suites of one test project with a number of rounds and a seed, and prints the table of their rows. */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { startVitest, type TestCase, type TestState } from "vitest/node"
import { printTable, type TableRow } from "./fault-table.ts"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))

export type FaultRun = {
  /** Name of a project of vitest.config.ts. */
  readonly project: string
  /** Suites that run at one time. */
  readonly suitesAtOnce: number
  readonly settings: FaultSettings
}

type FaultSettings = {
  /** Whole numbers, in digits. */
  readonly rounds: string
  readonly seed: string
  /** Part of the paths of the suites to run; empty: all. */
  readonly only: string
}

const WHOLE = /^[1-9]\d{0,5}$/

/**
 * The settings of the command line; undefined when the usage was printed in their place: for `--help`, and with exit code 2 for a command
 * line that is wrong.
 */
export function faultSettings(script: string, defaultRounds: string): FaultSettings | undefined {
  const usage = `Usage: npm run ${script} [-- --rounds N] [--seed N] [--only NAME]

  --rounds N   repetitions of each fault, 1 to 999999; ${defaultRounds} when absent
  --seed N     seed of the random numbers, 1 to 999999; 1 when absent
  --only NAME  only the suites whose path holds this text; all when absent
`
  try {
    const { help, ...settings } = parseArgs({
      options: {
        rounds: { type: "string", default: defaultRounds },
        seed: { type: "string", default: "1" },
        only: { type: "string", default: "" },
        help: { type: "boolean", default: false },
      },
    }).values
    if (!help && WHOLE.test(settings.rounds) && WHOLE.test(settings.seed)) return settings
    process.exitCode = help ? 0 : 2
  } catch {
    process.exitCode = 2
  }
  process.stdout.write(usage)
  return undefined
}

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

/** Sets the exit code 1 when a check failed, or when there was none. */
export async function runFaults({ project, suitesAtOnce, settings }: FaultRun): Promise<void> {
  const { rounds, seed, only } = settings
  process.env.FAULT_ROUNDS = rounds
  process.env.FAULT_SEED = seed
  const since = Date.now()
  const vitest = await startVitest(only === "" ? [] : [only], {
    root: ROOT,
    project: [project],
    watch: false,
    maxWorkers: suitesAtOnce,
    reporters: ["default"],
  })
  const modules = vitest.state.getTestModules()
  const rows = modules.flatMap(module => [...module.children.allTests()]).map(rowOf)
  // A suite also fails by what its tests need, such as a cluster that does not start; then they are not run.
  const broken = modules.some(module => module.state() === "failed") || vitest.state.getUnhandledErrors().length > 0
  await vitest.close()
  process.stdout.write(printTable(rows))
  const failed = rows.filter(({ verdict }) => verdict === "FAILED").length
  const held = rows.filter(({ verdict }) => verdict === "holds").length
  const whole = !broken && failed === 0 && held > 0
  const seconds = Math.round((Date.now() - since) / 1000)
  const verdict = whole ? `${held} of ${rows.length} hold` : `${failed} of ${rows.length} FAILED, ${held} hold`
  process.stdout.write(`\nseed ${seed}, ${rounds} rounds, ${seconds} s: ${verdict}\n`)
  process.exitCode = whole ? 0 : 1
}
