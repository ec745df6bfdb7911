/** A report as text: the checks, what is not verified, why it failed and what to do, the verdict last. */
import {
  anchorText,
  explanationFacts,
  explanationHeading,
  genuineMeaning,
  MARKS,
  outcomeHeadline,
  shortMessage,
  statementText,
  titleOf,
  unanchoredMeaning,
  verdictTone,
} from "@runseal/core/presentation/account"
import { adviceOf, faultText, NOT_TRUSTED, remedyFor } from "@runseal/core/presentation/advice"
import { permitLines } from "@runseal/core/presentation/permit-account"
import type { EvidenceLine } from "@runseal/core/verify/kind"
import { type AnchorFacts, type Check, type CheckResult, firstFault, type Report } from "@runseal/core/verify/report"
import { ACCOUNT_LABELS, ACCOUNT_LINES } from "@runseal/core/verify/run-account"
import type { Expected, Judgement } from "./judgement.ts"
import { type Line, paragraph, type Span, type Tone } from "./print.ts"
import { HOW_TO_PIN } from "./trust-lines.ts"

const TONES: Readonly<Record<CheckResult, Tone>> = { pass: "good", fail: "bad", absent: "quiet", withheld: "warn" }
const mark = (result: CheckResult): Span => ({ text: MARKS[result], tone: TONES[result] })
const CHECK_WIDTH = 17
const EXPECTED_WIDTH = 22
const LABEL_WIDTH = 22

export type Reading = {
  readonly report: Report
  readonly judgement: Judgement
  /** Facts of the record; empty without `--show-evidence-summary`. */
  readonly evidence: readonly EvidenceLine[]
}

/** The whole answer; the last line is the verdict, alone (docs/verifier.md, "Verdict and exit code"). */
export function reportLines(reading: Reading): readonly Line[] {
  const { report, judgement } = reading
  return [
    ...headline(report),
    [titleOf(report)],
    ...section(ACCOUNT_HEADING, accountLines(judgement).map(explanationLine)),
    ...section(explanationHeading(report), explanationFacts(judgement.explanation).map(explanationLine)),
    ...section("Checked", report.checks.map(checkLine)),
    ...section("Expected", judgement.expected.map(expectedLine)),
    ...section("Log entries", report.anchors.map(anchorLine)),
    ...section(
      "Keys",
      (report.key_notes ?? []).map(({ sentence }) => [`  ${sentence}`]),
    ),
    ...section(
      "Not verified",
      report.limitations.map(limit => [`  ${limit.sentence}`]),
    ),
    ...section("What the record says", reading.evidence.map(evidenceLine)),
    ...closing(report, judgement),
    ...failure(reading),
    [],
    [{ text: judgement.verdict, tone: verdictTone({ ...report, verdict: judgement.verdict }) }],
  ]
}

/** First what happened to the run, so that the good record of a refusal is not taken for a success. */
function headline(report: Report): readonly Line[] {
  const outcome = outcomeHeadline(report)
  const meaning = genuineMeaning(report)
  return [
    ...(outcome === undefined ? [] : [[outcome]]),
    ...permitLines(report).map((text): Line => [text]),
    ...(meaning === undefined ? [] : [[meaning]]),
  ]
}

const ACCOUNT_HEADING = "The run, as its record says"

/** The run in one line each. */
const accountLines = ({ account }: Judgement): readonly { readonly label: string; readonly value: string }[] =>
  ACCOUNT_LINES.flatMap(name => {
    const value = account?.[name]
    return value === undefined ? [] : [{ label: ACCOUNT_LABELS[name], value }]
  })

const explanationLine = ({ label, value }: { readonly label: string; readonly value: string }): Line => [
  `  ${label.padEnd(CHECK_WIDTH + 2)}${value}`,
]

export const section = (heading: string, lines: readonly Line[]): readonly Line[] =>
  lines.length === 0 ? [] : [[], [{ text: heading, tone: "strong" }], ...lines]

function checkLine({ id, result, message }: Check): Line {
  const sentence: Span = result === "absent" ? { text: message, tone: "quiet" } : shortMessage(message)
  return ["  ", mark(result), ` ${id.padEnd(CHECK_WIDTH)}`, sentence]
}

const expectedLine = ({ id, result, message }: Expected): Line => [
  "  ",
  mark(result),
  ` ${id.padEnd(EXPECTED_WIDTH)}${message}`,
]

const anchorLine = (anchor: AnchorFacts): Line => [`  ${anchor.slot.padEnd(CHECK_WIDTH + 2)}${anchorText(anchor)}`]

const evidenceLine = ({ label, value }: EvidenceLine): Line => [`  ${label.padEnd(LABEL_WIDTH)} `, value]

function failure({ report, judgement }: Reading): readonly Line[] {
  if (judgement.first_failure === "strict") {
    const refused = judgement.refused.map((limit): Line => ["  ", mark("fail"), ` ${limit.sentence}`])
    return [
      ...section("Refused by --strict", refused),
      ["  Every check passed. Without --strict the record verifies, with the limitations listed above."],
    ]
  }
  const unmet = judgement.expected.find(({ result }) => result === "fail")
  if (unmet !== undefined)
    return [[], ["Every check of the record passed, but it is not what you expected."], firstFailure(unmet)]
  const failed = report.checks.find(check => check.result === "fail")
  if (failed === undefined) return []
  const remedy = remedyFor(report) ?? "altered"
  const fault = firstFault(report)
  const advice =
    remedy === "untrusted"
      ? HOW_TO_PIN
      : adviceOf(remedy, "pin it with verifier trust add --replace").flatMap(paragraph)
  return [
    ...section("What to do", advice),
    [],
    firstFailure(failed),
    ...(fault === undefined || fault === failed ? [] : [[faultText(fault)]]),
    ...(remedy === "untrusted" ? [[], [{ text: NOT_TRUSTED, tone: "warn" as const }]] : []),
  ]
}

const firstFailure = ({ id, message }: Check | Expected): Line => [
  { text: "First failed check", tone: "strong" },
  ", ",
  { text: id, tone: "bad" },
  `: ${shortMessage(message)}`,
]

/** What qualifies the verdict. */
function closing(report: Report, { exit }: Judgement): readonly Line[] {
  const statement = statementText(report)
  const meaning = unanchoredMeaning(report.verdict)
  return [
    ...(statement === undefined ? [] : [[], [statement]]),
    ...(meaning === undefined ? [] : [[], ...unanchoredLines(meaning, exit)]),
  ]
}

const unanchoredLines = (meaning: string, exit: 0 | 1): readonly Line[] => [
  [meaning],
  [exit === 0 ? "Accepted because of --allow-unanchored." : "To accept that, pass --allow-unanchored."],
]
