/** `verifier export.ndjson --complete`: whether an export holds every document that its statement counts. */
import type { JsonObject } from "@runseal/canonical"
import type { ExportStatement } from "@runseal/core/artifacts/export-statement"
import { MARKS } from "@runseal/core/presentation/account"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import {
  type AccountRow,
  noteTexts,
  omittedText,
  passedRows,
  problemText,
  statementRows,
  windowTables,
} from "@runseal/core/presentation/completeness-account"
import type { NumberedLine } from "@runseal/core/presentation/lines"
import {
  COMPLETENESS_VERDICTS,
  type Completeness,
  type CompletenessVerdict,
  type FoldOptions,
  foldExport,
} from "@runseal/core/verify/completeness"
import type { Limitation } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Answer } from "./exit-answer.ts"
import { printed, refused } from "./exit-answer.ts"
import { type ExportDecisions, exportDecisions } from "./export-decisions.ts"

import { InputError } from "./input-error.ts"
import { refusedLimitations } from "./judgement.ts"
import { paragraph } from "./paragraph.ts"
import type { Line, Style } from "./print.ts"
import { printJson } from "./print.ts"
import type { Progress } from "./progress.ts"
import { section } from "./report-lines.ts"
import { HOW_TO_PIN } from "./trust-lines.ts"
import { SCHEMA_VERSION, type VerifyFlags, warningOf } from "./verify-text.ts"

const LABEL_WIDTH = 14

/** The result of an export, and the limitations that `--strict` refuses. */
type ExportResult = {
  readonly found: Completeness
  readonly verdict: CompletenessVerdict
  readonly exit: 0 | 1
  readonly strict: readonly Limitation[]
  /** With `--decided-by`. */
  readonly decisions: ExportDecisions | undefined
}

/** Verifies an export line by line; it holds some hundred bytes of each record. Throws InputError. */
export async function verifyComplete(
  lines: AsyncIterable<NumberedLine>,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  options: FoldOptions,
  style: Style,
  progress: Progress,
): Promise<Answer> {
  if (flags.allowUnanchored)
    throw new InputError("--allow-unanchored does not go with --complete: only what is anchored can be complete.")
  const decisions = flags.decide && exportDecisions(flags.decide)
  const fold = foldExport(trusts, flags.readAtMs, {
    ...options,
    ...(decisions === undefined ? {} : { verified: decisions.take }),
  })
  for await (const { number, bytes } of lines) {
    fold.take(number, bytes)
    progress.show(number)
  }
  const found = fold.end()
  if ("unreadable" in found) return refused(`this is no export that can be verified: ${found.unreadable}`, style)
  const strict = refusedLimitations(found.limitations, flags)
  const fails = strict.length > 0 || (decisions !== undefined && decisions.notDecided() > 0)
  const verdict = fails ? COMPLETENESS_VERDICTS.failed : found.verdict
  const result: ExportResult = {
    found,
    verdict,
    strict,
    decisions,
    exit: verdict === COMPLETENESS_VERDICTS.failed ? 1 : 0,
  }
  if (flags.json) return { stdout: printJson(jsonAnswer(result)), stderr: "", exit: result.exit }
  return {
    ...printed(answerLines(result), style, result.exit),
    ...warningOf(found.untrusted !== undefined, flags, style),
  }
}

/** The object of `--json`. Absent facts are absent keys. */
function jsonAnswer({ found, verdict, exit, strict, decisions }: ExportResult): JsonObject {
  const { statement, service, events, outside, windows } = found
  return {
    schema_version: SCHEMA_VERSION,
    verdict,
    exit_code: exit,
    ...(found.untrusted === undefined ? {} : { not_trusted: true }),
    ...(service === undefined ? {} : { service }),
    ...(statement === undefined ? {} : jsonStatement(statement)),
    records: found.records,
    openings: found.openings,
    ends: found.ends,
    ...(events === 0 ? {} : { events }),
    open_permits: found.open_permits,
    unreported_acts: found.unreported_acts,
    documents_outside_time: outside,
    ...(windows === undefined ? {} : { windows }),
    problems: found.problems,
    problem_count: found.problem_count,
    notes: found.notes,
    note_count: found.note_count,
    ...decisions?.json(),
    ...(strict.length === 0 ? {} : { refused: strict }),
    limitations: found.limitations,
  }
}

const jsonStatement = ({ tenant_id, leaf, entry }: ExportStatement): JsonObject => {
  const {
    leaf_version: _,
    tenant_commitment: __,
    windows_hash: ___,
    records,
    openings,
    ends,
    open_permits,
    events,
    ...facts
  } = leaf
  const counts = { records, openings, ends, ...(events === undefined ? {} : { events }), open_permits }
  return { tenant_id, ...facts, counts, log_index: entry.logIndex, integrated_time: entry.integratedTime }
}

function answerLines({ found, verdict, strict, decisions }: ExportResult): readonly Line[] {
  const { statement, service, problems, limitations } = found
  const omitted = omittedText(found)
  return [
    [{ text: "Export", tone: "strong" }, service === undefined ? "" : `, held against the keys of ${service}`],
    ...(statement === undefined ? [] : section("Statement", statementRows(statement).map(row))),
    ...section("Checked", passedRows(found).map(passed)),
    ...section("Problems", [
      ...problems.map(one => problem(problemText(one))),
      ...(omitted === undefined ? [] : [[`  ${omitted}`]]),
    ]),
    ...(decisions?.lines() ?? []),
    ...(statement !== undefined && service === undefined ? section("What to do", HOW_TO_PIN) : []),
    ...section(
      "Changed on the way",
      noteTexts(found).map((text): Line => [`  ${text}`]),
    ),
    ...windowTables(found).flatMap(({ heading, rows }) =>
      section(
        `Budget ${heading}`,
        rows.map((text): Line => [`  ${text}`]),
      ),
    ),
    ...section("Refused by --strict", strict.flatMap(limitationLines)),
    ...section("Not shown by this", limitations.flatMap(limitationLines)),
    ...(found.untrusted === undefined ? [] : [[], [{ text: NOT_TRUSTED, tone: "warn" as const }]]),
    [],
    [{ text: verdict, tone: verdict === COMPLETENESS_VERDICTS.failed ? "bad" : "good" }],
  ]
}

const limitationLines = ({ sentence }: Limitation): readonly Line[] => paragraph(sentence)

const row = ({ label, value }: AccountRow): Line => [`  ${label.padEnd(LABEL_WIDTH)}${value}`]

const passed = ({ label, value }: AccountRow): Line => [
  "  ",
  { text: MARKS.pass, tone: "good" },
  ` ${label.padEnd(LABEL_WIDTH - 2)}${value}`,
]

const problem = (text: string): Line => ["  ", { text: MARKS.fail, tone: "bad" }, ` ${text}`]
