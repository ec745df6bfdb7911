/** Evidence and how to check it: for readers who do not take the service's word. */
import type { Check } from "@runseal/core/verify/report"
import { STEP_LABELS } from "@runseal/core/vocabulary/pipeline-path"
import type { Block, Span } from "@runseal/pdf/block"
import { count, densely, heading, line, mono, paragraph, remark, table } from "../spans.ts"
import { bundleFileName, type Part, reportFileName, type Subject } from "../subject.ts"
import { sectionTable } from "./receipt-part.ts"

const RESULTS: Readonly<Record<Check["result"], Span>> = {
  pass: { text: "passed", tone: "good" },
  fail: { text: "FAILED", style: "bold", tone: "bad" },
  absent: { text: "nothing to check", tone: "muted" },
  withheld: { text: "hash only", tone: "warn" },
}

export const evidence: Part = subject => [
  heading(1, "Evidence and Checks"),
  ...checks(subject),
  ...howToCheck(subject),
  ...transcript(subject),
  heading(2, "Sections"),
  remark("The bundle hash covers every section by its hash. Sections are in the attached bundle."),
  ...sectionTable(subject.bundle.sections).map(densely),
]

function checks({ context: { verification, engine_version } }: Subject): readonly Block[] {
  const columns = [
    { title: "Check", share: 18 },
    { title: "Result", share: 17 },
    { title: "What it says", share: 65 },
  ]
  const rows = verification.checks.map(({ id, result, message }) => [
    line(mono(id)),
    line(RESULTS[result]),
    line(message),
  ])
  return [
    heading(2, "Checks"),
    remark(
      "Made by the service on its own record when this report was rendered. The verifier makes the same checks without the service.",
    ),
    ...table(`Checks of ${engine_version}`, columns, rows),
  ]
}

function howToCheck({ bundle, context, format }: Subject): readonly Block[] {
  const pdf = reportFileName(bundle.run.run_id, format)
  const file = bundleFileName(bundle.run.run_id)
  return [
    heading(2, "How to check it yourself"),
    {
      kind: "list",
      ordered: true,
      items: [
        line(
          "Obtain the trust document of the service another way than with this report, and compare the fingerprints of its keys with those the service gives elsewhere. The service publishes it at ",
          mono(`${context.base_url}/.well-known/runseal-trust.json`),
          ".",
        ),
        line("Take the bundle out of this document with any PDF tool, and verify it. No network is needed."),
        line(
          "Compare the hashes printed here with those of the verified bundle. Instructions: ",
          mono(context.verifier_url),
        ),
      ],
    },
    {
      kind: "code",
      lines: ["verifier trust add trust.json", `pdfdetach -saveall ${pdf}`, `verifier ${file} --show-evidence-summary`],
    },
  ]
}

function transcript({ bundle }: Subject): readonly Block[] {
  const { transcript: sealed } = bundle.sections
  const title = heading(2, "Transcript")
  if (sealed === undefined) return [title, paragraph("The record has no transcript.")]
  const columns = [
    { title: "#", share: 4, align: "end" as const },
    { title: "Step", share: 30 },
    { title: "Result", share: 9 },
    { title: "Output hash", share: 57 },
  ]
  const rows = sealed.events.map(({ step, result, output_hash }, i) => [
    line(count(i + 1)),
    line(mono(step), ` ${STEP_LABELS[step]}`),
    line(result),
    line(mono(output_hash)),
  ])
  return [
    title,
    remark(
      "One event for each step before the log, each holding the digest of the one before. A verifier walks it through the pipeline's state machine.",
    ),
    ...table("Events", columns, rows).map(densely),
  ]
}
