/**
 * Verifies every text of a batch as it will be stored, with the auditor's own verifier; a text that it does not accept is not
 * committed. docs/formats.md section 16; decisions 0041 and 0155.
 */
import { availableParallelism } from "node:os"
import type { JsonObject } from "@runseal/canonical"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { Verdict } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { packBundle } from "../store/tables/bundle-text.ts"
import { type JobBounds, openJobThread } from "../threads/job-thread.ts"
import type { MadeSignature, MadeSignatures, OwnKeys, OwnSignatures, WrongSignature } from "./own-signatures.ts"

/** A text that is to be stored. */
export type FinishedText = {
  /** Or its UTF-8 bytes, which are quicker to send to a thread, to hash and to pack. */
  readonly text: string | Uint8Array
  /** The verdict it must get. */
  readonly verdict: Verdict
  /** Whether its packed form is wanted: the thread that reads the text packs it as well. */
  readonly pack: boolean
  /** Whether it is the one of its batch that is chosen at random: ECDSA is run for one signature of each key before the answer. */
  readonly sampled?: boolean
}

/** Why a text must not be stored, for the operator; or its packed form, where that was asked for. */
export type Judgement =
  | { readonly objection: string; readonly unreadable?: true }
  | { readonly packed: Uint8Array<ArrayBuffer> | undefined }

/** One judgement for each text, in their order. Rejects when the verifier could not be asked. */
export type VerifyTexts = (texts: readonly FinishedText[]) => Promise<readonly Judgement[]>

/** Gives a text's packed form. */
type Pack = (text: FinishedText["text"]) => Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>

/** Verifies a text. @param own absent: ECDSA is run for every signature */
export async function judge(
  finished: FinishedText,
  trust: TrustedKeys,
  pack: Pack,
  own?: OwnSignatures,
): Promise<Judgement> {
  const objection = objectionTo(finished, trust, own)
  if (objection !== undefined) return objection
  return { packed: finished.pack ? await pack(finished.text) : undefined }
}

function objectionTo(
  { text, verdict, sampled = false }: FinishedText,
  trust: TrustedKeys,
  own?: OwnSignatures,
): Extract<Judgement, { readonly objection: string }> | undefined {
  const signatures = own?.ofText()
  const report = verifyText(text, [
    signatures === undefined ? trust : { ...trust, verifySignature: signatures.verifySignature },
  ])
  if (isUnreadable(report)) return { objection: `it is not readable: ${report.unreadable}`, unreadable: true }
  if (report.verdict === verdict)
    return signatures?.accept(sampled) === false ? { objection: "a signature is not one of its key" } : undefined
  const failure = report.checks.find(check => check.result === "fail")
  return { objection: `it does not verify: ${failure?.id} ${failure?.message}` }
}

/**
 * The same keys as if none were revoked: a record that verifies only with these was not changed. Of a log key the trust document
 * does not distinguish revocation from retirement.
 */
export const unrevoked = (trust: TrustedKeys): TrustedKeys => ({
  ...trust,
  serviceKeys: trust.serviceKeys.map(({ revokedFrom: _, ...key }) => key),
  logKeys: trust.logKeys.map(({ validTo: _, ...key }) => key),
})

/** The verifier on the calling thread: for one record at a time. */
export const verifyHere =
  (trust: TrustedKeys): VerifyTexts =>
  texts =>
    Promise.all(texts.map(text => judge(text, trust, packBundle)))

/** More would be idle: one thread makes all that they verify. */
const MAX_THREADS = 16
const BOUNDS: JobBounds = {
  // A batch has at most 256 documents, in several calls; two batches are under way at most.
  waiting: 256,
  ahead: 4,
  deadlineMs: 60_000,
  heapMiB: 512,
}

/** Texts for a thread, or the order to run ECDSA for all that it has put off. */
export type VerifyJob =
  | {
      readonly texts: readonly FinishedText[]
      /** What the signers returned since the thread's last job. */
      readonly made: readonly MadeSignature[]
      /** Whether ECDSA may be run after the answer. */
      readonly later: boolean
    }
  /** Texts that were stored before. */
  | { readonly stored: readonly FinishedText[] }
  | "finish"

/** What a thread is given when it starts. */
export type VerifyData = { readonly document: JsonObject; readonly keys: OwnKeys }

type VerificationEvents = {
  /** A signature that was committed does not verify. */
  readonly wrong: (found: WrongSignature) => void
  /** A thread was lost, with what it had put off. */
  readonly lost: () => void
}

export type Verification = {
  readonly verify: VerifyTexts
  /** Verifies texts that were stored before, ECDSA included. */
  readonly verifyStored: VerifyTexts
  /** Whether nothing is being verified. */
  readonly isIdle: () => boolean
  /** Runs ECDSA for all that was put off, then ends the threads. */
  readonly close: () => Promise<void>
}

/**
 * The verifier in threads of its own: the event loop is not blocked, and other processors are used. As many as processors: the event
 * loop is idle while a batch waits for them.
 * @param document the service's trust document
 * @param made what the log's keys sign
 */
export function openVerification(document: JsonObject, made: MadeSignatures, events: VerificationEvents): Verification {
  const module = new URL("./verify-thread.ts", import.meta.url)
  const { service, log } = made.log.keys
  const keys: OwnKeys = { service: service.spki, log: log.spki, serviceIsVerified: service.isElsewhere }
  const data: VerifyData = { document, keys }
  let [calls, underWay, isSound] = [0, 0, true]
  const noteWrong = (found: WrongSignature): void => {
    isSound = false
    events.wrong(found)
  }
  const threads = Array.from({ length: Math.min(availableParallelism(), MAX_THREADS) }, () => ({
    ...openJobThread<VerifyJob, readonly Judgement[], WrongSignature>(module, BOUNDS, data, {
      notice: noteWrong,
      lost: events.lost,
    }),
    /** Number of signatures that were sent to it; undefined before its first text. */
    sent: undefined as number | undefined,
  }))
  const run = async (job: (thread: (typeof threads)[number]) => VerifyJob): Promise<readonly Judgement[]> => {
    const thread = threads[calls++ % threads.length]
    if (thread === undefined) throw new Error("there is at least one thread")
    underWay++
    return thread.run(job(thread)).finally(() => underWay--)
  }
  return {
    verify: texts =>
      run(thread => {
        const news = made.after(thread.sent ?? 0)
        thread.sent = made.count()
        return { texts, made: news, later: isSound }
      }),
    verifyStored: stored => run(() => ({ stored })),
    isIdle: () => underWay === 0,
    close: async () => {
      const used = threads.filter(({ sent }) => sent !== undefined)
      await Promise.all(used.map(thread => thread.run("finish").catch(() => [])))
      await Promise.all(threads.map(thread => thread.close()))
    },
  }
}
