/** `verifier export <bundle> --in-toto DIR --envelope FILE`: a run statement with what cosign needs to verify it. */
import { parseStrictJson, utf8Encode } from "@runseal/canonical"
import { titleOf, verdictTone } from "@runseal/core/presentation/account"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { isUnreadable } from "@runseal/core/verify/document"
import { type Report, VERDICTS } from "@runseal/core/verify/report"
import { STATEMENT_FILES, statementExport } from "@runseal/core/verify/statement-export"
import { parseRunStatement } from "@runseal/core/verify/verify-run-statement"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { RUN_STATEMENT_PREDICATE_TYPE } from "@runseal/core/vocabulary/versions"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

import { type Answer, InputError, printed, refused } from "./exit-answer.ts"

import type { ExportFlags } from "./export-command.ts"
import { writeNewFiles } from "./export-folder.ts"
import { README_NAME } from "./export-readme.ts"
import { type Line, printLines, type Style } from "./print.ts"
import { readInput } from "./read-input.ts"
import { noted, verifyAny, withBeside } from "./verify-any.ts"
import { answerOf } from "./verify-text.ts"
import { VERSION } from "./version.ts"

/**
 * Exports a statement with its record. Both are verified first, and the statement must agree with the record; otherwise the
 * answer is that of the verification that failed, and nothing is written. Throws InputError.
 * @param envelope file or address of the DSSE envelope
 */
export async function exportStatement(
  argument: string,
  envelope: string,
  { folder, force, strict }: ExportFlags,
  trusts: readonly TrustedKeys[],
  style: Style,
): Promise<Answer> {
  if (argument === "-" && envelope === "-") throw new InputError("Of record and envelope only one is standard input.")
  const flags = { allowUnanchored: false, showEvidenceSummary: false, json: false, strict, readAtMs: Date.now() }
  const verified = await verifyAny(await readInput(argument), trusts)
  const { report, record } = verified
  const answer = answerOf(report, record, withBeside(flags, verified), style)
  if (isUnreadable(report) || answer.exit !== 0) return withoutExport(answer, style)
  const { report: statement, record: text } = await verifyAny(await readInput(envelope), trusts)
  const statementAnswer = answerOf(statement, text, { ...flags, strict: false, allowUnanchored: true }, style)
  if (isUnreadable(statement) || statementAnswer.exit !== 0) return withoutExport(statementAnswer, style)
  const files = filesOf(record, text, trusts)
  if ("problem" in files) return { stdout: "", ...nothing(`: ${files.problem}`, style) }
  const readme = { name: README_NAME, bytes: utf8Encode(readmeText(report)) }
  writeNewFiles(folder, [...files, readme], force)
  const names = [...files, readme].map(({ name }) => name).join(", ")
  const lines = [
    [titleOf(report)],
    [{ text: report.verdict, tone: verdictTone(report) }],
    [{ text: VERDICTS.run_statement, tone: verdictTone({ verdict: VERDICTS.run_statement }) }],
    [],
    [`Written to ${folder}: ${names}`],
    [],
    ...CHECK_LINES,
  ]
  return noted(printed(lines, style), verified, style)
}

/** The answer of a verification that was not good enough. */
const withoutExport = (answer: Answer, style: Style): Answer =>
  answer.exit === 1 ? { ...answer, ...nothing("", style) } : answer

const nothing = (reason: string, style: Style): Pick<Answer, "exit" | "stderr"> => ({
  exit: 1,
  stderr: refused(`nothing was exported${reason}.`, style).stderr,
})

/** Both texts are JSON: they were verified before. */
function filesOf(
  record: Uint8Array,
  envelope: Uint8Array,
  trusts: readonly TrustedKeys[],
): ReturnType<typeof statementExport> {
  const [value, enveloped] = [parseStrictJson(record), parseStrictJson(envelope)]
  const bundle = isObject(value) ? readBundle(value) : undefined
  if (bundle === undefined || "unreadable" in bundle) return { problem: "the record is no audit bundle" }
  const parsed = isObject(enveloped) ? parseRunStatement(enveloped) : undefined
  if (!parsed?.ok) return { problem: "the envelope holds no run statement" }
  return statementExport(parsed.value, bundle, trusts)
}

const { record, envelope, bundle, key, root } = STATEMENT_FILES

/** The command by which a stranger verifies a statement, from within the folder. */
const COSIGN_COMMAND: string = `cosign verify-blob-attestation --key ${key} --bundle ${bundle} --trusted-root ${root} --type ${RUN_STATEMENT_PREDICATE_TYPE} --insecure-ignore-tlog ${record}`

/** How to verify the export with cosign. No log holds the statement: the record's own anchors are what `--sigstore` exports. */
const CHECK_LINES: readonly Line[] = [
  ["In that folder, with cosign 3 (cosign 2 also needs --new-bundle-format):"],
  [`  ${COSIGN_COMMAND}`],
]

/** The README in ASCII: names from outside are escaped as on a terminal. */
function readmeText(report: Report): string {
  const lines: readonly Line[] = [
    [titleOf(report)],
    [`Record and statement were verified by verifier ${VERSION} before they were exported: ${report.verdict}`],
    [],
    [`${record}: the text whose SHA-256 is the record's bundle_hash, the subject of the statement`],
    [`${envelope}: the in-toto statement in its DSSE envelope, signed by the service's key`],
    [`${bundle}: the same envelope as a Sigstore bundle v0.3`],
    [`${key}: the service's public key`],
    [`${root}: the log's public key, which cosign requires and does not use here`],
    [],
    ...CHECK_LINES,
    [],
    [
      "The key was taken from the exporting user's trust document, not from the record. If you did not export this folder",
    ],
    ["yourself, compare it with the key that the service publishes."],
    [],
    [
      "No log holds the statement, hence --insecure-ignore-tlog: it is a claim that the service signed. Only the verifier,",
    ],
    ["given the record itself, shows that the record was sealed so and anchored."],
  ]
  return printLines(lines, { ascii: true, colour: false })
}
