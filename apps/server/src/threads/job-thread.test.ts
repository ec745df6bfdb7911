import { afterEach, describe, expect, test } from "vitest"
import { type JobBounds, JobError, type JobThread, openJobThread } from "./job-thread.ts"

type Job = {
  readonly say?: string
  readonly fail?: string
  readonly exit?: true
  readonly hang?: true
  readonly fill?: true
}

/** Echoes; a job can also fail, end the thread or never answer. */
const ECHO = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from "node:worker_threads"
    let count = 0
    parentPort.on("message", job => {
      if (job.exit) process.exit(3)
      if (job.hang) for (;;);
      if (job.fill) for (let kept; ; ) kept = { kept }
      parentPort.postMessage(job.fail === undefined ? { result: [job.say, ++count] } : { failure: { name: "Error", message: job.fail, stack: "" } })
    })`)}`,
)

const BOUNDS: JobBounds = { waiting: 3, deadlineMs: 60_000, heapMiB: 64 }
const opened: JobThread<Job, readonly [string, number]>[] = []
function open(bounds: Partial<JobBounds> = {}): JobThread<Job, readonly [string, number]> {
  const thread = openJobThread<Job, readonly [string, number]>(ECHO, { ...BOUNDS, ...bounds })
  opened.push(thread)
  return thread
}

const problemOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof JobError ? error.problem : error),
  )

afterEach(async () => {
  await Promise.all(opened.splice(0).map(thread => thread.close()))
})

describe("a job thread", () => {
  test("answers jobs in the order of their arrival, in one thread", async () => {
    const { run } = open()
    expect(await Promise.all([run({ say: "a" }), run({ say: "b" }), run({ say: "c" })])).toEqual([
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ])
  })

  test("has a bounded queue and refuses further jobs at once", async () => {
    const { run } = open()
    const jobs = Array.from({ length: 6 }, (_, i) => problemOf(run({ say: `${i}` })))
    expect(await Promise.all(jobs)).toEqual(["none", "none", "none", "none", "busy", "busy"])
  })

  test("rejects only the job that failed", async () => {
    const { run } = open()
    const [bad, good] = [problemOf(run({ fail: "no" })), run({ say: "after" })]
    expect(await bad).toBe("failed")
    await expect(run({ fail: "geheim" })).rejects.toMatchObject({
      message: "the work of a thread failed",
      cause: { message: "geheim" },
    })
    expect(await good).toEqual(["after", 1])
  })

  test("starts again after its worker ended during a job", async () => {
    const { run } = open()
    expect(await problemOf(run({ exit: true }))).toBe("failed")
    expect(await run({ say: "again" })).toEqual(["again", 1])
  })

  test("ends a job that exceeds its deadline, and its worker with it", async () => {
    const { run } = open({ deadlineMs: 4000 })
    const [late, next] = [problemOf(run({ hang: true })), run({ say: "next" })]
    expect(await late).toBe("late")
    expect(await next).toEqual(["next", 1])
  })

  test("ends a job that needs more memory than its worker may have, and starts again", async () => {
    const { run } = open()
    expect(await problemOf(run({ fill: true }))).toBe("large")
    expect(await run({ say: "again" })).toEqual(["again", 1])
  })

  test("gets several jobs ahead, and the jobs that a lost worker had not started go to the next one", async () => {
    const { run } = open({ ahead: 3, waiting: 1 })
    const jobs = [run({ say: "a" }), run({ exit: true }), run({ say: "b" }), run({ say: "c" })].map(problemOf)
    expect(await problemOf(run({ say: "d" }))).toBe("busy")
    expect(await Promise.all(jobs)).toEqual(["none", "failed", "none", "none"])
  })

  test("rejects unfinished jobs when it is closed, and every later one", async () => {
    const { run, close } = open()
    const jobs = [problemOf(run({ hang: true })), problemOf(run({ say: "waits" }))]
    await close()
    expect(await Promise.all(jobs)).toEqual(["closed", "closed"])
    expect(await problemOf(run({ say: "late" }))).toBe("closed")
  })
})
