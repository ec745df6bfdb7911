/** Reports are made one at a time, off the event loop. docs/api.md, "GET /runs/{id}/report.pdf". */
import type { CertificateFacts } from "@runseal/core/report-pdf/signature-der"
import { JobError, openJobThread } from "../threads/job-thread.ts"
import type { RenderJob } from "./render-thread.ts"
import { reportSigner, type SignBytes } from "./sign-report.ts"

/** Reports that may wait for the one being made: some seconds of work. */
const REPORTS_WAITING_MAX = 16
/** Reports of one caller that are made or wait, so that nobody keeps all others from theirs. */
export const REPORTS_PER_CALLER_MAX = 4
/** The longest report, of thousands of approvers, takes seconds. */
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
 * The thread starts with the first report that is asked for. It holds no key: what it has drawn is signed here.
 * @param facts of the certificate of the key that signs
 */
export function openRenderer(facts: CertificateFacts, signBytes: SignBytes): Renderer {
  const sign = reportSigner(facts, signBytes)
  const { run, close } = openJobThread<RenderJob, Uint8Array<ArrayBuffer>>(
    new URL("./render-thread.ts", import.meta.url),
    { waiting: REPORTS_WAITING_MAX, deadlineMs: REPORT_DEADLINE_MS, heapMiB: REPORT_HEAP_MIB },
  )
  // A caller stands here only while reports of his are under way: the thread's queue bounds it.
  const underWay = new Map<number, number>()
  const change = (owner: number, by: 1 | -1): void => {
    const count = (underWay.get(owner) ?? 0) + by
    if (count === 0) underWay.delete(owner)
    else underWay.set(owner, count)
  }
  return {
    render: async (owner, job) => {
      if ((underWay.get(owner) ?? 0) >= REPORTS_PER_CALLER_MAX) throw new JobError("busy", "too many of one caller")
      change(owner, 1)
      return await run({ ...job, key_valid_from: facts.validFrom })
        .then(sign)
        .finally(() => change(owner, -1))
    },
    close,
  }
}
