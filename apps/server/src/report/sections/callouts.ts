/** Parts 2 and 3: enforcement, not observation; and how to verify. */
import { VERDICTS } from "@runseal/core/verify/report"
import type { Block } from "../block.ts"
import { line, mono } from "../spans.ts"
import { bundleFileName, type Part, reportFileName, wordsOf } from "../subject.ts"

export const enforcement: Part = subject => [
  {
    kind: "callout",
    tone: "accent",
    title: "Enforcement, not observation",
    lines: [
      line(
        "The service enforces rather than observes. A request that the policy gate refuses stops before any kernel runs. A run that breaches a budget or fails the governance review stops after its kernels and before its execution record.",
      ),
      line(wordsOf(subject).enforcement),
    ],
  },
]

export const howToVerify: Part = ({ bundle, context, format }) => {
  const { run_id } = bundle.run
  const { verdict } = context.verification
  const expected =
    verdict === VERDICTS.failed
      ? line("When this report was made, the service's own verification ended with ", mono(verdict), ".")
      : line("For this record its last line should be ", mono(verdict), ".")
  const callout: Block = {
    kind: "callout",
    tone: "accent",
    title: "How to verify",
    lines: [
      line(
        "This document is a rendering. The evidence is the sealed bundle attached to it, ",
        mono(bundleFileName(run_id)),
        ". Verify it offline with the open-source verifier, against a trust document of the service that did not come with this report:",
      ),
      line(mono(`verifier ${reportFileName(run_id, format)} --trust trust.json`)),
      expected,
    ],
  }
  return [callout, published(context)]
}

function published({ public_url, verifier_url }: Parameters<Part>[0]["context"]): Block {
  if (public_url === undefined)
    return { kind: "qr", content: verifier_url, title: "Verification instructions", line: line(mono(verifier_url)) }
  return { kind: "qr", content: public_url, title: "Public bundle of this run", line: line(mono(public_url)) }
}
