/** `verifier export.ndjson --complete`: whether an export holds every record that its statement speaks of. */
import type { JsonObject } from "@runseal/canonical"
import { type ChainPiece, chainPiece, type ExportStatement } from "@runseal/core/artifacts/export-statement"
import { MARKS, shortMessage } from "@runseal/core/reading/account"
import { unixTime } from "@runseal/core/reading/unix-time"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import {
  COMPLETENESS_VERDICTS,
  type Completeness,
  type CompletenessProblem,
  type CompletenessVerdict,
  foldExport,
} from "@runseal/core/verify/completeness"
import type { Limitation } from "@runseal/core/verify/report"
import type { Answer } from "./answer.ts"
import { refused, said } from "./answer.ts"
import { InputError } from "./input-error.ts"
import type { NumberedLine } from "./lines.ts"
import { paragraph } from "./paragraph.ts"
import type { Line, Style } from "./print.ts"
import { printJson } from "./print.ts"
import { HOW_TO_PIN } from "./trust-lines.ts"
import type { VerifyFlags } from "./verify-text.ts"

const LABEL_WIDTH = 14

/** What became of an export, and what `--strict` refuses of it. */
type Judged = {
  readonly found: Completeness
  readonly verdict: CompletenessVerdict
  readonly exit: 0 | 1
  readonly strict: readonly Limitation[]
}

/** Verifies an export line by line; memory does not grow with it. Throws InputError. */
export async function verifyComplete(
  lines: AsyncIterable<NumberedLine>,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  style: Style,
): Promise<Answer> {
  if (flags.showEvidenceSummary)
    throw new InputError("--show-evidence-summary speaks of one document, not of an export.")
  if (flags.allowUnanchored)
    throw new InputError("--allow-unanchored does not go with --complete: only what is anchored can be complete.")
  const fold = foldExport(trusts)
  for await (const { number, bytes } of lines) fold.take(number, bytes)
  const found = fold.end()
  if ("unreadable" in found) return refused(`this is no export that can be verified: ${found.unreadable}`, style)
  const strict = flags.strict ? found.limitations.filter(limitation => limitation.strict) : []
  const verdict = strict.length > 0 ? COMPLETENESS_VERDICTS.failed : found.verdict
  const judged: Judged = { found, verdict, strict, exit: verdict === COMPLETENESS_VERDICTS.failed ? 1 : 0 }
  if (flags.json) return { stdout: printJson(jsonAnswer(judged)), stderr: "", exit: judged.exit }
  return said(answerLines(judged), style, judged.exit)
}

/** The object of `--json`. Absent facts are absent keys. */
function jsonAnswer({ found, verdict, exit, strict }: Judged): JsonObject {
  const { statement, service, records, outside, problems, problem_count, limitations } = found
  return {
    verdict,
    exit_code: exit,
    ...(service === undefined ? {} : { service }),
    ...(statement === undefined ? {} : jsonStatement(statement)),
    records,
    records_outside_time: outside,
    problems,
    problem_count,
    ...(strict.length === 0 ? {} : { refused: strict }),
    limitations,
  }
}

const jsonStatement = ({ tenant_id, leaf, entry }: ExportStatement): JsonObject => {
  const { leaf_version: _, tenant_commitment: __, ...facts } = leaf
  return { tenant_id, ...facts, log_index: entry.logIndex, integrated_time: entry.integratedTime }
}

function answerLines(judged: Judged): readonly Line[] {
  const { found, verdict, strict } = judged
  const { statement, service, problems, limitations } = found
  return [
    [{ text: "Export", tone: "strong" }, service === undefined ? "" : `, held against the keys of ${service}`],
    ...(statement === undefined ? [] : section("Statement", statementLines(statement))),
    ...section("Checked", statement === undefined ? [] : checkedLines(found, statement)),
    ...section("Problems", [...problems.map(problemLine), ...moreLine(found)]),
    ...(statement !== undefined && service === undefined ? section("What to do", HOW_TO_PIN) : []),
    ...section("Refused by --strict", strict.flatMap(limitationLines)),
    ...section("Not shown by this", limitations.flatMap(limitationLines)),
    [],
    [{ text: verdict, tone: verdict === COMPLETENESS_VERDICTS.failed ? "bad" : "good" }],
  ]
}

const section = (heading: string, lines: readonly Line[]): readonly Line[] =>
  lines.length === 0 ? [] : [[], [{ text: heading, tone: "strong" }], ...lines]

const limitationLines = ({ sentence }: Limitation): readonly Line[] => paragraph(sentence)

const row = (label: string, value: string): Line => [`  ${label.padEnd(LABEL_WIDTH)}${value}`]

function statementLines({ tenant_id, leaf, entry }: ExportStatement): readonly Line[] {
  const { from, to, head_ordinal, export_clock } = leaf
  const piece = chainPiece(leaf)
  const time = [...(from === undefined ? [] : [`from ${from}`]), ...(to === undefined ? [] : [`to ${to}`])]
  return [
    row("tenant", tenant_id),
    row("asked for", time.length === 0 ? "everything" : `what was admitted ${time.join(" ")}`),
    row("records", pieceText(piece)),
    row("chain", head_ordinal === 0 ? "no record yet" : `ends with record ${head_ordinal}`),
    row("as of", `log entry ${entry.logIndex}, logged ${unixTime(Number(entry.integratedTime))}`),
    row("asked at", export_clock),
  ]
}

function pieceText(piece: ChainPiece | undefined): string {
  if (piece === undefined) return "none"
  const { first_ordinal: first, last_ordinal: last } = piece
  return first === last ? `${first}` : `${first} to ${last}`
}

/** What was found good; nothing of it is said of an export that failed. */
function checkedLines(found: Completeness, { leaf }: ExportStatement): readonly Line[] {
  if (found.verdict === COMPLETENESS_VERDICTS.failed) return []
  const piece = chainPiece(leaf)
  const toHead = piece === undefined || piece.last_ordinal === leaf.head_ordinal
  const end = toHead ? "the last is the end of the chain that is anchored" : "the last is the one that is anchored"
  const others = found.outside === 0 ? "" : `; ${found.outside} were admitted at another time and sealed among them`
  const passed = (name: string, text: string): Line => [
    "  ",
    { text: MARKS.pass, tone: "good" },
    ` ${name.padEnd(LABEL_WIDTH - 2)}${text}`,
  ]
  return [
    passed("statement", "signed by the service and anchored in its log"),
    ...(piece === undefined
      ? [passed("records", "none, as stated")]
      : [
          passed("records", `${found.records} verified, each by itself${others}`),
          passed("order", "once each, without a gap, each naming the one before it"),
          passed("end", end),
        ]),
  ]
}

function problemLine({ line, sentence }: CompletenessProblem): Line {
  const where = line === undefined ? "" : `line ${line}: `
  return ["  ", { text: MARKS.fail, tone: "bad" }, ` ${where}${shortMessage(sentence)}`]
}

const moreLine = ({ problems, problem_count }: Completeness): readonly Line[] =>
  problem_count === problems.length ? [] : [[`  and ${problem_count - problems.length} more`]]
