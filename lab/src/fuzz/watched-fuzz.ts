/** Fuzzes one target in a thread, which is terminated when an input hangs or takes all memory; both are finds. */
import { Worker } from "node:worker_threads"
import type { Find } from "./fuzz-loop.ts"
import { jobMemory, lastInput, startedInputs, type ThreadJob, type ThreadMessage } from "./thread-job.ts"

/** An input that takes longer hangs: the largest ones take some seconds on a busy machine. */
const HANG_MS = 60_000
const POLL_MS = 1000
/** Heap limit of the thread; the code under test needs far less. */
const MAX_HEAP_MB = 1024

export type Outcome = {
  readonly finds: readonly Find[]
  /** Inputs that reached new code. */
  readonly added: readonly Uint8Array[]
  readonly runs: number
  /** Blocks of code reached; unknown when the thread was terminated. */
  readonly blocks?: number
}

/** Runs until the time is over or the first hang. */
export async function watchedFuzz(given: Omit<ThreadJob, "state" | "input">): Promise<Outcome> {
  const job: ThreadJob = { ...given, ...jobMemory() }
  const finds: Find[] = []
  const added: Uint8Array[] = []
  let end: { readonly runs: number; readonly blocks: number } | undefined
  const thread = new Worker(new URL("fuzz-thread.ts", import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const died = new Promise<string | undefined>(resolve => {
    thread.on("message", (message: ThreadMessage) => {
      if (message.kind === "find") finds.push(message)
      else if (message.kind === "added") added.push(message.input)
      else end = message
    })
    thread.on("error", error => resolve(`the thread ended: ${error.message}`))
    thread.on("exit", () => resolve(undefined))
  })
  const problem = await Promise.race([died, hangs(job)])
  await thread.terminate()
  if (problem !== undefined) finds.push({ input: lastInput(job), problem })
  return { finds, added, runs: end?.runs ?? startedInputs(job), ...(end === undefined ? {} : { blocks: end.blocks }) }
}

/** Resolves when no new input was started for too long. */
function hangs(job: ThreadJob): Promise<string> {
  return new Promise(resolve => {
    let known = -1
    let since = Date.now()
    const look = setInterval(() => {
      const now = startedInputs(job)
      if (now !== known) [known, since] = [now, Date.now()]
      if (Date.now() - since < HANG_MS) return
      clearInterval(look)
      resolve(`an input took more than ${HANG_MS / 1000} s`)
    }, POLL_MS)
    look.unref()
  })
}
