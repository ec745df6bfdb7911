/** The thread that makes reports: verifies the record, writes the report, draws it. */
import type { Explanation } from "@runseal/core/artifacts/explanation"
import { readDocument, verifyRead } from "@runseal/core/verify/document"
import { parseDocument } from "@runseal/core/verify/parsed-text"
import { ENGINE_VERSION } from "@runseal/core/vocabulary/versions"
import type { ReportFormat } from "@runseal/core/wire/run-summaries"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { drawReport } from "@runseal/pdf/draw-report"
import { signatureName } from "../policy/signature-name.ts"
import { answerJobs } from "../threads/answer-jobs.ts"
import { makeReport } from "./make-report.ts"

/** What the main thread asks for. */
export type RenderJob = {
  /** The sealed document as stored. */
  readonly bundle: string
  readonly format: ReportFormat
  /** Address of the service as its operator gave it, without a final slash. */
  readonly base_url?: string
  /** Path of the public bundle; only when the run is published. */
  readonly public_path?: string
  /** Why a gate refused the run, as far as who asks may see that. */
  readonly explanation?: Explanation
  /** The text of the rule that refused it, where they may see that. */
  readonly rule?: string
  /** Unix seconds from which the service key counts that signs the report. */
  readonly key_valid_from: number
  /** The service's own trust: the report says what its own verification found, and that it is its own. */
  readonly trust: TrustedKeys
}

async function render({
  bundle: text,
  format,
  key_valid_from,
  trust,
  ...known
}: RenderJob): Promise<Uint8Array<ArrayBuffer>> {
  const parsed = parseDocument(text)
  const read = readDocument(parsed)
  if ("unreadable" in read || read.forms === undefined) throw new Error("the stored bundle is unreadable")
  const { bundle } = read.forms
  const verification = verifyRead(read, [trust], parsed.known)
  const { mcd_finding: finding } = bundle.sections
  const signature = finding && signatureName(finding.library_hash, finding.matched_signature_id)
  const context = {
    ...known,
    ...(signature === undefined ? {} : { signature }),
    key_valid_from,
    engine_version: ENGINE_VERSION,
    verification,
  }
  const pdf = await drawReport(makeReport(bundle, context, format))
  return Uint8Array.from(pdf)
}

answerJobs(render, pdf => [pdf.buffer])
