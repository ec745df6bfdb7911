/** The thread's side of a job thread. */
import { parentPort } from "node:worker_threads"
import type { JobReply } from "./job-thread.ts"

/**
 * Answers every job, one after the other, with what `work` makes of it. A failure's message reaches the main thread, which
 * tells the operator.
 * @param transfer what of a result is handed over instead of copied
 */
export function answerJobs<Job, Result>(
  work: (job: Job) => Result | Promise<Result>,
  transfer: (result: Result) => readonly ArrayBuffer[] = () => [],
): void {
  const port = parentPort
  if (port === null) return
  const answer = async (job: Job): Promise<void> => {
    try {
      const result = await work(job)
      const reply: JobReply<Result> = { result }
      port.postMessage(reply, transfer(result))
    } catch (error) {
      const reply: JobReply<Result> = {
        failure: error instanceof Error ? (error.stack ?? error.message) : "unknown",
      }
      port.postMessage(reply)
    }
  }
  let answered = Promise.resolve()
  port.on("message", (job: Job) => {
    answered = answered.then(() => answer(job))
  })
}
