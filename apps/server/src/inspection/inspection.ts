/**
 * Scans and reviews the texts of a run: small texts at once, large ones in a worker thread, because a hostile mebibyte takes
 * seconds and would block every other request. Both find the same.
 */
import { setImmediate } from "node:timers/promises"
import type { ReadPayload } from "@runseal/core/seal/gates/pepg"
import type { Scan } from "@runseal/core/seal/gates/scanned-texts"
import { StageFailure } from "@runseal/core/seal/stage-failure"
import { SCAN_FAILED } from "@runseal/core/vocabulary/stage-faults"
import { unavailable } from "../http-error.ts"
import { type SignatureLibrary, scanTexts } from "../policy/signature-library.ts"
import { type ReviewText, reviewText } from "../review/builtin-rules.ts"
import { ReviewFailure } from "../review/reviewer.ts"
import { JobError, type JobProblem, openJobThread } from "../threads/job-thread.ts"
import { type Inspected, type InspectJob, packTexts, readPayload } from "./inspect-job.ts"

/** Texts of a run with more UTF-16 code units than this are large: scanning fewer takes a millisecond or two. */
export const LARGE_TEXT_UNITS = 32_768
/** A text takes as long as this many code units more, however short it is. */
const UNITS_OF_A_TEXT = 16

export type InspectionBounds = {
  readonly largeUnits: number
  /** UTF-16 code units of large texts that may be queued or running in the thread: their cost grows with their size. */
  readonly waitingUnits: number
  /** Timeout of one job, in milliseconds. Inspection is linear: the slowest mebibyte known takes some seconds. */
  readonly deadlineMs: number
}
const BOUNDS: InspectionBounds = { largeUnits: LARGE_TEXT_UNITS, waitingUnits: 32 * 1_048_576, deadlineMs: 60_000 }
/** Reading is so much faster than scanning: a payload of twice as many units is read in a millisecond or two. */
const READ_TIMES = 2
/** Jobs that may be queued, however small their texts are. */
const WAITING_JOBS = 4096
/** Heap of the thread: the folded forms of the largest request are up to eighteen times as long as the request. */
const INSPECTION_HEAP_MIB = 512

export type Inspection = {
  /** Rejects with StageFailure when the scan failed, with HttpError 503 when the queue is full: never an empty result. */
  readonly scan: Scan
  /** Rejects as `scan`. */
  readonly readPayload: ReadPayload
  /** The built-in review. Rejects with ReviewFailure, or with the error of the rule that failed. */
  readonly review: ReviewText
  /** Refuses queued jobs and ends the thread. */
  readonly close: () => Promise<void>
}

/** The thread starts with the first large text. */
export function openInspection(library: SignatureLibrary, bounds: Partial<InspectionBounds> = {}): Inspection {
  const { largeUnits, waitingUnits, deadlineMs } = { ...BOUNDS, ...bounds }
  const module = new URL("./inspect-thread.ts", import.meta.url)
  const thread = openJobThread<InspectJob, Inspected>(module, {
    waiting: WAITING_JOBS,
    deadlineMs,
    heapMiB: INSPECTION_HEAP_MIB,
  })
  let queuedUnits = 0
  const inThread = async (units: number, job: () => InspectJob): Promise<Inspected> => {
    if (queuedUnits + units > waitingUnits) throw new JobError("busy", "too many large texts are queued")
    queuedUnits += units
    try {
      // Packing takes long, as does what comes before it: other requests are answered in between.
      await setImmediate()
      return await thread.run(job())
    } finally {
      queuedUnits -= units
    }
  }

  const scanned: Scan = async (texts, disabled = []) => {
    const units = texts.reduce((sum, { text }) => sum + text.length, 0)
    if (units + UNITS_OF_A_TEXT * texts.length <= largeUnits) return scanTexts(library, texts, new Set(disabled))
    const found = await inThread(units, () => ({ kind: "scan", texts: packTexts(texts), disabled }))
    if ("match" in found) return found.match
    throw new Error("a scan was answered by a review")
  }
  const payloadRead: ReadPayload = async (text, table) => {
    if (text.length <= READ_TIMES * largeUnits) return readPayload(text, table)
    const found = await inThread(text.length, () => ({ kind: "payload", text, table }))
    if ("payload" in found) return found.payload
    throw new Error("a payload was answered by another job")
  }
  const reviewed: ReviewText = async text => {
    if (text.length <= largeUnits) return reviewText(text)
    const found = await inThread(text.length, () => ({ kind: "review", text }))
    if ("review" in found) return found.review
    throw new Error("a review was answered by a scan")
  }
  const gateFailed = (cause: unknown): never => {
    if (isOverload(cause))
      throw unavailable("Too many large texts wait to be scanned; nothing was recorded. Try again.", "overloaded")
    throw new StageFailure({ stage: "PEPG", message: SCAN_FAILED }, cause)
  }
  return {
    scan: (texts, disabled) => scanned(texts, disabled).catch(gateFailed),
    readPayload: (text, table) => payloadRead(text, table).catch(gateFailed),
    review: text =>
      reviewed(text).catch((cause: unknown) => {
        throw cause instanceof JobError ? reviewFailure(cause) : cause
      }),
    close: thread.close,
  }
}

const isOverload = (cause: unknown): boolean =>
  cause instanceof JobError && (cause.problem === "busy" || cause.problem === "closed")

const REVIEW_FAILURES = { busy: "overloaded", late: "timeout", closed: "unreachable" } as const satisfies Partial<
  Record<JobProblem, unknown>
>

const reviewFailure = (cause: JobError): Error =>
  cause.problem === "failed" || cause.problem === "large" ? cause : new ReviewFailure(REVIEW_FAILURES[cause.problem])
