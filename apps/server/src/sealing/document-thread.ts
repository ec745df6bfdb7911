/** The thread in which large documents of callers are verified. Its data is the service's trust document. */
import { workerData } from "node:worker_threads"
import { verifyText } from "@runseal/core/verify/document"
import { parseTrust } from "@runseal/log/trust/trust-document"
import { answerJobs } from "../threads/answer-jobs.ts"
import type { DocumentJob } from "./document-check.ts"

const trust = parseTrust(workerData)
if ("problem" in trust) throw new Error(`our own trust document is refused: ${trust.problem}`)

answerJobs((bytes: DocumentJob) => verifyText(bytes, [trust]))
