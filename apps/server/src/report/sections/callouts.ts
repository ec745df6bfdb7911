/** Parts 2 and 3: enforcement, not observation; and how to verify. */
import { VERDICTS } from "@runseal/core/verify/report"
import { refusalBeforeFailure } from "@runseal/core/verify/stage-error"
import { EXECUTION_MEANS } from "@runseal/core/vocabulary/outcome-words"
import type { Block, Line } from "@runseal/pdf/block"
import { command, line, mono } from "../spans.ts"
import {
  bundleFileName,
  isObserved,
  type Part,
  type ReportContext,
  reportFileName,
  type Subject,
  wordsOf,
} from "../subject.ts"

export const enforcement: Part = subject => (isObserved(subject) ? observation(subject) : enforced(subject))

const observation = (subject: Subject): readonly Block[] => [
  {
    kind: "callout",
    tone: "warn",
    title: "Observation, not enforcement",
    lines: [
      line({
        text: `The service observed this run and stopped nothing: ${wordsOf(subject).would}.`,
        style: "bold",
      }),
      line(
        "It decided and sealed exactly what it would have with enforcement, answered so, and let the caller go on. Where this report says that the run was denied, halted or not admitted, read that it would have been. What the caller did after the answer is not in the record.",
      ),
      ...refusal(subject),
    ],
  },
]

const ENFORCES =
  "The service enforces rather than observes. A request that the policy gate refuses stops before any kernel runs. A run that breaches a budget or fails the governance review stops after its kernels and before its execution record."

const enforced = (subject: Subject): readonly Block[] => [
  {
    kind: "callout",
    tone: "accent",
    title: "Enforcement, not observation",
    lines: [
      // What every run of the service has in common is in the other formats.
      ...(subject.format === "brief" ? [] : [line(ENFORCES)]),
      line(`${wordsOf(subject).enforcement} ${EXECUTION_MEANS}`),
      ...refusal(subject),
    ],
  },
]

/** What a gate had decided before the sealing of a refused run failed. */
function refusal({ bundle }: Subject): readonly Line[] {
  const sentence = refusalBeforeFailure(bundle)
  return sentence === undefined ? [] : [line({ text: sentence, style: "bold" })]
}

/** What to do, what to expect, and where the code beside it leads: the public bundle when there is one, else the instructions. Without an address of the operator there is no code. */
export const howToVerify: Part = ({ bundle, context, format }) => {
  const { run_id } = bundle.run
  const { base_url, public_path } = context
  const path = public_path ?? "/verify"
  const callout: Block = {
    kind: "callout",
    tone: "accent",
    title: "How to verify",
    lines: [
      line(
        "This document is a rendering. The evidence is the sealed bundle attached to it, ",
        mono(bundleFileName(run_id)),
        ". Verify it offline with the open-source verifier:",
      ),
      line(command(`verifier ${reportFileName(run_id, format)} --trust trust.json`)),
      line(expected(context), " Take the trust document from the service by another way than this report."),
      line(
        public_path === undefined ? "Verification instructions: " : "Public bundle of this run: ",
        ...(base_url === undefined ? ["path ", mono(path), " of the service"] : [mono(`${base_url}${path}`)]),
      ),
    ],
    ...(base_url === undefined ? {} : { code: `${base_url}${path}` }),
  }
  return [callout]
}

const expected = ({ verification: { verdict } }: ReportContext): Line =>
  verdict === VERDICTS.failed
    ? line("When this report was made, the service's own verification ended with ", mono(verdict), ".")
    : line("The last line of the verifier should be ", mono(verdict), ".")
