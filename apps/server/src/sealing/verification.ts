/**
 * The auditor's own verifier has the last word: it reads every text of a batch as it will be stored, and what it does not
 * accept is not committed. docs/formats.md section 16; decision 0041.
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
  /** Or its UTF-8 bytes, which are quicker to hand over, to hash and to pack. */
  readonly text: string | Uint8Array
  /** What the verifier must say of it. */
  readonly verdict: Verdict
  /** Whether its packed form is wanted: who reads the text anyway packs it as well. */
  readonly pack: boolean
}

/** Why a text must not be stored, for the operator; or that it may, with its packed form where that was asked for. */
export type Judgement = { readonly objection: string } | { readonly packed: Uint8Array<ArrayBuffer> | undefined }

/** One judgement for each text, in their order. Rejects when the verifier could not be asked. */
export type VerifyTexts = (texts: readonly FinishedText[]) => Promise<readonly Judgement[]>

/** Gives a text's packed form. */
type Pack = (text: FinishedText["text"]) => Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>

/** What the verifier says of a text. */
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

/** The verifier on the thread that asks: for one record at a time. */
export const verifyHere =
  (trust: TrustedKeys): VerifyTexts =>
  texts =>
    Promise.all(texts.map(text => judge(text, trust, packBundle)))

/** More than these wait for the one thread that makes what they verify. */
const MAX_THREADS = 4
const BOUNDS: JobBounds = {
  // A batch has 256 documents, handed over in parts; one batch is under way at a time.
  waiting: 256,
  ahead: 4,
  deadlineMs: 60_000,
  heapMiB: 512,
}

export type Verification = { readonly verify: VerifyTexts; readonly close: () => Promise<void> }

/**
 * The verifier in threads of its own, so that the event loop goes on and other processors help.
 * @param document the service's trust document
 */
export function openVerification(document: JsonObject): Verification {
  const module = new URL("./verify-thread.ts", import.meta.url)
  // As many as processors: whoever waits for them has nothing else to do.
  const count = Math.min(availableParallelism(), MAX_THREADS)
  const threads = Array.from({ length: count }, () =>
    openJobThread<readonly FinishedText[], readonly Judgement[]>(module, BOUNDS, document),
  )
  let turn = 0
  return {
    verify: async texts => {
      const thread = threads[turn++ % threads.length]
      if (thread === undefined) throw new Error("there is at least one thread")
      return thread.run(texts)
    },
    close: async () => {
      await Promise.all(threads.map(thread => thread.close()))
    },
  }
}
