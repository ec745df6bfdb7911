/** The thread in which finished texts are verified. While it has none, ECDSA is run for the signatures that were put off. */
import { workerData } from "node:worker_threads"
import { VERDICTS } from "@runseal/core/verify/report"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { openPacker } from "../store/tables/bundle-text.ts"
import { answerJobs, postNotice } from "../threads/answer-jobs.ts"
import { openOwnSignatures, type WrongSignature } from "./own-signatures.ts"
import { type FinishedText, type Judgement, judge, unrevoked, type VerifyData, type VerifyJob } from "./verification.ts"

const { document, keys }: VerifyData = workerData
const parsed = parseTrust(document)
if ("problem" in parsed) throw new Error(`our own trust document is refused: ${parsed.problem}`)
const trust: TrustedKeys = parsed

/** A key may have been revoked after it signed what was stored. */
const anyTime = unrevoked(trust)
const pack = openPacker()
const own = openOwnSignatures(keys, (wrong: WrongSignature) => postNotice(wrong))

let isBusy = false
let isWaiting = false

/** One signature in each round of the event loop, so that the next text never waits for more than one. */
function verifyWhenIdle(): void {
  if (isWaiting) return
  isWaiting = true
  setImmediate(() => {
    isWaiting = false
    if (!isBusy && own.verifyOne()) verifyWhenIdle()
  })
}

async function verify(job: VerifyJob): Promise<readonly Judgement[]> {
  if (job === "finish") {
    while (own.verifyOne());
    return []
  }
  own.verifyDue()
  if ("stored" in job) return Promise.all(job.stored.map(text => judge(text, anyTime, pack)))
  own.learn(job.made)
  // A statement is not stored: nothing of it could be verified after a crash.
  const ownOf = ({ verdict }: FinishedText): typeof own | undefined =>
    job.later && verdict !== VERDICTS.export_statement ? own : undefined
  return Promise.all(job.texts.map(text => judge(text, trust, pack, ownOf(text))))
}

answerJobs(
  async (job: VerifyJob): Promise<readonly Judgement[]> => {
    isBusy = true
    return verify(job).finally(() => {
      isBusy = false
      verifyWhenIdle()
    })
  },
  judgements => judgements.flatMap(judged => ("packed" in judged && judged.packed ? [judged.packed.buffer] : [])),
)
