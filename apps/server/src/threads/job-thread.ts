/**
 * A thread for long work, so that the event loop stays free: it takes one job after the other, a bounded number waits, and
 * a job that takes too long ends with its thread. The thread starts with its first job and again after it was lost.
 */
import { Worker } from "node:worker_threads"

export type JobBounds = {
  /** Jobs that may wait beside the one that runs. */
  readonly waiting: number
  /** Milliseconds one job may run. */
  readonly deadlineMs: number
  /** Heap of the thread, MiB. */
  readonly heapMiB: number
}

/** What the thread answers to a job. */
export type JobReply<Result> = { readonly result: Result } | { readonly failure: string }

/** Why a job has no result: too many wait, it took too long, the service stops, or the work itself failed. */
export type JobProblem = "busy" | "late" | "closed" | "failed"

export class JobError extends Error {
  override readonly name = "JobError"
  readonly problem: JobProblem

  constructor(problem: JobProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

export type JobThread<Job, Result> = {
  /** Rejects with JobError. */
  readonly run: (job: Job) => Promise<Result>
  /** Refuses what waits, ends the thread. */
  readonly close: () => Promise<void>
}

type Waiting<Job, Result> = {
  readonly job: Job
  readonly resolve: (result: Result) => void
  readonly reject: (error: JobError) => void
}

/** @param module of the thread: it answers every message, a Job, with one JobReply. */
export function openJobThread<Job, Result>(module: URL, bounds: JobBounds): JobThread<Job, Result> {
  const queue: Waiting<Job, Result>[] = []
  let worker: Worker | undefined
  let running: Promise<void> | undefined
  let closed = false

  const thread = (): Worker => {
    if (worker !== undefined) return worker
    const started = new Worker(module, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: bounds.heapMiB } })
    // Lost between two jobs: the next one starts another. What is lost within a job is told to that job.
    started.on("error", () => {})
    started.once("exit", () => {
      if (worker === started) worker = undefined
    })
    started.unref()
    worker = started
    return started
  }
  const end = async (): Promise<void> => {
    const ending = worker
    worker = undefined
    await ending?.terminate()
  }

  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { job, resolve, reject } = next
      try {
        resolve(await answerOf<Job, Result>(thread(), job, bounds.deadlineMs))
      } catch (error) {
        const problem = error instanceof JobError ? error : new JobError("failed", "the thread could not be used")
        if (problem.problem === "late") await end()
        reject(problem)
      }
    }
    running = undefined
  }

  return {
    run: job =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new JobError("closed", "the service stops"))
        if (queue.length >= bounds.waiting) return reject(new JobError("busy", "too many jobs wait"))
        queue.push({ job, resolve, reject })
        running ??= Promise.resolve().then(work)
      }),
    close: async () => {
      closed = true
      for (const { reject } of queue.splice(0)) reject(new JobError("closed", "the service stops"))
      await end()
      await running
    },
  }
}

/** One job's answer; whatever ends the thread ends the job. */
function answerOf<Job, Result>(worker: Worker, job: Job, deadlineMs: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(deadline)
      worker.off("message", onReply).off("error", onError).off("exit", onExit)
      finish()
    }
    const onReply = (reply: JobReply<Result>): void =>
      settle(() => ("result" in reply ? resolve(reply.result) : reject(new JobError("failed", reply.failure))))
    const onError = (error: Error): void => settle(() => reject(new JobError("failed", error.message)))
    const onExit = (): void => settle(() => reject(new JobError("failed", "the thread ended")))
    const deadline = setTimeout(() => settle(() => reject(new JobError("late", "a job took too long"))), deadlineMs)
    worker.on("message", onReply).on("error", onError).on("exit", onExit)
    worker.postMessage(job)
  })
}
