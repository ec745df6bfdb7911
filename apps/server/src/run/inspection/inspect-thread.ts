/** The worker thread that scans and reviews large texts, by the rules that the main thread applies to small ones. */
import { answerJobs } from "../../threads/answer-jobs.ts"
import { scanTexts } from "../policy/scan.ts"
import { compileSignatureLibrary } from "../policy/signature-library.ts"
import { reviewText } from "../review/builtin-rules.ts"
import { type Inspected, type InspectJob, unpackTexts } from "./inspect-job.ts"

const library = compileSignatureLibrary()

const inspect = async (job: InspectJob): Promise<Inspected> =>
  job.kind === "scan"
    ? { match: scanTexts(library, unpackTexts(job.texts), new Set(job.disabled)) }
    : { review: reviewText(job.text) }

answerJobs(inspect)
