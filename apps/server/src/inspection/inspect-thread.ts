/** The worker thread that scans and reviews large texts, by the rules that the main thread applies to small ones. */

import { compileSignatureLibrary, scanTexts } from "../policy/signature-library.ts"
import { reviewText } from "../review/builtin-rules.ts"
import { answerJobs } from "../threads/answer-jobs.ts"
import { type Inspected, type InspectJob, readPayload, unpackTexts } from "./inspect-job.ts"

const library = compileSignatureLibrary()

async function inspect(job: InspectJob): Promise<Inspected> {
  if (job.kind === "scan") return { match: scanTexts(library, unpackTexts(job.texts), new Set(job.disabled)) }
  return job.kind === "review" ? { review: reviewText(job.text) } : { payload: readPayload(job.text, job.table) }
}

answerJobs(inspect)
