/**
 * A thread for long work, so that the event loop stays free: it takes one job after the other, a bounded number waits, and
 * a job that takes too long ends with its thread. The thread starts with its first job and again after it was lost.
 */
import { Worker } from "node:worker_threads"

export type JobBounds = {
  /** Jobs that may wait beside those handed to the thread. */
  readonly waiting: number
  /** Jobs the thread is handed at once, so that it need not wait for the event loop between two; 1 when absent. */
  readonly ahead?: number
  /** Milliseconds one job may run. */
  readonly deadlineMs: number
  /** Heap of the thread, MiB. */
  readonly heapMiB: number
}

/** What the thread answers to a job, in the order in which it was handed them. */
export type JobReply<Result> = { readonly result: Result } | { readonly failure: ThrownError }

/** What the work threw, in the parts that go from one thread to another. */
type ThrownError = Pick<Error, "name" | "message"> & { readonly stack: string }

/** Why a job has no result: too many wait, it took too long, the service stops, or the work itself failed. */
export type JobProblem = "busy" | "late" | "closed" | "failed"

export class JobError extends Error {
  override readonly name = "JobError"
  readonly problem: JobProblem

  /** @param message of this service; what the work or the system said is the cause */
  constructor(problem: JobProblem, message: string, cause?: Error) {
    super(message, cause === undefined ? {} : { cause })
    this.problem = problem
  }
}

const workFailed = (thrown: ThrownError): JobError =>
  new JobError("failed", "the work of a thread failed", Object.assign(new Error(thrown.message), thrown))

export type JobThread<Job, Result> = {
  /** Rejects with JobError. */
  readonly run: (job: Job) => Promise<Result>
  /** Refuses what is not done, ends the thread. */
  readonly close: () => Promise<void>
}

type Waiting<Job, Result> = {
  readonly job: Job
  readonly resolve: (result: Result) => void
  readonly reject: (error: JobError) => void
}

/** A started thread and what it was handed, the job it works on first. */
type Hand<Job, Result> = { readonly worker: Worker; readonly handed: Waiting<Job, Result>[] }

/**
 * @param module of the thread: it answers every message, a Job, with one JobReply
 * @param data what the thread finds as its `workerData`
 */
export function openJobThread<Job, Result>(module: URL, bounds: JobBounds, data?: unknown): JobThread<Job, Result> {
  const { ahead = 1, deadlineMs, heapMiB } = bounds
  const queue: Waiting<Job, Result>[] = []
  let hand: Hand<Job, Result> | undefined
  let deadline: NodeJS.Timeout | undefined
  let closed = false

  const watchFirst = (watched: Hand<Job, Result>): void => {
    clearTimeout(deadline)
    if (watched.handed.length === 0) return
    deadline = setTimeout(() => lose(watched, new JobError("late", "a job took too long")), deadlineMs)
  }
  /** Ends a thread: the job it worked on fails with it, what it had not begun waits for the next. */
  const lose = (lost: Hand<Job, Result>, error: JobError): void => {
    if (hand !== lost) return
    hand = undefined
    clearTimeout(deadline)
    lost.worker.terminate().catch(() => {})
    const [first, ...untouched] = lost.handed
    first?.reject(error)
    queue.unshift(...untouched)
    handOver()
  }
  const start = (): Hand<Job, Result> => {
    const resourceLimits = { maxOldGenerationSizeMb: heapMiB }
    const worker = new Worker(module, { execArgv: [], resourceLimits, workerData: data })
    const started: Hand<Job, Result> = { worker, handed: [] }
    worker.on("message", (reply: JobReply<Result>) => {
      if (hand !== started) return
      const done = started.handed.shift()
      if ("result" in reply) done?.resolve(reply.result)
      else done?.reject(workFailed(reply.failure))
      watchFirst(started)
      handOver()
    })
    worker.on("error", error => lose(started, new JobError("failed", "the thread failed", error)))
    worker.once("exit", () => lose(started, new JobError("failed", "the thread ended")))
    worker.unref()
    return started
  }
  const handOver = (): void => {
    while (queue.length > 0 && (hand?.handed.length ?? 0) < ahead) {
      const next = queue.shift()
      if (next === undefined) return
      try {
        hand ??= start()
        hand.worker.postMessage(next.job)
        if (hand.handed.push(next) === 1) watchFirst(hand)
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
        handOver()
      }),
    close: async () => {
      closed = true
      clearTimeout(deadline)
      const ending = hand
      hand = undefined
      for (const { reject } of [...(ending?.handed ?? []), ...queue.splice(0)])
        reject(new JobError("closed", "the service stops"))
      await ending?.worker.terminate()
    },
  }
}
