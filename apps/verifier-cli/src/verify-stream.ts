/** Verifies a stream of documents, one a line (NDJSON): each is verified, and the worst exit code is that of the stream. */
import type { JsonObject } from "@runseal/canonical"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import type { NumberedLine } from "@runseal/core/presentation/lines"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { firstFault, heldToClock, isUntrusted, type Report, VERDICTS } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type ExitCode, InputError } from "./exit-answer.ts"
import {
  DECIDED_TEXTS,
  DECIDED_WORDS,
  type DecidedWord,
  type Expected,
  type Judgement,
  judge,
  PROVEN_TEXTS,
  PROVEN_WORDS,
  type ProvenWord,
  SCAN_STATED,
} from "./judgement.ts"
import { type Line, printJsonLine, printLines, type Span, type Style } from "./print.ts"
import type { Progress } from "./progress.ts"
import { jsonAnswer, SCHEMA_VERSION, type VerifyFlags } from "./verify-text.ts"

/** Writes to standard output; resolves when the text is written, so that a slow reader slows the verifier. */
export type Write = (text: string) => Promise<void>

/** UTF-16 units of output buffered before a flush. */
const WRITE_LENGTH = 65_536
const COUNT_WIDTH = 10

/** The result of one document of several. */
export type DocumentResult = {
  readonly exit: ExitCode
  /** The verdict, or NO_VERDICT; lines are counted by it. */
  readonly verdict: string
  /** Absent for what is no document. */
  readonly report?: Report
  readonly decided?: DecidedWord | undefined
  readonly proven?: ProvenWord | undefined
  /** Printed for a document that did not pass. */
  readonly problem: string
  /** The object of `--json`. */
  readonly json: () => JsonObject
}

const NO_VERDICT = "could not be verified"

/** Counters over all lines so far. */
export type Tally = {
  documents: number
  passed: number
  exit: ExitCode
  readonly verdicts: Map<string, number>
  readonly outcomes: Map<string, number>
  readonly limits: Set<string>
  /** With `--decided-by`. */
  readonly decided: Map<DecidedWord, number>
  /** With `--approver-keys`. */
  readonly proven: Map<ProvenWord, number>
}

/** Counters at zero. */
export const createTally = (): Tally => ({
  documents: 0,
  passed: 0,
  exit: 0,
  verdicts: new Map(),
  outcomes: new Map(),
  limits: new Set(),
  decided: new Map(),
  proven: new Map(),
})

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
  progress: Progress,
): Promise<ExitCode> {
  const tally = createTally()
  let buffer = ""
  for await (const line of lines) {
    const result = judgeLine(line, trusts, flags)
    count(tally, result)
    progress.show(tally.documents)
    if (flags.json) buffer += printJsonLine({ schema_version: SCHEMA_VERSION, line: line.number, ...result.json() })
    else if (result.exit !== 0) buffer += printLines([problemLine(line, result)], style)
    if (buffer.length < WRITE_LENGTH) continue
    progress.end()
    await write(buffer)
    buffer = ""
  }
  if (tally.documents === 0) throw new InputError("The stream holds no document: expected one JSON object a line.")
  progress.end()
  await write(buffer + (flags.json ? printJsonLine(jsonSummary(tally)) : printLines(summaryLines(tally), style)))
  return tally.exit
}

function judgeLine({ bytes }: NumberedLine, trusts: readonly TrustedKeys[], flags: VerifyFlags): DocumentResult {
  if (bytes === undefined) return unreadableResult("the line is longer than a document may be")
  return resultOf(verifyText(bytes, trusts), bytes, flags)
}

/** The result of a document that was verified. @param bytes of the record it is about */
export function resultOf(verified: Report | Unreadable, bytes: Uint8Array, flags: VerifyFlags): DocumentResult {
  const report = heldToClock(verified, flags.readAtMs)
  if (isUnreadable(report)) return unreadableResult(report.unreadable)
  const judgement = judge(report, bytes, flags)
  const { verdict, exit } = judgement
  const problem = isUntrusted(report) ? NOT_TRUSTED : problemOf(judgement, report)
  const json = (): JsonObject => jsonAnswer({ report, judgement, evidence: [] })
  return { exit, verdict, report, ...wordsOf(judgement.expected), problem, json }
}

const wordsOf = (expected: readonly Expected[]): Pick<DocumentResult, "decided" | "proven"> => ({
  decided: expected.find(({ decided }) => decided !== undefined)?.decided,
  proven: expected.find(({ proven }) => proven !== undefined)?.proven,
})

