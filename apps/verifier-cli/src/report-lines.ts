/** A report as a person reads it: what was checked, what was not, why it failed and what to do, the verdict last. */
import { UNTRUSTED_ADVICE } from "@runseal/core/verify/anchor-check"
import type { EvidenceLine } from "@runseal/core/verify/evidence-summary"
import type { AnchorFacts, Check, CheckId, CheckResult, Report, Verdict } from "@runseal/core/verify/report"
import { VERDICTS } from "@runseal/core/verify/report"
import type { Judgement } from "./judgement.ts"
import type { Line, Span, Tone } from "./print.ts"
import { HOW_TO_PIN } from "./trust-lines.ts"
import { unixTime } from "./unix-time.ts"

const NAMES: Readonly<Record<Report["document"], string>> = {
  bundle: "Audit bundle",
  receipt: "Receipt",
  attestation: "Attestation",
}
const MARKS: Readonly<Record<CheckResult, Span>> = {
  pass: { text: "✓", tone: "good" },
  fail: { text: "✗", tone: "bad" },
  absent: { text: "–", tone: "quiet" },
  withheld: { text: "◐", tone: "warn" },
}
const CHECK_WIDTH = 17
const LABEL_WIDTH = 22

export type Reading = {
  readonly report: Report
  readonly judgement: Judgement
  /** Facts of the record, when the user asked for them. */
  readonly evidence: readonly EvidenceLine[]
  /** Whether a trust document of the user's was found for the record's keys. */
  readonly trusted: boolean
}

/** The whole answer; the last line is the verdict line of the specification and nothing else. */
export function reportLines(reading: Reading): readonly Line[] {
  const { report, judgement } = reading
  return [
    [title(report)],
    ...section("Checked", report.checks.map(checkLine)),
    ...section("Log entries", report.anchors.map(anchorLine)),
    ...section(
      "Not verified",
      report.limitations.map(limit => [`  ${limit.sentence}`]),
    ),
    ...section("What the record says", reading.evidence.map(evidenceLine)),
    ...closing(report, judgement),
    ...failure(reading),
    [],
    [{ text: judgement.verdict, tone: verdictTone(judgement) }],
  ]
}

function title({ document, run_id, outcome_kind, service, anchors }: Report): Span {
  const run = run_id === undefined ? "" : ` of run ${run_id}`
  const outcome = outcome_kind === undefined ? "" : `, outcome ${outcome_kind}`
  const untrusted = anchors.length === 0 ? "" : ", held against no key you trust"
  const keys = service === undefined ? untrusted : `, held against the keys of ${service}`
  return `${NAMES[document]}${run}${outcome}${keys}`
}

const section = (heading: string, lines: readonly Line[]): readonly Line[] =>
  lines.length === 0 ? [] : [[], [{ text: heading, tone: "strong" }], ...lines]

function checkLine({ id, result, message }: Check): Line {
  const said: Span = result === "absent" ? { text: message, tone: "quiet" } : short(message)
  return ["  ", MARKS[result], ` ${id.padEnd(CHECK_WIDTH)}`, said]
}

/** The engine's sentence carries its advice; here the advice has a section of its own. */
const short = (message: string): string => message.replace(UNTRUSTED_ADVICE, "no key you trust made this log entry")

const anchorLine = ({ slot, leaf_version, log_index, integrated_time }: AnchorFacts): Line => [
  `  ${slot.padEnd(CHECK_WIDTH + 2)}entry ${log_index}, logged ${unixTime(Number(integrated_time))}, ${leaf_version}`,
]

const evidenceLine = ({ label, value }: EvidenceLine): Line => [`  ${label.padEnd(LABEL_WIDTH)} `, value]

/** Which way out a failed check leaves. */
type Remedy = "altered" | "keys" | "time" | "entry_missing"
const REMEDIES: Readonly<Record<CheckId, Remedy>> = {
  shape: "altered",
  sections: "altered",
  decision: "altered",
  manifest: "altered",
  transcript: "altered",
  executions: "altered",
  leaf: "altered",
  entry: "keys",
  inclusion: "keys",
  log_time: "time",
  bundle_hash: "altered",
  complete_record: "keys",
  printed_hashes: "altered",
}
const ADVICE: Readonly<Record<Remedy, readonly Line[]>> = {
  altered: [
    ["  This is no record as the service has to seal it: it was changed since, sealed wrongly, or made up."],
    ["  Fetch it again from the service and verify that copy. If it fails again, keep both as evidence and ask there."],
  ],
  keys: [
    ["  Fetch the document again from the service and verify that copy. If the service has announced new keys, get"],
    ["  its current trust document, compare the fingerprints, and pin it with verifier trust add --replace."],
    ["  If it still fails, the log does not vouch for this document: do not rely on it."],
  ],
  time: [
    ["  The record and its log entry are not of the same time, so the entry does not show when the run took place."],
    ["  Ask the service how the entry came about; do not rely on the record's clock."],
  ],
  entry_missing: [
    ["  The document must come with its log entry and does not. Save the answer of the service again, whole, and"],
    ["  verify that. Without an entry nothing but the word of its maker dates this document."],
  ],
}

function failure({ report, judgement, trusted }: Reading): readonly Line[] {
  if (judgement.first_failure === "strict") {
    const refused = judgement.refused.map((limit): Line => ["  ", MARKS.fail, ` ${limit.sentence}`])
    return [
      ...section("Refused by --strict", refused),
      ["  Every check passed. Without --strict the record verifies, with the limitations listed above."],
    ]
  }
  const failed = report.checks.find(check => check.result === "fail")
  if (failed === undefined) return []
  return [
    ...section("What to do", adviceFor(report, failed.id, trusted)),
    [],
    [
      { text: "First failed check", tone: "strong" },
      ", ",
      { text: failed.id, tone: "bad" },
      `: ${short(failed.message)}`,
    ],
  ]
}

function adviceFor({ anchors, document }: Report, failed: CheckId, trusted: boolean): readonly Line[] {
  const remedy = REMEDIES[failed]
  // An attestation has no clock of its own: another time than the entry's was written into it.
  if (remedy === "time" && document === "attestation") return ADVICE.altered
  if (remedy !== "keys") return ADVICE[remedy]
  if (anchors.length === 0) return ADVICE.entry_missing
  return trusted ? ADVICE.keys : HOW_TO_PIN
}

/** What a reader must know together with the verdict. */
function closing({ statement, verdict }: Report, { exit }: Judgement): readonly Line[] {
  return [
    ...(statement === undefined ? [] : [[], [`The record says: ${statement}`]]),
    ...(isUnanchored(verdict) ? [[], ...unanchoredLines(exit)] : []),
  ]
}

const isUnanchored = (verdict: Verdict): boolean =>
  verdict === VERDICTS.unanchored || verdict === VERDICTS.receipt_unanchored

const unanchoredLines = (exit: 0 | 1): readonly Line[] => [
  ["No log entry: the hashes agree with each other, and whoever made the document could have made them agree."],
  [exit === 0 ? "Accepted because of --allow-unanchored." : "To accept that, pass --allow-unanchored."],
]

function verdictTone({ verdict }: Judgement): Tone {
  if (verdict === VERDICTS.failed) return "bad"
  return isUnanchored(verdict) ? "warn" : "good"
}
