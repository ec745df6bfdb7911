/** The head of the first page: the outcome at a glance. */
import { shownAct } from "@runseal/core/artifacts/act-section"
import { decisionText, shownApprovals } from "@runseal/core/artifacts/approvals"
import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { endUserText } from "@runseal/core/artifacts/end-user"
import { causeOf, explainReceipt } from "@runseal/core/artifacts/explanation"
import { isLogged } from "@runseal/core/verify/decisions"
import { refusingGate } from "@runseal/core/verify/stage-error"
import { CONTEXT_WORD_TEXTS } from "@runseal/core/vocabulary/decision-codes"
import type { Block, Line } from "@runseal/pdf/block"
import { joined } from "../declared.ts"
import { count, type Fact, fact, line, mono, readableTime, shortQuote } from "../spans.ts"
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
  const { bundle, context } = subject
  const { run, sections } = bundle
  const { end_user: endUser } = sections
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
      fact("Tenant", shortQuote(run.tenant_id)),
      ...(endUser === undefined ? [] : [fact("End user", shortQuote(endUserText(endUser)))]),
      ...approvalFacts(bundle),
      fact("Route", shortQuote(run.route_id)),
      ...refusalFacts(subject),
      ...actFacts(bundle),
      fact("Self-check", context.verification.verdict),
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
      fact("Decision", shortQuote(decisionText(decision, isLogged({ anchors })), CAUSE_LENGTH)),
    ),
  ]
}

/** Characters of a cause on the cover; and of the values of an act, and of those that a rule read, where the last may be longer. */
const CAUSE_LENGTH = 240
const VALUES_LENGTH = 160

/** What was attempted, why it was refused, and what the rule read that refused it; none for a run that no gate refused. */
function refusalFacts({ bundle, context }: Subject): readonly Fact[] {
  const receipt = receiptOf(bundle)?.receipt
  if (receipt === undefined) return []
  const explanation = context.explanation ?? explainReceipt(receipt, bundle.sections)
  const { read = [] } = explanation
  const whose = read.map(({ name, value, word }) => ({ name, value, whose: ` (${CONTEXT_WORD_TEXTS[word]})` }))
  return [
    ...attempted(bundle),
    fact("Why", shortQuote(causeOf(receipt, explanation), CAUSE_LENGTH)),
    ...(read.length === 0 ? [] : [fact("The rule read", valuesOf(whose))]),
  ]
}

/** What the service read of the act that was to be done. */
function attempted({ sections: { act: section } }: Bundle): readonly Fact[] {
  const act = section && shownAct(section)
  if (act === undefined) return section === undefined ? [] : [fact("Attempted", "an act, which is withheld")]
  const values = act.values.map(({ name, value }) => ({ name, value: [value].flat().join(", ") }))
  return [fact("Attempted", mono(act.table), ...(values.length === 0 ? [] : [": ", valuesOf(values)]))]
}

/** The first values, as many as the cover has room for. */
function valuesOf(values: readonly { readonly name: string; readonly value: string; readonly whose?: string }[]): Line {
  let length = 0
  const named = values.flatMap(({ name, value, whose = "" }) => {
    if (length > VALUES_LENGTH) return []
    const text = line(mono(name), " ", shortQuote(value), whose)
    length += text.reduce((sum, span) => sum + span.text.length, 0)
    return [text]
  })
  const more = values.length - named.length
  return line(joined(named, ", "), more > 0 ? ` and ${count(more)} more` : "")
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
