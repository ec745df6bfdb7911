/** The thread's side of a job thread. */
import { parentPort } from "node:worker_threads"
import type { JobReply } from "./job-thread.ts"

/**
 * Answers every job with what `work` makes of it. A failure's message reaches the main thread, which tells the operator.
 * @param transfer what of a result is handed over instead of copied
 */
export function answerJobs<Job, Result>(
  work: (job: Job) => Promise<Result>,
  transfer: (result: Result) => readonly ArrayBuffer[] = () => [],
): void {
  const port = parentPort
  if (port === null) return
  const reply = (answer: JobReply<Result>, handed: readonly ArrayBuffer[]): void => port.postMessage(answer, handed)
  port.on("message", (job: Job) => {
    work(job).then(
      result => reply({ result }, transfer(result)),
      (error: unknown) => reply({ failure: error instanceof Error ? (error.stack ?? error.message) : "unknown" }, []),
    )
  })
}
