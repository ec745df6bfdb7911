/** The texts of a report, the same in every program that shows one. */
import type { EventFacts } from "../artifacts/admin-event.ts"
import type { Explanation } from "../artifacts/explanation.ts"
import { UNTRUSTED_ADVICE } from "../verify/anchor-check.ts"
import { kindNamed } from "../verify/document.ts"
import type { RecordFacts } from "../verify/record-facts.ts"
import {
  type AnchorFacts,
  type CheckResult,
  isUnanchored,
  type Report,
  VERDICTS,
  type Verdict,
} from "../verify/report.ts"
import { CONTEXT_WORD_TEXTS } from "../vocabulary/decision-codes.ts"
import type { Standing } from "../vocabulary/outcome-words.ts"
import { OUTCOMES, type OutcomeKind } from "../vocabulary/outcomes.ts"
import { unixTime } from "../vocabulary/utc-time.ts"
import { endText, failureText } from "./permit-account.ts"

/** The sign before a check. */
export const MARKS: Readonly<Record<CheckResult, string>> = { pass: "✓", fail: "✗", absent: "–", withheld: "◐" }

/** What was verified, and with whose keys. Run and outcome of a document that failed are its claims. */
export function titleOf({ document, verdict, run_id, outcome_kind, facts, service, anchors }: Report): string {
  const of = verdict === VERDICTS.failed ? " that claims to be of" : " of"
  const run = run_id === undefined ? "" : `${of} run ${run_id}`
  const failed = facts?.permit?.code === undefined ? "" : `, act failed (${facts.permit.code})`
  const observed = facts?.enforcement === undefined ? "" : ", observed and not enforced"
  const outcome = outcome_kind === undefined ? "" : `, outcome ${outcome_kind}${failed}`
  const named = anchors.length > 0 || document === "run_statement"
  const untrusted = named ? ", held against no key you trust" : ""
  const keys = service === undefined ? untrusted : `, held against the keys of ${service}`
  return `${kindNamed(document)?.title ?? document}${run}${outcome}${observed}${keys}`
}

/** How good a piece of news is, for its colour. */
export type NewsTone = "good" | "warn" | "bad"

/**
 * What happened to the run, for the first line of a verification, such as "Run 7 was denied: rule no-export of the policy".
 * Undefined for a document of neither run nor permit, and for one that failed, whose words nobody may rely on.
 */
export function outcomeHeadline({ verdict, run_id, outcome_kind, facts }: Report): Headline | undefined {
  if (verdict === VERDICTS.failed) return undefined
  if (outcome_kind === undefined) return permitHeadline(facts)
  const { standing } = OUTCOMES[outcome_kind].words
  const cause = facts?.cause === undefined ? "" : `: ${facts.cause}`
  const code = facts?.permit?.code
  const act = code === undefined ? "" : `; its act failed: ${failureText(code)}`
  const tone = OUTCOME_TONES[standing]
  const text = `Run ${run_id}${endingOf(outcome_kind, facts, { cause, act })}`
  const weak = act !== "" || facts?.enforcement !== undefined
  return { text, tone: weak && tone === "good" ? "warn" : tone }
}

/**
 * What happened to a run, after its name.
 * @param clauses why, and that the act failed whose permit it closes; "" where there is nothing to say
 */
export function endingOf(
  outcome: OutcomeKind,
  { enforcement }: Pick<RecordFacts, "enforcement"> = {},
  { cause = "", act = "" } = {},
): string {
  const { ending, would } = OUTCOMES[outcome].words
  if (enforcement !== undefined) return `, observed: ${would}${cause}; nothing was stopped${act}`
  return ` ${ending}${cause}${act}`
}

/** Who acted: an API key and its name, a person and whom the identity provider names so, anybody in open mode, or a command. */
export function actorText({ actor, name, issuer, subject }: Acting): string {
  if (name === undefined) return actor
  return `${actor} (${subject === undefined ? name : `${name}, ${subject} of ${issuer}`})`
}
type Who = EventFacts["who"]
type Acting = Pick<Who, "actor"> & { readonly [K in "name" | "issuer" | "subject"]?: Who[K] | undefined }

/** What the first line says of an opening, an end or an admin event; undefined for a document of nothing of the kind. */
function permitHeadline({ permit, ended, event }: RecordFacts = {}): Headline | undefined {
  if (event !== undefined) {
    const by = actorText({ ...event, subject: event.person })
    return { text: `${event.action} of ${event.subject} at ${event.done_at}, by ${by}`, tone: "good" }
  }
  if (ended !== undefined) return { text: endText(ended), tone: "warn" }
  if (permit === undefined) return undefined
  return { text: `Act permitted at ${permit.permitted_at}; its close is another document`, tone: "good" }
}
export type Headline = { readonly text: string; readonly tone: NewsTone }