/** Why a document did not pass, in a sentence. */
function problemOf({ refused, expected }: Judgement, report: Report): string {
  const failed = firstFault(report) ?? expected.find(({ result }) => result === "fail")
  return failed === undefined ? (refused[0]?.sentence ?? "") : `first failed check, ${failed.id}: ${failed.message}`
}

/** The result of something that is no document. */
export function unreadableResult(unreadable: string): DocumentResult {
  const json = (): JsonObject => ({ schema_version: SCHEMA_VERSION, exit_code: 2, unreadable })
  return { exit: 2, verdict: NO_VERDICT, problem: unreadable, json }
}

/** Adds a result to the counters. */
export function count(tally: Tally, { exit, verdict, report, decided, proven }: DocumentResult): void {
  tally.documents++
  if (exit === 0) tally.passed++
  if (exit > tally.exit) tally.exit = exit
  tally.verdicts.set(verdict, (tally.verdicts.get(verdict) ?? 0) + 1)
  if (decided !== undefined) tally.decided.set(decided, (tally.decided.get(decided) ?? 0) + 1)
  if (proven !== undefined) tally.proven.set(proven, (tally.proven.get(proven) ?? 0) + 1)
  if (report === undefined) return
  // The outcome of a record that failed is a claim.
  if (report.outcome_kind !== undefined && report.verdict !== VERDICTS.failed)
    tally.outcomes.set(report.outcome_kind, (tally.outcomes.get(report.outcome_kind) ?? 0) + 1)
  for (const { sentence } of report.limitations) tally.limits.add(sentence)
}

function problemLine({ number }: NumberedLine, { verdict, problem }: DocumentResult): Line {
  const outcome: Span = { text: verdict, tone: "bad" }
  return problem === "" ? [`line ${number}: `, outcome] : [`line ${number}: `, outcome, "; ", problem]
}

/** The counts; the last line is the result of the stream, alone. */
export function summaryLines({
  documents,
  passed,
  verdicts,
  outcomes,
  limits,
  decided,
  proven,
}: Tally): readonly Line[] {
  const all = passed === documents
  const noun = documents === 1 ? "DOCUMENT" : "DOCUMENTS"
  const strong = (text: string): Line => [{ text, tone: "strong" }]
  return [
    ...(all ? [] : [[]]),
    strong("Verdicts"),
    ...countLines(verdicts),
    [],
    ...(outcomes.size === 0 ? [] : [strong("Outcomes of verified runs"), ...countLines(outcomes), []]),
    ...(decided.size === 0 ? [] : [strong("Decided again"), ...decidedLines(decided), []]),
    ...(proven.size === 0 ? [] : [strong("Proven by passkeys"), ...provenLines(proven), []]),
    ...(limits.size === 0
      ? []
      : [strong("Not verified, of some or all"), ...[...limits].map((limit): Line => [`  ${limit}`]), []]),
    [{ text: `${passed} OF ${documents} ${noun} PASSED`, tone: all ? "good" : "bad" }],
  ]
}

const countLines = (counts: ReadonlyMap<string, number>): readonly Line[] =>
  [...counts].map(([name, times]) => [`${`${times}`.padStart(COUNT_WIDTH)}  ${name}`])

/** How many documents each word is of, in the order of the words, by the texts of a single document. */
const wordLines = <Word extends string>(
  words: readonly Word[],
  texts: Readonly<Record<Word, string>>,
  counts: ReadonlyMap<Word, number>,
): readonly Line[] =>
  countLines(
    new Map(
      words.flatMap(word => {
        const times = counts.get(word)
        return times === undefined ? [] : [[texts[word], times]]
      }),
    ),
  )

/** How many documents were decided again. */
export const decidedLines = (decided: ReadonlyMap<DecidedWord, number>): readonly Line[] => [
  ...wordLines(DECIDED_WORDS, DECIDED_TEXTS, decided),
  [`  Of all, ${SCAN_STATED}.`],
]

/** How many documents passkeys prove. */
export const provenLines = (proven: ReadonlyMap<ProvenWord, number>): readonly Line[] =>
  wordLines(PROVEN_WORDS, PROVEN_TEXTS, proven)

/** The last object of `--json`. */
export const jsonSummary = ({ documents, passed, exit, verdicts, outcomes, decided, proven }: Tally): JsonObject => ({
  schema_version: SCHEMA_VERSION,
  documents,
  passed,
  exit_code: exit,
  verdicts: Object.fromEntries(verdicts),
  outcomes: Object.fromEntries(outcomes),
  ...(decided.size === 0 ? {} : { decided_again: Object.fromEntries(decided) }),
  ...(proven.size === 0 ? {} : { proven_by_passkeys: Object.fromEntries(proven) }),
})
