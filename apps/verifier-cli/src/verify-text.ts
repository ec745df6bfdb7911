/** What is printed of one verification, as a pure function of its report and the flags. */
import type { JsonObject } from "@runseal/canonical"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import { evidenceOf, isUnreadable } from "@runseal/core/verify/document"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { heldToClock, isUntrusted, type Report, VERDICTS } from "@runseal/core/verify/report"

import { type Answer, printed, refused } from "./exit-answer.ts"

import type { Decider } from "./expected-decision.ts"
import { type JudgeFlags, judge } from "./judgement.ts"
import { printJson, type Style } from "./print.ts"
import { type Reading, reportLines } from "./report-lines.ts"

export type VerifyFlags = JudgeFlags & {
  readonly showEvidenceSummary: boolean
  readonly json: boolean
  /** The verdict alone on standard output; what it must not be mistaken for is on standard error. */
  readonly quiet?: boolean
  /** This machine's clock, milliseconds since the epoch. */
  readonly readAtMs: number
  /** Decides the documents of an export again. */
  readonly decide?: Decider
  /** Holds the approvals of an export to passkeys. */
  readonly prove?: Decider
}

/** Prints a report. @param input the bytes of the record it is about */
export function answerOf(verified: Report | Unreadable, input: Uint8Array, flags: VerifyFlags, style: Style): Answer {
  const report = heldToClock(verified, flags.readAtMs)
  if (isUnreadable(report)) return refused(`this cannot be verified: ${report.unreadable}`, style)
  const judgement = judge(report, input, flags)
  const evidence = flags.showEvidenceSummary ? evidenceOf(input) : []
  const reading = { report, judgement, evidence }
  if (!flags.json)
    return { ...printed(reportLines(reading), style, judgement.exit), ...warningOf(isUntrusted(report), flags, style) }
  return { stdout: printJson(jsonAnswer(reading)), stderr: "", exit: judgement.exit }
}

/** Without its reason the verdict on a stranger's document would look like that on a forgery. */
export const warningOf = (
  untrusted: boolean,
  { quiet = false }: Pick<VerifyFlags, "quiet">,
  style: Style,
): Partial<Answer> => (untrusted && quiet ? { stderr: refused(NOT_TRUSTED, style).stderr } : {})

/** Of every object that `--json` prints; it rises when a key changes its meaning or goes away. */
export const SCHEMA_VERSION = 1

/** What a document states of its run. */
const runFactsOf = ({ run_id, outcome_kind, facts, statement }: Report): JsonObject => ({
  ...(run_id === undefined ? {} : { run_id }),
  ...(outcome_kind === undefined ? {} : { outcome_kind }),
  ...(facts === undefined ? {} : { facts }),
  ...(statement === undefined ? {} : { statement }),
})

/** The object of `--json`. Absent facts are absent keys; those of a record that FAILED by itself are claims, and apart. */
export function jsonAnswer({ report, judgement, evidence }: Reading): JsonObject {
  const { service, document, checks } = report
  // What a policy adds is in the judgement.
  const { explanation = report.explanation } = judgement
  const ofRun = { ...runFactsOf(report), ...(explanation === undefined ? {} : { explanation }) }
  const isClaim = report.verdict === VERDICTS.failed && Object.keys(ofRun).length > 0
  const { limitations, withheld, anchors, key_notes } = report
  const { verdict, exit, first_failure, expected } = judgement
  return {
    schema_version: SCHEMA_VERSION,
    verdict,
    exit_code: exit,
    ...(first_failure === undefined ? {} : { first_failure }),
    ...(isUntrusted(report) ? { not_trusted: true } : {}),
    ...(service === undefined ? {} : { service }),
    document,
    ...(isClaim ? { claims: ofRun } : ofRun),
    checks,
    ...(expected.length === 0
      ? {}
      : { expectations: expected.map(({ explained: _, account: __, ...shown }) => shown) }),
    limitations,
    withheld,
    anchors,
    ...(key_notes === undefined ? {} : { key_notes }),
    ...(evidence.length === 0
      ? {}
      : { evidence_summary: Object.fromEntries(evidence.map(({ key, value }) => [key, value])) }),
  }
}
