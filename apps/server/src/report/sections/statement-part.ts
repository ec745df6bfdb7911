/** Part 8: the verification statement, and what nobody verified. */
import { verdictTone } from "@runseal/core/presentation/account"
import { withMark } from "@runseal/core/vocabulary/outcomes"
import type { Block } from "@runseal/pdf/block"
import { heading, line, mono, paragraph } from "../spans.ts"
import { isBroken, type Part, type Subject, wordsOf } from "../subject.ts"
import { brokenNotice } from "./cover.ts"

export const statement: Part = subject => {
  const { limitations } = subject.context.verification
  return [
    heading(1, "Verification Statement"),
    ...(isBroken(subject) ? brokenNotice(subject) : sound(subject)),
    heading(2, "What was not verified"),
    { kind: "list", ordered: false, items: limitations.map(({ sentence }) => line(sentence)) },
  ]
}

const sound = (subject: Subject): readonly Block[] => [
  { ...paragraph(statementOf(subject)), keepWithNext: true },
  selfCheck(subject),
]

const statementOf = (subject: Subject): string => withMark(wordsOf(subject).statement, subject.bundle.sections.envelope)

/** The service's own verification, as what it is. */
function selfCheck({ context: { verification, engine_version } }: Subject): Block {
  return {
    kind: "callout",
    tone: verdictTone(verification) === "good" ? "accent" : "warn",
    title: "The service's own verification",
    lines: [
      line(mono(verification.verdict)),
      line(
        "Made when this report was rendered, by ",
        mono(engine_version),
        " under the service's own trust. It is a self-check and no third-party evidence: run the verifier yourself, with keys that reached you another way.",
      ),
    ],
  }
}
