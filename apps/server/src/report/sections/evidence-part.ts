/** Evidence and how to check it: for readers who do not take the service's word. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { DECLARED_NAMES, type DeclaredSection, isShown } from "@runseal/core/artifacts/declared-sections"
import { countValues } from "@runseal/core/derivation/v2/kernel"
import type { Check } from "@runseal/core/verify/report"
import { STEP_LABELS } from "@runseal/core/vocabulary/pipeline-path"
import type { Block, Line, Span } from "@runseal/pdf/block"
import { command, count, countOf, densely, heading, line, mono, muted, remark, table } from "../spans.ts"
import { bundleFileName, type Part, reportFileName, type Subject } from "../subject.ts"

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
  remark("The bundle hash covers every section by its hash. The attached bundle has them whole."),
  ...sectionTable(subject.bundle).map(densely),
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
  const { run_id } = bundle.run
  const { base_url } = context
  const at = (path: string): readonly (string | Span)[] =>
    base_url === undefined ? ["its path ", mono(path)] : [mono(`${base_url}${path}`)]
  return [
    heading(2, "How to check it yourself"),
    {
      kind: "list",
      ordered: true,
      items: [
        line(
          "Obtain the trust document of the service by another way than this report, and compare the fingerprints of its keys with those the service gives elsewhere. The service publishes it at ",
          ...at("/.well-known/runseal-trust.json"),
          "; ",
          command("verifier trust add trust.json"),
          " makes it known to the verifier.",
        ),
        line(
          "Run ",
          command(`verifier ${reportFileName(run_id, format)} --show-evidence-summary`),
          ", or take the bundle ",
          mono(bundleFileName(run_id)),
          " out with any PDF tool and verify that. No network is needed. Instructions: ",
          ...at("/verify"),
        ),
      ],
    },
  ]
}

function transcript({ bundle }: Subject): readonly Block[] {
  const { transcript: sealed } = bundle.sections
  if (sealed === undefined) return []
  const columns = [
    { title: "#", share: 4, align: "end" as const },
    { title: "Step", share: 30 },
    { title: "Result", share: 9 },
    { title: "Event hash", share: 57 },
  ]
  const rows = sealed.events.map(({ step, result, hash }, i) => [
    line(count(i + 1)),
    line(mono(step), ` ${STEP_LABELS[step]}`),
    line(result),
    line(mono(hash)),
  ])
  return [
    heading(2, "Transcript"),
    remark(
      "One event for each step before the log, each with the digest of the one before: a verifier follows the path.",
    ),
    ...table("Events", columns, rows).map(densely),
  ]
}

/** Every section of the record with its source and its hash. */
export function sectionTable({ sections }: Bundle): readonly Block[] {
  const columns = [
    { title: "Section", share: 24 },
    { title: "Source", share: 20 },
    { title: "Hash", share: 56 },
  ]
  const sourceOf = (name: string): Line => {
    const declared = DECLARED_NAMES.find(each => each === name)
    return declared === undefined ? line("the service") : declaredSource(sections[declared])
  }
  const rows = Object.entries(sections)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, section]) => [line(mono(name)), sourceOf(name), line(mono(section.hash))])
  return table("Sections of the record", columns, rows)
}

const declaredSource = (section: DeclaredSection): Line => {
  if (!isShown(section)) return line({ text: "the caller: withheld", tone: "warn" })
  if (section.declared === undefined) return line(muted("the caller: nothing"))
  return line(`the caller: ${countOf(countValues(section.declared), "value")}`)
}
