/** Reports are made one at a time, off the event loop. docs/api.md, "GET /runs/{id}/report.pdf". */

import { sha256 } from "@runseal/canonical"
import { signedBytes, withSignature } from "@runseal/core/report-pdf/report-layout"
import {
  type CertificateFacts,
  certificateBody,
  certificateDer,
  signedAttributes,
  signedDataDer,
} from "@runseal/core/report-pdf/signature-der"
import { JobError, openJobThread } from "../threads/job-thread.ts"
import type { RenderJob } from "./render-thread.ts"

/** Length of the queue: some seconds of work. */
const REPORTS_WAITING_MAX = 16
/** Reports of one caller that are being made or in the queue: one caller cannot fill the queue. */
export const REPORTS_PER_CALLER_MAX = 4
/** The longest report known, of a mebibyte of declared text, takes some ten seconds. */
const REPORT_DEADLINE_MS = 60_000
const REPORT_HEAP_MIB = 512

/** What a route asks for. */
type ReportJob = Omit<RenderJob, "key_valid_from">

export type Renderer = {
  /** The signed report as a PDF, for the key of that id (0 = anonymous). Rejects with JobError, or with SignerFailure. */
  readonly render: (owner: number, job: ReportJob) => Promise<Uint8Array<ArrayBuffer>>
  readonly close: () => Promise<void>
}

/**
 * The thread starts with the first report. It holds no key: the main thread signs what it has drawn.
 * @param facts of the certificate of the key that signs
 */
export function openRenderer(facts: CertificateFacts, signBytes: SignBytes): Renderer {
  const sign = reportSigner(facts, signBytes)
  const { run, close } = openJobThread<RenderJob, Uint8Array<ArrayBuffer>>(
    new URL("./render-thread.ts", import.meta.url),
    { waiting: REPORTS_WAITING_MAX, deadlineMs: REPORT_DEADLINE_MS, heapMiB: REPORT_HEAP_MIB },
  )
  // Reports being made or in the queue, by caller. The length of the queue bounds this map.
  const pending = new Map<number, number>()
  const change = (owner: number, by: 1 | -1): void => {
    const count = (pending.get(owner) ?? 0) + by
    if (count === 0) pending.delete(owner)
    else pending.set(owner, count)
  }
  return {
    render: async (owner, job) => {
      if ((pending.get(owner) ?? 0) >= REPORTS_PER_CALLER_MAX) throw new JobError("busy", "too many of one caller")
      change(owner, 1)
      return await run({ ...job, key_valid_from: facts.validFrom })
        .then(sign)
        .finally(() => change(owner, -1))
    },
    close,
  }
}

// Signs reports with the service key: PAdES baseline B-B, docs/formats.md section 11. What the key signs here is DER, which
// begins with 0x30 or 0x31: it can be taken for no leaf, which is a JSON text, for no checkpoint and for no DSSE encoding.

/** Signs, the same message always with the same bytes. */
type SignBytes = (message: Uint8Array) => Promise<Uint8Array>

/** A report as it was drawn, with its signature. */
export type SignReport = (drawn: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>

/** Signs reports. Rejects with whatever `sign` rejects with; then nothing was signed, and the next report tries again. */
export function reportSigner(facts: CertificateFacts, sign: SignBytes): SignReport {
  let made: Promise<Uint8Array> | undefined
  const make = async (): Promise<Uint8Array> => certificateDer(facts, await sign(certificateBody(facts)))
  const certificateOnce = async (): Promise<Uint8Array> => {
    made ??= make()
    try {
      return await made
    } catch (error) {
      made = undefined
      throw error
    }
  }
  return async drawn => {
    const certificate = await certificateOnce()
    const digest = sha256(signedBytes(drawn))
    const signature = await sign(signedAttributes(digest, certificate))
    return withSignature(drawn, signedDataDer({ facts, certificate, digest, signature }))
  }
}
