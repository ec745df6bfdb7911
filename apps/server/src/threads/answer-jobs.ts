/** The worker's side of a job thread. */
import { parentPort } from "node:worker_threads"
import type { JobReply, ThreadNotice } from "./job-thread.ts"

/**
 * Runs `work` on every job, one after the other, and posts its result. An error it throws is posted too, and the main thread reports it.
 * @param transfer the buffers of a result that are transferred to the main thread instead of copied
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
      const { name, message, stack = "" } = error instanceof Error ? error : new Error(typeof error)
      const reply: JobReply<Result> = { failure: { name, message, stack } }
      port.postMessage(reply)
    }
  }
  let answered = Promise.resolve()
  port.on("message", (job: Job) => {
    answered = answered.then(() => answer(job))
  })
}

/** Tells the main thread something that is no answer to a job. */
export function postNotice<Notice>(notice: Notice): void {
  const message: ThreadNotice<Notice> = { notice }
  parentPort?.postMessage(message)
}
