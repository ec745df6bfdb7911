/** Verifies several documents and folders of them: one line each, as a table, CSV or JSON. Loaded only for several. */

import { type Dirent, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { outcomeHeadline } from "@runseal/core/presentation/account"
import { codePoint, escapeControls } from "@runseal/core/presentation/printable"
import { VERDICTS } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Answer, InputError, refused } from "./exit-answer.ts"
import { type Line, printJsonLine, printLines, type Style, type Tone } from "./print.ts"
import { createProgress } from "./progress.ts"
import { isFolder, isStream, readInput } from "./read-input.ts"
import { verifyAny, withBeside } from "./verify-any.ts"
import {
  count,
  createTally,
  type DocumentResult,
  jsonSummary,
  resultOf,
  summaryLines,
  unreadableResult,
  type Write,
} from "./verify-stream.ts"
import { SCHEMA_VERSION, type VerifyFlags } from "./verify-text.ts"
import type { OutputFormat } from "./verify-words.ts"

/** Verifies every document; the worst exit code is that of all. Throws InputError. @param format absent: a table, or JSON with `--json` */
export async function verifyMany(
  documents: readonly string[],
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  format: OutputFormat | undefined,
  style: Style,
  write: Write,
): Promise<Answer> {
  if (flags.showEvidenceSummary) throw new InputError("--show-evidence-summary speaks of one document, not of several.")
  const { files, others } = documentFiles(documents)
  const tally = createTally()
  const rows: Row[] = []
  const noted: Noted = new Map()
  const progress = createProgress(process.stderr, "documents")
  if (format === "csv") await write(csvLine(COLUMNS))
  for (const file of files) {
    const { result, notes = [] } = await resultOfFile(file, trusts, flags)
    count(tally, result)
    for (const note of notes) {
      const { first = file.path, files: before = 0 } = noted.get(note) ?? {}
      noted.set(note, { first, files: before + 1 })
    }
    const { path } = file
    if (flags.json) await write(printJsonLine({ schema_version: SCHEMA_VERSION, file: path, ...result.json() }))
    else if (format === "csv") await write(csvLine(csvValues(path, result)))
    else {
      // Rows that are printed at once show by themselves how far it is.
      rows.push(rowOf(path, result))
      progress.show(tally.documents, files.length)
    }
  }
  progress.end()
  return { stdout: closing(), stderr: notVerified(others, style) + notesOf(noted, style), exit: tally.exit }

  function closing(): string {
    if (flags.json) return printJsonLine(jsonSummary(tally))
    const gap = tally.passed === tally.documents ? [[]] : []
    return format === "csv" ? "" : printLines([...tableLines(rows), ...gap, ...summaryLines(tally)], style)
  }
}

/** One that cannot be read is a result as well: it does not hide the others. */
async function resultOfFile(
  { path, problem }: DocumentFile,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
): Promise<{ readonly result: DocumentResult; readonly notes?: readonly string[] }> {
  if (problem !== undefined) return { result: unreadableResult(problem) }
  try {
    const verified = await verifyAny(await readInput(path), trusts)
    const { report, record, notes = [] } = verified
    return { result: resultOf(report, record, withBeside(flags, verified)), notes }
  } catch (error) {
    if (error instanceof InputError) return { result: unreadableResult(error.message) }
    throw error
  }
}

/** A warning, lest a record under another name be thought verified. */
function notVerified([first, ...rest]: readonly string[], style: Style): string {
  if (first === undefined) return ""
  const others = rest.length === 0 ? "" : ` and ${rest.length} more`
  return refused(`not verified, since of a folder only .json, .pdf and .zip files are: ${first}${others}`, style).stderr
}

/** What a reader must know beside a verdict, with the first file that it is about and how many there are. */
type Noted = Map<string, { readonly first: string; readonly files: number }>

/** Each sentence once: a folder may hold thousands of ZIP files. */
const notesOf = (noted: Noted, style: Style): string =>
  [...noted]
    .map(([note, { first, files }]) => {
      const others = files === 1 ? "" : ` and ${files - 1} more`
      return refused(`${first}${others}: ${note}`, style).stderr
    })
    .join("")

type Row = { readonly cells: readonly string[]; readonly tone: Tone; readonly problem: string }

/** The run and its outcome; of a record that failed both are claims and left out. */
function runOf({ report }: DocumentResult): { readonly run: string; readonly outcome: string; readonly cause: string } {
  if (report === undefined || report.verdict === VERDICTS.failed) return { run: "", outcome: "", cause: "" }
  const code = report.facts?.permit?.code
  const act = code === undefined ? "" : `act failed: ${code}`
  return { run: `${report.run_id ?? ""}`, outcome: report.outcome_kind ?? "", cause: report.facts?.cause ?? act }
}

/** A run that was refused is not shown as a success. */
const toneOf = ({ exit, report }: DocumentResult): Tone =>
  exit === 0 ? ((report === undefined ? undefined : outcomeHeadline(report)?.tone) ?? "good") : "bad"

function rowOf(file: string, result: DocumentResult): Row {
  const { run, outcome } = runOf(result)
  const failed = result.report?.facts?.permit?.code === undefined || outcome === "" ? "" : ", act failed"
  return {
    cells: [result.verdict, run, `${outcome}${failed}`, shownName(file)],
    tone: toneOf(result),
    problem: result.problem,
  }
}

