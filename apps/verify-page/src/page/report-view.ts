/** The result of a document as the page shows it: verdict, what to do, every check, limitations, the record's facts. */
import {
  anchorText,
  explanationFacts,
  explanationHeading,
  genuineMeaning,
  type Headline,
  MARKS,
  outcomeHeadline,
  shortMessage,
  statementText,
  titleOf,
  unanchoredMeaning,
  verdictTone,
} from "@runseal/core/presentation/account"
import { adviceOf, faultText, NOT_TRUSTED, remedyFor, SAME_ADDRESS, UNVOUCHED } from "@runseal/core/presentation/advice"
import { type GroupFinding, groupFindings } from "@runseal/core/presentation/check-groups"
import { permitLines } from "@runseal/core/presentation/permit-account"
import { TRUST_PATH } from "@runseal/core/presentation/trust-rows"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { type Check, type CheckResult, firstFault, isUntrusted, type Report } from "@runseal/core/verify/report"
import { element, facts, list, type Piece, paragraphs, section } from "./elements.ts"
import type { Reading } from "./judge-document.ts"
import type { Believed } from "./page-trust.ts"

const RESULTS: Readonly<Record<CheckResult, string>> = {
  pass: "passed",
  fail: "failed",
  absent: "nothing to check",
  withheld: "only its hash was checked",
}

const TONE_MARKS = { good: MARKS.pass, warn: "!", bad: MARKS.fail } as const

export function reportPieces({ report, evidence }: Reading, believed: Believed): readonly Piece[] {
  const { verdict, checks, limitations, anchors, key_notes = [] } = report
  const tone = verdictTone(report)
  const meaning = unanchoredMeaning(verdict)
  const sameAddress = report.service !== undefined && believed.from === "service"
  const outcome = headlineOf(report)
  const genuine = genuineMeaning(report)
  const statement = statementText(report)
  return [
    // First what happened to the run, so that the good record of a refusal is not taken for a success.
    ...(outcome === undefined ? [] : [element("h2", `outcome ${outcome.tone}`, outcome.text)]),
    element(outcome === undefined ? "h2" : "p", `verdict ${tone}`, `${TONE_MARKS[tone]} ${verdict}`),
    ...(genuine === undefined ? [] : [element("p", "genuine", genuine)]),
    ...permitLines(report).map(text => element("p", "", text)),
    ...(meaning === undefined ? [] : [element("p", "note warn", meaning)]),
    ...failurePieces(report),
    element("ul", "groups", ...groupFindings(checks).map(groupItem)),
    // What a record says that failed, nobody may rely on.
    ...section(explanationHeading(report), ...facts(outcome === undefined ? [] : explanationFacts(report.explanation))),
    element("p", "quiet", `${titleOf(report)}${sameAddress ? ", as this address publishes them" : ""}.`),
    ...folded(`Every check (${checks.length})`, element("ul", "checks", ...checks.map(checkItem))),
    ...folded("Not verified", ...list(limitations.map(({ sentence }) => sentence))),
    ...folded(
      "Log entries and keys",
      ...facts(anchors.map(anchor => ({ label: anchor.slot, value: anchorText(anchor) }))),
      ...list(key_notes.map(({ sentence }) => sentence)),
    ),
    ...folded(
      "What the record says",
      ...(statement === undefined ? [] : [element("p", "", statement)]),
      ...facts(evidence),
    ),
  ]
}

/** Details that a reader opens; nothing without pieces. */
const folded = (heading: string, ...under: readonly Piece[]): readonly Piece[] =>
  under.length === 0 ? [] : [element("details", "", element("summary", "", heading), ...under)]

const groupItem = ({ result, sentence }: GroupFinding): HTMLElement => {
  const mark = element("span", "mark", MARKS[result])
  mark.setAttribute("aria-hidden", "true")
  return element(
    "li",
    result,
    mark,
    element("span", "unseen", `${RESULTS[result]}: `),
    element("span", "sentence", sentence),
  )
}

/** The first line of a result; undefined when it is the verdict. */
export const headlineOf = (report: Report): Headline | undefined =>
  isUntrusted(report) ? { text: NOT_TRUSTED, tone: "warn" } : outcomeHeadline(report)

/** Shown when nothing could be verified. */
export const unreadablePieces = ({ unreadable }: Unreadable): readonly Piece[] => [
  element("h2", "verdict bad", "✗ NOTHING WAS VERIFIED"),
  element("p", "", `This cannot be verified: ${sentenceOf(unreadable)}.`),
]

/** A sentence as a part of another. */
export const sentenceOf = (text: string): string => text.replace(/\.$/, "")

const checkItem = ({ id, result, message }: Check): HTMLElement => {
  const mark = element("span", "mark", MARKS[result])
  mark.setAttribute("aria-hidden", "true")
  return element(
    "li",
    result,
    mark,
    element("code", "", id, element("span", "unseen", ` ${RESULTS[result]}: `)),
    element("span", "sentence", shortMessage(message)),
  )
}

function failurePieces(report: Report): readonly Piece[] {
  const failed = report.checks.find(({ result }) => result === "fail")
  const remedy = remedyFor(report)
  if (failed === undefined || remedy === undefined) return []
  const first = element("p", "note bad", `First failed check, ${failed.id}: ${shortMessage(failed.message)}`)
  const fault = firstFault(report)
  const besides = fault === undefined || fault === failed ? [] : [element("p", "note bad", faultText(fault))]
  const advice = remedy === "untrusted" ? HOW_TO_LOAD : adviceOf(remedy, "load it on this page")
  return [first, ...besides, ...section("What to do", ...paragraphs(advice))]
}

/** What to do when no trusted key vouches for the document. */
export const HOW_TO_LOAD: readonly string[] = [
  UNVOUCHED,
  `Take the address of the service from a contract or its documentation, not from the record. Save https://SERVICE${TRUST_PATH}, load it on this page, and compare the fingerprints it shows with those the service gives elsewhere.`,
  SAME_ADDRESS,
]
