/** `verifier export <document> --sigstore DIR`: verifies a record, then writes the files with which cosign verifies its anchors. */
import { utf8Encode } from "@runseal/canonical"
import { titleOf, verdictTone } from "@runseal/core/presentation/account"
import { anchorsOf, bundleOf, isUnreadable } from "@runseal/core/verify/document"
import { sigstoreExport } from "@runseal/core/verify/sigstore-export"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

import type { Answer } from "./exit-answer.ts"
import { printed, refused } from "./exit-answer.ts"

import { writeNewFiles } from "./export-folder.ts"
import { checkLines, README_NAME, readmeText } from "./export-readme.ts"
import type { Style } from "./print.ts"
import { readInput } from "./read-input.ts"
import { noted, verifyAny, withBeside } from "./verify-any.ts"
import { answerOf } from "./verify-text.ts"

export type ExportFlags = {
  /** Where the files go. */
  readonly folder: string
  /** Whether files of the same names are replaced. */
  readonly force: boolean
  /** As for a verification. */
  readonly strict: boolean
}

/** Exports the anchors of a record that verifies; for any other the answer is that of the verification, and nothing is written. Throws InputError. */
export async function exportSigstore(
  argument: string,
  { folder, force, strict }: ExportFlags,
  trusts: readonly TrustedKeys[],
  style: Style,
): Promise<Answer> {
  const verified = await verifyAny(await readInput(argument), trusts)
  const { report, record } = verified
  const flags = { allowUnanchored: false, showEvidenceSummary: false, json: false, strict, readAtMs: Date.now() }
  const answer = answerOf(report, record, withBeside(flags, verified), style)
  if (isUnreadable(report) || answer.exit === 2) return answer
  const exported = answer.exit === 0 ? sigstoreExport(anchorsOf(record), trusts, bundleOf(record)) : undefined
  if (exported === undefined) {
    const reason = report.anchors.length === 0 ? ": the record carries no log entry" : ""
    return { ...answer, exit: 1, stderr: refused(`nothing was exported${reason}.`, style).stderr }
  }
  const readme = { name: README_NAME, bytes: utf8Encode(readmeText(report, exported)) }
  const files = [...exported.files, readme]
  writeNewFiles(folder, files, force)
  const lines = [
    [titleOf(report)],
    [{ text: report.verdict, tone: verdictTone(report) }],
    [],
    [`Written to ${folder}: ${files.map(({ name }) => name).join(", ")}`],
    [],
    ...checkLines(exported),
  ]
  return noted(printed(lines, style), verified, style)
}