/** A name that strangers chose must not pass for another cell: it comes last, and with quotes where it has spaces. */
const shownName = (name: string): string =>
  /^[^\s"]+$/.test(name)
    ? name
    : `"${name.replaceAll('"', '\\"').replace(/ {2,}/g, blanks => codePoint(" ").repeat(blanks.length))}"`

function tableLines(rows: readonly Row[]): readonly Line[] {
  const heads = ["VERDICT", "RUN", "OUTCOME", "DOCUMENT"]
  const cells = rows.map(row => row.cells.map(escapeControls))
  const widths = heads.map((head, at) =>
    cells.reduce((most, row) => Math.max(most, (row[at] ?? "").length), head.length),
  )
  const line = (row: readonly string[]): string => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ")
  return [
    [{ text: line(heads).trimEnd(), tone: "strong" }],
    ...rows.flatMap(({ tone, problem }, at): readonly Line[] => [
      [{ text: line(cells[at] ?? []).trimEnd(), tone }],
      ...(problem === "" ? [] : [[`  ${problem}`]]),
    ]),
  ]
}

const COLUMNS = [
  "document",
  "exit_code",
  "verdict",
  "run_id",
  "outcome_kind",
  "cause",
  "service",
  "tenant_id",
  "clock",
  "problem",
] as const

function csvValues(file: string, result: DocumentResult): readonly string[] {
  const { run, outcome, cause } = runOf(result)
  const isGood = result.report?.verdict !== VERDICTS.failed
  const { service = "", facts, clock = "" } = result.report ?? {}
  const tenant = facts?.tenant_id ?? ""
  const ownFacts = isGood ? [service, tenant, clock] : ["", "", ""]
  return [file, `${result.exit}`, result.verdict, run, outcome, cause, ...ownFacts, result.problem]
}

/**
 * RFC 4180. A text that a spreadsheet would run as a formula begins with an apostrophe: also behind a semicolon, which separates cells
 * where a comma is the decimal sign, and in the wide forms of the signs.
 */
const csvLine = (values: readonly string[]): string =>
  `${values
    .map(escapeControls)
    .map(value => value.replace(/(^|;)(?=["'\s]*[=+\-@＝＋－＠])/g, "$1'"))
    .map(value => (/[",;]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
    .join(",")}\r\n`

// The documents behind the arguments of one command: files and addresses, and the files of folders.

/** Documents of one command: a row of each is held until the table is printed. */
const MAX_DOCUMENTS = 100_000
/** Folders within a folder. */
const MAX_DEPTH = 32
/** Files of a folder that are documents, or hold one a line, by their names. */
const DOCUMENT_NAME = /\.(?:json|pdf|zip|ndjson(?:\.gz|\.zst)?)$/i

type DocumentFile = {
  readonly path: string
  /** Why it is not read. */
  readonly problem?: string
}

type DocumentFiles = {
  readonly files: readonly DocumentFile[]
  /** What folders hold besides, and is not looked at. */
  readonly others: readonly string[]
}

/** The documents behind arguments, those of a folder in the order of their names. Throws InputError. */
function documentFiles(documents: readonly string[]): DocumentFiles {
  const files: DocumentFile[] = []
  const others: string[] = []
  for (const argument of documents) {
    if (isStream(argument)) throw new InputError(`${argument} holds one document a line: verify it by itself.`)
    if (!isFolder(argument)) files.push({ path: argument })
    else {
      const before = files.length
      takeFolder(argument, 0, files, others)
      if (files.length === before) throw new InputError(`The folder ${argument} holds no .json, .pdf and .zip file.`)
    }
    if (files.length + others.length > MAX_DOCUMENTS)
      throw new InputError(`At most ${MAX_DOCUMENTS} documents are verified at once.`)
  }
  return { files, others }
}

function takeFolder(folder: string, depth: number, files: DocumentFile[], others: string[]): void {
  for (const entry of entriesOf(folder, depth)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) takeFolder(path, depth + 1, files, others)
    else if (!DOCUMENT_NAME.test(entry.name)) others.push(path)
    else files.push({ path, ...problemOf(path) })
    if (files.length + others.length > MAX_DOCUMENTS) return
  }
}

function entriesOf(folder: string, depth: number): readonly Dirent[] {
  if (depth > MAX_DEPTH) throw new InputError(`${folder} is more than ${MAX_DEPTH} folders deep: verify it by itself.`)
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    throw new InputError(`The folder ${folder} could not be read.`)
  }
}

/** Reading anything but a file may never end; a link to a folder may lead back to it. */
function problemOf(path: string): { readonly problem?: string } {
  if (path.includes("\ufffd")) return { problem: "its name is not valid UTF-8: rename it" }
  if (isFolder(path)) return { problem: "it is a link to a folder, which is not followed: verify it by itself" }
  if (isSpecial(path)) return { problem: "it is no regular file" }
  return isStream(path) ? { problem: "it holds one document a line: verify it by itself" } : {}
}

/** Whether a path names a pipe, a device or a socket; not one that is not there, of which reading says so. */
function isSpecial(path: string): boolean {
  try {
    return !statSync(path).isFile()
  } catch {
    return false
  }
}
