/** Verifies a stream of documents, one a line (NDJSON): each is verified, and the worst exit code is that of the stream. */
import type { JsonObject } from "@runseal/canonical"
import type { NumberedLine } from "@runseal/core/presentation/lines"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { heldToClock } from "@runseal/core/verify/reader-clock"
import type { Limitation } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { ExitCode } from "./exit-answer.ts"
import { InputError } from "./input-error.ts"
import { judge } from "./judgement.ts"
import type { Line, Span, Style } from "./print.ts"
import { printJsonLine, printLines } from "./print.ts"
import type { VerifyFlags } from "./verify-text.ts"
import { jsonAnswer } from "./verify-text.ts"

/** Writes to standard output; resolves when the text is written, so that a slow reader slows the verifier. */
export type Write = (text: string) => Promise<void>

/** UTF-16 units of output buffered before a flush. */
const WRITE_LENGTH = 65_536
const COUNT_WIDTH = 10

/** The result of one line. */
type LineResult = {
  readonly exit: ExitCode
  /** The verdict, or NO_VERDICT; lines are counted by it. */
  readonly verdict: string
  /** Printed for a line that did not pass. */
  readonly problem: string
  readonly limitations: readonly Limitation[]
  /** The object of `--json`. */
  readonly json: () => JsonObject
}

const NO_VERDICT = "could not be verified"

/** Counters over all lines so far. */
type Tally = { documents: number; passed: number; exit: ExitCode; verdicts: Map<string, number>; limits: Set<string> }

/**
 * Verifies every line and writes the results. Without `--json` only lines that did not pass are named; those that did
 * are counted. Memory does not grow with the stream. Throws InputError when it holds no document.
 */
export async function verifyStream(
  lines: AsyncIterable<NumberedLine>,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  style: Style,
  write: Write,
): Promise<ExitCode> {
  const tally: Tally = { documents: 0, passed: 0, exit: 0, verdicts: new Map(), limits: new Set() }
  let buffer = ""
  for await (const line of lines) {
    const result = judgeLine(line, trusts, flags)
    count(tally, result)
    if (flags.json) buffer += printJsonLine({ line: line.number, ...result.json() })
    else if (result.exit !== 0) buffer += printLines([problemLine(line, result)], style)
    if (buffer.length < WRITE_LENGTH) continue
    await write(buffer)
    buffer = ""
  }
  if (tally.documents === 0) throw new InputError("The stream holds no document: expected one JSON object a line.")
  await write(buffer + (flags.json ? printJsonLine(jsonSummary(tally)) : printLines(summaryLines(tally), style)))
  return tally.exit
}

function judgeLine({ bytes }: NumberedLine, trusts: readonly TrustedKeys[], flags: VerifyFlags): LineResult {
  if (bytes === undefined) return unreadableLine("the line is longer than a document may be")
  const report = heldToClock(verifyText(bytes, trusts), flags.readAtMs)
  if (isUnreadable(report)) return unreadableLine(report.unreadable)
  const judgement = judge(report, flags)
  const { verdict, exit, refused } = judgement
  const failed = report.checks.find(check => check.result === "fail")
  const strict = refused[0]?.sentence ?? ""
  const problem = failed === undefined ? strict : `first failed check, ${failed.id}: ${failed.message}`
  const json = (): JsonObject => jsonAnswer({ report, judgement, evidence: [], trusted: false })
  return { exit, verdict, problem, limitations: report.limitations, json }
}

function unreadableLine(unreadable: string): LineResult {
  const json = (): JsonObject => ({ exit_code: 2, unreadable })
  return { exit: 2, verdict: NO_VERDICT, problem: unreadable, limitations: [], json }
}

function count(tally: Tally, { exit, verdict, limitations }: LineResult): void {
  tally.documents++
  if (exit === 0) tally.passed++
  if (exit > tally.exit) tally.exit = exit
  tally.verdicts.set(verdict, (tally.verdicts.get(verdict) ?? 0) + 1)
  for (const { sentence } of limitations) tally.limits.add(sentence)
}

function problemLine({ number }: NumberedLine, { verdict, problem }: LineResult): Line {
  const outcome: Span = { text: verdict, tone: "bad" }
  return problem === "" ? [`line ${number}: `, outcome] : [`line ${number}: `, outcome, "; ", problem]
}

/** The counts; the last line is the result of the stream, alone. */
function summaryLines({ documents, passed, verdicts, limits }: Tally): readonly Line[] {
  const all = passed === documents
  const noun = documents === 1 ? "DOCUMENT" : "DOCUMENTS"
  const strong = (text: string): Line => [{ text, tone: "strong" }]
  return [
    ...(all ? [] : [[]]),
    strong("Verdicts"),
    ...[...verdicts].map(([verdict, times]): Line => [`${`${times}`.padStart(COUNT_WIDTH)}  ${verdict}`]),
    [],
    ...(limits.size === 0
      ? []
      : [strong("Not verified, of some or all"), ...[...limits].map((limit): Line => [`  ${limit}`]), []]),
    [{ text: `${passed} OF ${documents} ${noun} PASSED`, tone: all ? "good" : "bad" }],
  ]
}

const jsonSummary = ({ documents, passed, exit, verdicts }: Tally): JsonObject => ({
  documents,
  passed,
  exit_code: exit,
  verdicts: Object.fromEntries(verdicts),
})
