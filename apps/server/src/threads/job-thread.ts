/**
 * A worker thread for long jobs, so that the event loop stays free. It runs one job after the other; its queue is bounded. A job that
 * exceeds its deadline is ended together with its worker. The worker starts with the first job, and again after it was lost.
 */
import { Worker } from "node:worker_threads"

export type JobBounds = {
  /** Jobs that may wait in the queue, besides those that were sent to the worker. */
  readonly waiting: number
  /** Jobs that are sent to the worker ahead, so that it need not wait for the event loop between two; 1 when absent. */
  readonly ahead?: number
  /** Milliseconds one job may run. */
  readonly deadlineMs: number
  /** Heap of the worker, MiB. */
  readonly heapMiB: number
}

/** The worker's answer to a job. Answers come in the order of the jobs. */
export type JobReply<Result> = { readonly result: Result } | { readonly failure: ThrownError }

/** What a worker tells of its own accord, between answers. */
export type ThreadNotice<Notice> = { readonly notice: Notice }

/** What the main thread hears of a worker besides answers. */
export type ThreadEvents<Notice> = {
  readonly notice?: (notice: Notice) => void
  /** Called when a worker was lost, before the next one starts. */
  readonly lost?: () => void
}

/** The parts of a thrown error that can be posted from one thread to another. */
type ThrownError = Pick<Error, "name" | "message"> & { readonly stack: string }

/** Why a job has no result: too many wait, it took too long or too much memory, the service stops, or the work itself failed. */
export type JobProblem = "busy" | "late" | "large" | "closed" | "failed"

export class JobError extends Error {
  override readonly name = "JobError"
  readonly problem: JobProblem

  /** @param message a sentence of this service; the error of the job or of the system is the cause */
  constructor(problem: JobProblem, message: string, cause?: Error) {
    super(message, cause === undefined ? {} : { cause })
    this.problem = problem
  }
}

const isOutOfMemory = (error: Error): boolean => "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"

const workFailed = (thrown: ThrownError): JobError =>
  new JobError("failed", "the work of a thread failed", Object.assign(new Error(thrown.message), thrown))

export type JobThread<Job, Result> = {
  /** Rejects with JobError. */
  readonly run: (job: Job) => Promise<Result>
  /** Rejects every unfinished job and ends the worker. */
  readonly close: () => Promise<void>
}

type Waiting<Job, Result> = {
  readonly job: Job
  readonly resolve: (result: Result) => void
  readonly reject: (error: JobError) => void
}

/** A started worker and the jobs that were sent to it; the first one is running. */
type Started<Job, Result> = { readonly worker: Worker; readonly sentJobs: Waiting<Job, Result>[] }

/**
 * @param module of the worker: it answers every message, a Job, with one JobReply
 * @param data the worker's `workerData`
 */
export function openJobThread<Job, Result, Notice = never>(
  module: URL,
  bounds: JobBounds,
  data?: unknown,
  events: ThreadEvents<Notice> = {},
): JobThread<Job, Result> {
  const { ahead = 1, deadlineMs, heapMiB } = bounds
  const queue: Waiting<Job, Result>[] = []
  let current: Started<Job, Result> | undefined
  let deadline: NodeJS.Timeout | undefined
  let closed = false

  const watchFirst = (watched: Started<Job, Result>): void => {
    clearTimeout(deadline)
    if (watched.sentJobs.length === 0) return
    deadline = setTimeout(() => lose(watched, new JobError("late", "a job took too long")), deadlineMs)
  }
  /** Ends a worker: its running job fails, and the jobs that it had not started go back into the queue. */
  const lose = (lost: Started<Job, Result>, error: JobError): void => {
    if (current !== lost) return
    current = undefined
    clearTimeout(deadline)
    lost.worker.terminate().catch(() => {})
    events.lost?.()
    const [first, ...untouched] = lost.sentJobs
    first?.reject(error)
    queue.unshift(...untouched)
    sendJobs()
  }
  const start = (): Started<Job, Result> => {
    const resourceLimits = { maxOldGenerationSizeMb: heapMiB }
    const worker = new Worker(module, { execArgv: [], resourceLimits, workerData: data })
    const started: Started<Job, Result> = { worker, sentJobs: [] }
    worker.on("message", (reply: JobReply<Result> | ThreadNotice<Notice>) => {
      if ("notice" in reply) return events.notice?.(reply.notice)
      if (current !== started) return
      const done = started.sentJobs.shift()
      if ("result" in reply) done?.resolve(reply.result)
      else done?.reject(workFailed(reply.failure))
      watchFirst(started)
      sendJobs()
    })
    worker.on("error", error =>
      lose(started, new JobError(isOutOfMemory(error) ? "large" : "failed", "the thread failed", error)),
    )
    worker.once("exit", () => lose(started, new JobError("failed", "the thread ended")))
    worker.unref()
    return started
  }
  const sendJobs = (): void => {
    while (queue.length > 0 && (current?.sentJobs.length ?? 0) < ahead) {
      const next = queue.shift()
      if (next === undefined) return
      try {
        current ??= start()
        current.worker.postMessage(next.job)
        if (current.sentJobs.push(next) === 1) watchFirst(current)
      } catch {
        next.reject(new JobError("failed", "the thread could not be used"))
      }
    }
  }

  return {
    run: job =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new JobError("closed", "the service stops"))
        if (queue.length >= bounds.waiting) return reject(new JobError("busy", "too many jobs wait"))
        queue.push({ job, resolve, reject })
        sendJobs()
      }),
    close: async () => {
      closed = true
      clearTimeout(deadline)
      const ending = current
      current = undefined
      for (const { reject } of [...(ending?.sentJobs ?? []), ...queue.splice(0)])
        reject(new JobError("closed", "the service stops"))
      await ending?.worker.terminate()
    },
  }
}
