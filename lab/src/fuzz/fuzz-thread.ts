/** The loop in a thread of its own, so that it can be terminated when an input hangs. */
import { parentPort, workerData } from "node:worker_threads"
import { seeded } from "../seeded.ts"
import { countCoverage } from "./coverage.ts"
import { fuzz } from "./fuzz-loop.ts"
import { TARGETS } from "./targets.ts"
import { type ThreadJob, type ThreadMessage, writeInput } from "./thread-job.ts"

const job: ThreadJob = workerData
const target = TARGETS.find(({ name }) => name === job.target)
if (target === undefined || parentPort === null) throw new Error(`no target ${job.target}, or no thread`)

const tell = (message: ThreadMessage): void => parentPort?.postMessage(message)
const coverage = countCoverage()
const runs = await fuzz({
  target,
  corpus: job.corpus,
  random: seeded(job.seed),
  coverage,
  goesOn: () => Date.now() < job.until,
  before: input => writeInput(job, input),
  added: input => tell({ kind: "added", input }),
  found: ({ input, problem }) => tell({ kind: "find", input, problem }),
})
tell({ kind: "end", runs, blocks: coverage.size() })
coverage.close()
