/** `npm run simulate`: simulates many seeds, or replays one. */
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import { runCommand, wholeNumber } from "../../../tools/src/run-command.ts"
import { openSimulation } from "./simulate.ts"
import { createTally, type Tally } from "./tally.ts"
import { type Report, type Share, shown } from "./worker.ts"

const HELP = `npm run simulate -- [--seconds <n>] [--runs <n>] [--from <seed>] [--workers <n>]
npm run simulate -- --seed <seed>

  --seconds <n>   time limit (default: 60)
  --runs <n>      number of seeds, without a time limit
  --from <seed>   the first seed; the others follow it (default: a new one each time)
  --workers <n>   threads (default: one for each processor)
  --seed <seed>   simulates this seed alone and prints every step

A seed determines the schedule, the faults and the clocks; keys, nonces and signatures are new each time and have no influence.
`

/** Seeds are below this: an unsigned 32-bit number, with room for those that follow. */
const MAX_FIRST_SEED = 4_000_000_000
const DEFAULT_SECONDS = 60

const whole = (option: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : wholeNumber(option, text)

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function replay(seed: number): Promise<boolean> {
  const simulation = openSimulation()
  const { failure, trace } = await simulation.run(seed)
  await simulation.close()
  for (const line of trace) say(line)
  say(failure === undefined ? `seed ${seed}: all checks passed` : `seed ${seed}: ${shown(failure)}`)
  return failure === undefined
}

type Plan = {
  readonly first: number
  readonly runs: number | undefined
  readonly seconds: number
  readonly workers: number
}

/** Simulates until the time limit, the last seed or the first failure; gives that failure. */
async function explore({ first, runs, seconds, workers }: Plan, tally: Tally): Promise<Report | undefined> {
  let failed: Report | undefined
  const threads: Worker[] = []
  const end = (): void => {
    for (const thread of threads) thread.postMessage("end")
  }
  const timer = runs === undefined ? setTimeout(end, seconds * 1000) : undefined
  const ended = Array.from({ length: workers }, (_, at) => {
    const seeds = runs === undefined ? Number.MAX_SAFE_INTEGER : Math.ceil((runs - at) / workers)
    const share: Share = { first: first + at, step: workers, seeds }
    const thread = new Worker(new URL("./worker.ts", import.meta.url), { workerData: share })
    threads.push(thread)
    thread.on("message", (report: Report) => {
      tally.add(report)
      if (report.failure === undefined) return
      failed ??= report
      end()
    })
    return new Promise<void>((resolve, reject) => thread.on("error", reject).on("exit", () => resolve()))
  })
  await Promise.all(ended)
  clearTimeout(timer)
  return failed
}

async function main(): Promise<boolean> {
  const text = { type: "string" } as const
  const { values } = parseArgs({
    options: {
      seed: text,
      runs: text,
      seconds: text,
      from: text,
      workers: text,
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return true
  }
  const seed = whole("seed", values.seed)
  if (seed !== undefined) return replay(seed)
  const first = whole("from", values.from) ?? Date.now() % MAX_FIRST_SEED
  const plan: Plan = {
    first,
    runs: whole("runs", values.runs),
    seconds: whole("seconds", values.seconds) ?? DEFAULT_SECONDS,
    workers: Math.max(1, whole("workers", values.workers) ?? availableParallelism()),
  }
  const tally = createTally()
  const began = performance.now()
  const failed = await explore(plan, tally)
  const seconds = (performance.now() - began) / 1000
  for (const [what, times] of tally.all()) say(`${`${times}`.padStart(8)}  ${what}`)
  const rate = tally.seeds() / seconds
  say(
    `${tally.seeds()} seeds from ${first} in ${seconds.toFixed(1)} s: ${rate.toFixed(1)} a second, ${Math.round(rate * 60)} a minute`,
  )
  if (failed === undefined) return true
  say(
    `\nseed ${failed.seed} failed: ${failed.failure}\n\nto print its steps: npm run simulate -- --seed ${failed.seed}`,
  )
  return false
}

await runCommand(HELP, async () => {
  process.exitCode = (await main()) ? 0 : 1
})
