/** The head of the first page: the outcome at a glance. */
import { decisionText, shownApprovals } from "@runseal/core/artifacts/approvals"
import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { causeOf, explainReceipt } from "@runseal/core/artifacts/explanation"
import { isLogged } from "@runseal/core/verify/decisions"
import { bundleFacts } from "@runseal/core/verify/record-facts"
import { isUnanchored } from "@runseal/core/verify/report"
import { runAccount } from "@runseal/core/verify/run-account"
import { refusingGate } from "@runseal/core/verify/stage-error"
import type { OutcomeWords } from "@runseal/core/vocabulary/outcome-words"
import type { Block, Line } from "@runseal/pdf/block"
import { type Fact, fact, line, mono, muted, readableTime, shortQuote } from "../spans.ts"
import { isBroken, isObserved, type Part, type Subject, toneOf, wordsOf } from "../subject.ts"
import { actFacts, actFailed } from "./permit-part.ts"

/** The hash in the proof's banner. */
export function proofHash({ bundle }: Pick<Subject, "bundle">): string {
  const { manifest, bundle_hash } = bundle
  return manifest?.ManifestHash ?? receiptOf(bundle)?.receipt.hash ?? bundle_hash
}

/** The outcome in a few words, or that the record does not verify. */
export const verdictOf = (subject: Subject): string => (isBroken(subject) ? "Record does not verify" : endOf(subject))

/** A refusal whose sealing failed is reported as both: its receipt is lost, the gate's decision is not. */
const endOf = (subject: Subject): string =>
  refusingGate(subject.bundle) === undefined ? verdictWords(subject) : "Refused, then failed: not an attestation"

/** The first words on a run that closed a permit are on its act: others did it or not, and the caller reported what became of it. */
function verdictWords(subject: Subject): string {
  const { run, sections } = subject.bundle
  if (isObserved(subject)) return `Observed: ${wordsOf(subject).would}; nothing was stopped`
  if (run.outcome_kind !== "ok" || sections.permit === undefined) return wordsOf(subject).verdict
  return actFailed(subject.bundle) ? "Sealed; the permitted act failed" : "Sealed; the permitted act was reported done"
}

const anchoredAt = ({ bundle }: Subject): Line => {
  const { pre_anchor, receipt, complete_record } = bundle.anchors
  const entries = [pre_anchor, receipt, complete_record].flatMap(anchor => anchor?.entry.logIndex ?? [])
  if (entries.length === 0) return line("not anchored")
  return line(entries.length === 1 ? "log entry " : "log entries ", mono(entries.join(", ")))
}

export const cover: Part = subject => {
  const { bundle } = subject
  const { run } = bundle
  const words = wordsOf(subject)
  const head: Block = {
    kind: "cover",
    title: words.title,
    subtitle: `Run ${run.run_id}, ${readableTime(run.created_at)}`,
    verdict: verdictOf(subject),
    tone: toneOf(subject),
    facts: [
      fact("Outcome", mono(run.outcome_kind)),
      fact("Anchored", anchoredAt(subject)),
      ...(isObserved(subject) ? [fact("Enforcement", "none: this run was observed, not enforced")] : []),
      ...account(subject),
      ...approvalFacts(bundle),
      ...actFacts(bundle),
      fact("You can rely on", reliance(subject)),
      fact(words.proof.hash_name, mono(proofHash(subject))),
    ],
  }
  return [head, ...brokenNotice(subject)]
}

/** How the request for an approval ended, and what each person decided. */
function approvalFacts({ sections: { approvals: section }, anchors }: Bundle): readonly Fact[] {
  if (section === undefined) return []
  const approvals = shownApprovals(section)
  if (approvals === undefined) return [fact("Approval", "withheld")]
  return [
    fact("Approval", `${approvals.outcome}; asked for ${readableTime(approvals.requested_at)}`),
    ...approvals.decisions.map(decision =>
      fact("Decision", shortQuote(decisionText(decision, isLogged({ anchors })), LINE_LENGTH)),
    ),
  ]
}

/** Characters of one line on the cover, and of the text of a rule. */
const LINE_LENGTH = 200
const RULE_LENGTH = 240

/** What was attempted, by whom, what stopped it and on what, as the page of the run and the command say it. */
function account(subject: Subject): readonly Fact[] {
  const { bundle, context } = subject
  const receipt = receiptOf(bundle)?.receipt
  const explanation = receipt && (context.explanation ?? explainReceipt(receipt, bundle.sections))
  const { what, who, why } = runAccount(bundle, explanation)
  const cause = receipt && explanation ? causeOf(receipt, explanation) : bundleFacts(bundle).cause
  return [
    fact("Attempted", shortQuote(what, LINE_LENGTH)),
    fact("By", shortQuote(who, LINE_LENGTH)),
    fact(STOPPED_BY, ...(cause === undefined ? admitted(bundle) : shortQuote(cause, LINE_LENGTH))),
    ...(why === undefined ? [] : [fact("Why", shortQuote(why, LINE_LENGTH))]),
    ...(context.rule === undefined ? [] : [fact("The rule", ruleSpans(context.rule))]),
  ]
}

const STOPPED_BY = "Stopped by"

/** Of a run that nothing stopped, the rule that admitted it. */
const admitted = ({ sections: { policy_evaluation: evaluation } }: Bundle): Line =>
  evaluation === undefined
    ? line("nothing")
    : line("nothing; the rule ", mono(evaluation.fired_rule_id), " admitted it")

/** A rule as its author wrote it. */
const ruleSpans = (text: string): Line =>
  text.length <= RULE_LENGTH ? [mono(text)] : [mono(`${text.slice(0, RULE_LENGTH)}…`), muted(" (cut)")]

/** What a reader may believe, once the record has verified with keys of the reader's own. */
function reliance(subject: Subject): string {
  const { verification } = subject.context
  if (isBroken(subject)) return "nothing: this record does not verify"
  if (isUnanchored(verification.verdict)) return "nothing yet: no log entry shows when this record was made"
  return RELIANCE[wordsOf(subject).standing]
}

const RELIANCE: Readonly<Record<OutcomeWords["standing"], string>> = {
  attestation: "once verified as below: the service decided this, then and on these values. Not on what is declared",
  refusal: "once verified as below: the service refused this, then and for this reason. Not on what is declared",
  diagnosis: "only that the service failed here: this record attests nothing",
}

/** The first block of the cover and of the statement, when the record does not verify. */
export function brokenNotice(subject: Subject): readonly Block[] {
  if (!isBroken(subject)) return []
  const { checks, first_failure } = subject.context.verification
  const failed = checks.find(check => check.id === first_failure)
  return [
    {
      kind: "callout",
      tone: "bad",
      title: "This record does not verify",
      lines: [
        line(
          "The service verified the record when this report was made, and the verification failed at the check ",
          mono(first_failure ?? "shape"),
          failed === undefined ? "." : `: ${failed.message}.`,
        ),
        line("Nothing below may be relied on: the report says what the record states, and the record is not sound."),
      ],
    },
  ]
}
