/**
 * Verifies every text of a batch as it will be stored, with the auditor's own verifier; a text that it does not accept is not
 * committed. docs/formats.md section 16; decision 0041.
 */
import { availableParallelism } from "node:os"
import type { JsonObject } from "@runseal/canonical"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { Verdict } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { packBundle } from "../store/tables/bundle-text.ts"
import { type JobBounds, openJobThread } from "../threads/job-thread.ts"

/** A text that is to be stored. */
export type FinishedText = {
  /** Or its UTF-8 bytes, which are quicker to send to a thread, to hash and to pack. */
  readonly text: string | Uint8Array
  /** The verdict it must get. */
  readonly verdict: Verdict
  /** Whether its packed form is wanted: the thread that reads the text packs it as well. */
  readonly pack: boolean
}

/** Why a text must not be stored, for the operator; or its packed form, where that was asked for. */
export type Judgement = { readonly objection: string } | { readonly packed: Uint8Array<ArrayBuffer> | undefined }

/** One judgement for each text, in their order. Rejects when the verifier could not be asked. */
export type VerifyTexts = (texts: readonly FinishedText[]) => Promise<readonly Judgement[]>

/** Gives a text's packed form. */
type Pack = (text: FinishedText["text"]) => Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>

/** Verifies a text. */
export async function judge(finished: FinishedText, trust: TrustedKeys, pack: Pack): Promise<Judgement> {
  const objection = objectionTo(finished, trust)
  if (objection !== undefined) return { objection }
  return { packed: finished.pack ? await pack(finished.text) : undefined }
}

function objectionTo({ text, verdict }: FinishedText, trust: TrustedKeys): string | undefined {
  const report = verifyText(text, [trust])
  if (isUnreadable(report)) return `it is not readable: ${report.unreadable}`
  if (report.verdict === verdict) return undefined
  const failure = report.checks.find(check => check.result === "fail")
  return `it does not verify: ${failure?.id} ${failure?.message}`
}

/** The verifier on the calling thread: for one record at a time. */
export const verifyHere =
  (trust: TrustedKeys): VerifyTexts =>
  texts =>
    Promise.all(texts.map(text => judge(text, trust, packBundle)))

/** More threads than these would be idle: one thread makes all that they verify. */
const MAX_THREADS = 4
const BOUNDS: JobBounds = {
  // A batch has at most 256 documents, in several calls; one batch is under way at a time.
  waiting: 256,
  ahead: 4,
  deadlineMs: 60_000,
  heapMiB: 512,
}

export type Verification = { readonly verify: VerifyTexts; readonly close: () => Promise<void> }

/**
 * The verifier in threads of its own: the event loop is not blocked, and other processors are used.
 * @param document the service's trust document
 */
export function openVerification(document: JsonObject): Verification {
  const module = new URL("./verify-thread.ts", import.meta.url)
  // As many as processors: the event loop is idle while a batch waits for them.
  const count = Math.min(availableParallelism(), MAX_THREADS)
  const threads = Array.from({ length: count }, () =>
    openJobThread<readonly FinishedText[], readonly Judgement[]>(module, BOUNDS, document),
  )
  let calls = 0
  return {
    verify: async texts => {
      const thread = threads[calls++ % threads.length]
      if (thread === undefined) throw new Error("there is at least one thread")
      return thread.run(texts)
    },
    close: async () => {
      await Promise.all(threads.map(thread => thread.close()))
    },
  }
}
