/** The thread in which finished texts are verified. Its data is the service's trust document. */
import { workerData } from "node:worker_threads"
import { parseTrust } from "@runseal/log/trust/trust-document"
import { openPacker } from "../store/tables/bundle-text.ts"
import { answerJobs } from "../threads/answer-jobs.ts"
import { type FinishedText, type Judgement, judge } from "./verification.ts"

const trust = parseTrust(workerData)
if ("problem" in trust) throw new Error(`our own trust document is refused: ${trust.problem}`)

const pack = openPacker()

answerJobs(
  (texts: readonly FinishedText[]): Promise<readonly Judgement[]> =>
    Promise.all(texts.map(text => judge(text, trust, pack))),
  judgements => judgements.flatMap(judged => ("packed" in judged && judged.packed ? [judged.packed.buffer] : [])),
)
