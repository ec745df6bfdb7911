/** Reports are made one at a time, off the event loop. Specification, "GET /runs/{id}/report.pdf". */
import { type JobThread, openJobThread } from "../threads/job-thread.ts"
import type { RenderJob } from "./render-job.ts"

/** Reports that may wait for the one being made: some seconds of work. */
export const REPORTS_WAITING_MAX = 16
/** The longest report, of thousands of approvers, takes seconds. */
const REPORT_DEADLINE_MS = 60_000
const REPORT_HEAP_MIB = 512

/** PDF bytes for a job. */
export type Renderer = JobThread<RenderJob, Uint8Array<ArrayBuffer>>

/** The thread starts with the first report that is asked for. */
export const openRenderer = (): Renderer =>
  openJobThread(new URL("./render-thread.ts", import.meta.url), {
    waiting: REPORTS_WAITING_MAX,
    deadlineMs: REPORT_DEADLINE_MS,
    heapMiB: REPORT_HEAP_MIB,
  })
