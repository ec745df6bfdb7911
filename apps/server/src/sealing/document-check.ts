/** Verifies large documents of callers in a thread, so that they do not block the event loop. */
import type { JsonObject } from "@runseal/canonical"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import type { Report } from "@runseal/core/verify/report"
import { openJobThread } from "../threads/job-thread.ts"

/** Bytes as they were received: strict JSON of an object, or not. */
export type DocumentJob = Uint8Array

export type CheckDocument = (bytes: Uint8Array) => Promise<Report | Unreadable>

/** The queue is bounded by the memory limit for request bodies as well. The slowest document known takes two seconds. */
const BOUNDS = { waiting: 64, deadlineMs: 60_000, heapMiB: 512 }

/**
 * The thread starts with the first large document.
 * @param document the service's trust document
 */
export function openDocumentCheck(document: JsonObject): {
  /** Rejects with JobError. */
  readonly check: CheckDocument
  readonly close: () => Promise<void>
} {
  const module = new URL("./document-thread.ts", import.meta.url)
  const { run, close } = openJobThread<DocumentJob, Report | Unreadable>(module, BOUNDS, document)
  return { check: run, close }
}
