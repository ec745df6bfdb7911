/** The thread that looks through large texts, by the same rules as the main thread looks through small ones. */

import { answerJobs } from "../../threads/answer-jobs.ts"
import { scanTexts } from "../policy/scan.ts"
import { compileSignatureLibrary } from "../policy/signature-library.ts"
import { reviewText } from "../review/builtin-rules.ts"
import { type Inspected, type InspectJob, unpackTexts } from "./inspect-job.ts"

const library = compileSignatureLibrary()

const inspect = async (job: InspectJob): Promise<Inspected> =>
  job.kind === "scan" ? { match: scanTexts(library, unpackTexts(job.texts)) } : { review: reviewText(job.text) }

answerJobs(inspect)
