/** Verifies a document of any kind. */
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import type { Verified } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Answer, refused } from "./exit-answer.ts"
import type { Expectation, Expected, JudgeFlags } from "./judgement.ts"
import type { Style } from "./print.ts"

/** What was read, and what it came to. */
type VerifiedInput = Verified & {
  /** What must hold of the entries of a ZIP beside the record. */
  readonly beside?: readonly Expectation[]
  /** What a reader must know of these. */
  readonly notes?: readonly string[]
}

/** The first bytes of a ZIP that has an entry. */
const ZIP = [0x50, 0x4b, 0x03, 0x04]

/** Verifies JSON text, or the record that an audit report in PDF or a ZIP for an auditor carries. Throws InputError for a ZIP that is not read. */
export async function verifyAny(input: Uint8Array, trusts: readonly TrustedKeys[]): Promise<VerifiedInput> {
  if (ZIP.every((byte, at) => input[at] === byte)) {
    const { verifyZip } = await import("./zipped-record.ts")
    return verifyZip(input, trusts)
  }
  const problem = savedProblem(input)
  if (problem !== undefined) return { report: { unreadable: problem }, record: input }
  const text = savedText(input)
  if (!isPdf(text)) return { report: verifyText(text, trusts), record: text }
  const { verifyReportPdf } = await import("@runseal/core/report-pdf/verify-report-pdf")
  return verifyReportPdf(input, trusts)
}

/** The flags of a reader, with what an input demands besides. */
export const withBeside = <Flags extends JudgeFlags>(flags: Flags, { beside = [] }: VerifiedInput): Flags =>
  beside.length === 0 ? flags : { ...flags, expectations: [...beside, ...(flags.expectations ?? [])] }

/** What an input demands besides and does not hold, for a command that takes no flags; undefined where the record itself cannot be read. */
export function unmetBeside({ report, record, beside = [] }: VerifiedInput): Expected | undefined {
  if (isUnreadable(report)) return undefined
  return beside.map(expectation => expectation(report, record)).find(({ result }) => result === "fail")
}

/** What a reader must know beside the verdict goes to standard error, whose lines no program reads. */
export const noted = (answer: Answer, { notes = [] }: Pick<VerifiedInput, "notes">, style: Style): Answer => ({
  ...answer,
  stderr: answer.stderr + notes.map(note => refused(note, style).stderr).join(""),
})
