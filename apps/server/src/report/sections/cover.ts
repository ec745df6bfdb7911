/** The head of the first page: the outcome at a glance. */
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { refusingGate } from "@runseal/core/verify/stage-error"
import type { Block, Line } from "@runseal/pdf/block"
import { fact, line, mono, readableTime, shortQuote } from "../spans.ts"
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
      ...(isObserved(subject) ? [fact("Enforcement", "none: this run was observed, not enforced")] : []),
      fact("Tenant", shortQuote(run.tenant_id)),
      fact("Route", shortQuote(run.route_id)),
      ...actFacts(bundle),
      fact("Anchored", anchoredAt(subject)),
      fact("Self-check", context.verification.verdict),
      fact(words.proof.hash_name, mono(proofHash(subject))),
    ],
  }
  return [head, ...brokenNotice(subject)]
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