const OUTCOME_TONES: Readonly<Record<Standing, NewsTone>> = { attestation: "good", refusal: "warn", diagnosis: "bad" }

/** Why a run was refused: the members of the explanation by their names, and each value that the rule read, with whose word it is. */
export function explanationFacts(explanation: Explanation | undefined): readonly ExplanationFact[] {
  const { read = [], ...members } = explanation ?? {}
  return [
    ...Object.entries(members).map(([label, value]) => ({ label, value: [value].flat().join(", ") || "none" })),
    ...read.map(({ name, value, word }) => ({ label: "read", value: `${name} ${value}, ${CONTEXT_WORD_TEXTS[word]}` })),
  ]
}

/** The heading above them. */
export const explanationHeading = ({ facts }: Report): string =>
  `Why it ${facts?.enforcement === undefined ? "was" : "would have been"} refused`

type ExplanationFact = { readonly label: string; readonly value: string }

/** What a good verdict means for the document, whatever happened to its run; undefined for FAILED. */
export function genuineMeaning({ document, verdict, withheld, outcome_kind }: Report): string | undefined {
  if (verdict === VERDICTS.failed) return undefined
  const meaning =
    verdict === VERDICTS.complete && withheld.length > 0
      ? "The record is genuine, and complete but for what its holder withheld."
      : (MEANINGS[verdict] ?? kindNamed(document)?.genuine)
  const isDiagnosis = outcome_kind !== undefined && OUTCOMES[outcome_kind].words.standing === "diagnosis"
  return meaning === undefined || !isDiagnosis ? meaning : `${meaning} ${NO_ATTESTATION}`
}

const NO_ATTESTATION = "It is for operational diagnosis only and is not an attestation."

/** Verdicts that say more or less than that the document is genuine. */
const MEANINGS: Readonly<Partial<Record<Verdict, string>>> = {
  [VERDICTS.complete]: "The record is genuine and complete.",
  [VERDICTS.unanchored]: "Nothing outside the record shows that it is genuine.",
  [VERDICTS.receipt_unanchored]: "Nothing outside the receipt shows that it is genuine.",
}

/** The record's own sentence on its run; of a record that failed it is a claim. */
export const statementText = ({ statement, verdict }: Report): string | undefined =>
  statement === undefined
    ? undefined
    : `${verdict === VERDICTS.failed ? "The record claims" : "The record says"}: ${statement}`

/** A check's sentence without its advice, which has a section of its own. */
export const shortMessage = (message: string): string =>
  message.replace(UNTRUSTED_ADVICE, "no key you trust made this log entry")

/** The position of an entry in the log, and its time. */
export function anchorText(facts: AnchorFacts): string {
  const { leaf_version, log_index, integrated_time, outside_log, timestamp_authority, late } = facts
  const log = outside_log === undefined ? "" : ` of ${outside_log}`
  const clock = unixTime(Number(integrated_time))
  const source = timestamp_authority === undefined ? `logged ${clock}` : `stamped ${clock} by ${timestamp_authority}`
  const time = `${source}${late === undefined ? "" : ", late"}`
  return `entry ${log_index}${log}, ${time}, ${leaf_version}`
}

/** Explains a verdict without log entry; undefined for any other. */
export function unanchoredMeaning(verdict: Verdict): string | undefined {
  if (!isUnanchored(verdict)) return undefined
  return verdict === VERDICTS.run_statement ? SIGNED_MEANS : SELF_CONSISTENT_MEANS
}

const SELF_CONSISTENT_MEANS =
  "No log entry: the hashes agree with each other, and the maker of the document could have made them agree."
const SIGNED_MEANS =
  "No log entry: the service signed this, and could have signed something else for somebody else. Verify the record's bundle beside it."

/** The colour of a verdict. That of a run which attests nothing is never the colour of a success, however well its record verifies. */
export function verdictTone({ verdict, outcome_kind }: Pick<Report, "verdict" | "outcome_kind">): NewsTone {
  if (verdict === VERDICTS.failed) return "bad"
  const isDiagnosis = outcome_kind !== undefined && OUTCOMES[outcome_kind].words.standing === "diagnosis"
  return isDiagnosis || isUnanchored(verdict) ? "warn" : "good"
}
