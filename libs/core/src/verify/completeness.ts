/**
 * Completeness of an export: its records are all that its statement speaks of, once each and in order, and where they end is
 * anchored. A fold over the lines, in bounded memory. docs/formats.md section 13.
 */
import { type JsonValue, StrictJsonError } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { chainPiece, type ExportStatement, exportStatementSchema } from "../artifacts/export-statement.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import { isObject } from "../vocabulary/json-members.ts"
import { BUNDLE_KIND, EXPORT_KIND } from "../vocabulary/versions.ts"
import { chooseTrust } from "./anchor-check.ts"
import { isUnreadable, type ParsedText, parseDocument, readBundle, type Unreadable, verifyParsed } from "./document.ts"
import { REMEMBERED_RECORDS_MAX } from "./export-identifiers.ts"
import { foldRecords, type RecordsFold } from "./export-records.ts"
import { heldToClock } from "./reader-clock.ts"
import { type Limitation, type LimitationCode, limitation, type Report, VERDICTS, type Verdict } from "./report.ts"

export const COMPLETENESS_VERDICTS = {
  /** From the tenant's first record to the stated end of its chain. */
  chain: "COMPLETE CHAIN VERIFIED AND ANCHORED",
  /** The piece of the chain that the statement speaks of. */
  range: "COMPLETE RANGE VERIFIED AND ANCHORED",
  failed: "FAILED",
} as const
export type CompletenessVerdict = (typeof COMPLETENESS_VERDICTS)[keyof typeof COMPLETENESS_VERDICTS]

/** Problems that are told, and notes; further ones are only counted. */
export const PROBLEMS_MAX = 100

/** Where in an export a problem stands; nowhere for what is not in it. */
type ProblemPlace = {
  /** Line, from 1. */
  readonly line?: number
  readonly tenant_ordinal?: number
  readonly run_id?: number
}
export type CompletenessProblem = ProblemPlace & { readonly sentence: string }

export type Completeness = {
  readonly verdict: CompletenessVerdict
  /** Absent when the export does not begin with one. */
  readonly statement?: ExportStatement
  /** The service named by the trust document that everything was held to. */
  readonly service?: string
  /** Records of the piece that are there, each counted once. */
  readonly records: number
  /** Of them those admitted outside the time asked for: they were sealed among the others. */
  readonly outside: number
  /** The first `PROBLEMS_MAX`; there are none exactly when the verdict is not FAILED. */
  readonly problems: readonly CompletenessProblem[]
  readonly problem_count: number
  /** What changed from one record to the next and may, such as the policy: the first `PROBLEMS_MAX`. They fail nothing. */
  readonly notes: readonly CompletenessProblem[]
  readonly note_count: number
  /** What is not shown even when everything holds. */
  readonly limitations: readonly Limitation[]
}

type CompletenessFold = {
  /** Takes the next line that is not blank. @param text UTF-8; undefined for a line longer than a document may be */
  readonly take: (line: number, text: Uint8Array | undefined) => void
  /** Says what became of all of them; unreadable when what stands first is no document of ours. */
  readonly end: () => Completeness | Unreadable
}

/** An export that has begun: its statement, and the keys that every record is held to. */
type Begun = {
  readonly statement: ExportStatement
  readonly service: string | undefined
  readonly trusts: readonly TrustedKeys[]
  readonly records: RecordsFold
}

/**
 * Begins the fold over an export.
 * @param trusts keys of the services the caller trusts, from outside the export
 * @param readAtMs the reader's clock, milliseconds since the epoch; absent: nothing is said of what is dated ahead of it
 */
export function foldExport(trusts: readonly TrustedKeys[], readAtMs?: number): CompletenessFold {
  const { note, told, count } = noteProblems()
  const changes = noteProblems()
  const codes = new Set<LimitationCode>()
  let first: "expected" | "taken" | Unreadable = "expected"
  let begun: Begun | undefined

  const judged = (verified: Report | Unreadable, expected: Verdict): string | undefined => {
    const report = heldToClock(verified, readAtMs)
    if (!isUnreadable(report)) for (const { code } of report.limitations) codes.add(code)
    return failureOf(report, expected)
  }
  const begin = (line: number, text: ParsedText): void => {
    const report = verifyParsed(text, trusts)
    if (isUnreadable(report)) {
      first = report
      return
    }
    const statement = readStatement(text.value)
    if (statement === undefined) {
      note({ line, sentence: "an export begins with its statement, and this line is none" })
      return
    }
    const failure = judged(report, VERDICTS.export_statement)
    if (failure !== undefined) note({ line, sentence: `the export statement ${failure}` })
    const trust = chooseTrust(statement.entry, trusts)
    const held = trust === undefined ? trusts : [trust]
    begun = { statement, service: trust?.service, trusts: held, records: foldRecords(statement) }
  }
  const takeRecord = (line: number, text: ParsedText, { trusts: held, records }: Begun): void => {
    const { value } = text
    const bundle = isObject(value) && value.kind === BUNDLE_KIND ? readBundle(value) : undefined
    if (bundle === undefined || "unreadable" in bundle) {
      note({ line, sentence: `this line is no record: ${bundle?.unreadable ?? "it is no audit bundle"}` })
      return
    }
    const { run_id } = bundle.run
    const failure = judged(verifyParsed(text, held), VERDICTS.complete)
    if (failure !== undefined) note({ line, run_id, sentence: `run ${run_id} ${failure}` })
    const { problems, notes } = records.take(bundle, failure === undefined)
    for (const problem of problems) note({ line, run_id, ...problem })
    for (const one of notes) changes.note({ line, run_id, ...one })
  }
  return {
    take: (line, text) => {
      const read = readLine(text)
      if (first === "expected") {
        first = "unreadable" in read ? read : "taken"
        if (!("unreadable" in read)) begin(line, read)
      } else if ("unreadable" in read) note({ line, sentence: `this line cannot be read: ${read.unreadable}` })
      else if (begun !== undefined) takeRecord(line, read, begun)
    },
    end: () => {
      if (first === "expected") return { unreadable: "it is empty" }
      if (first !== "taken") return first
      for (const problem of begun?.records.end() ?? []) note(problem)
      return {
        verdict: count() > 0 ? COMPLETENESS_VERDICTS.failed : goodVerdict(begun),
        ...(begun === undefined ? {} : { statement: begun.statement }),
        ...(begun?.service === undefined ? {} : { service: begun.service }),
        records: begun?.records.found() ?? 0,
        outside: begun?.records.outside() ?? 0,
        problems: told,
        problem_count: count(),
        notes: changes.told,
        note_count: changes.count(),
        limitations: limitationsOf(codes, begun),
      }
    },
  }
}

function noteProblems(): {
  readonly note: (problem: CompletenessProblem) => void
  readonly told: readonly CompletenessProblem[]
  readonly count: () => number
} {
  const told: CompletenessProblem[] = []
  let count = 0
  const note = (problem: CompletenessProblem): void => {
    count++
    if (told.length < PROBLEMS_MAX) told.push(problem)
  }
  return { note, told, count: () => count }
}

function readLine(text: Uint8Array | undefined): ParsedText | Unreadable {
  if (text === undefined) return { unreadable: "it is longer than a document may be" }
  try {
    return parseDocument(text)
  } catch (error) {
    if (error instanceof StrictJsonError) return { unreadable: `not strict JSON: ${error.message}` }
    throw error
  }
}

function readStatement(value: JsonValue): ExportStatement | undefined {
  if (!isObject(value) || value.kind !== EXPORT_KIND) return undefined
  const parsed = parseExact(exportStatementSchema, value)
  return parsed.ok ? parsed.value : undefined
}

/** Why a document that must get one verdict does not get it. */
function failureOf(report: Report | Unreadable, expected: Verdict): string | undefined {
  if (isUnreadable(report)) return `cannot be read: ${report.unreadable}`
  if (report.verdict === expected) return undefined
  const failed = report.checks.find(check => check.result === "fail")
  const why = failed === undefined ? report.verdict : `first failed check, ${failed.id}: ${failed.message}`
  return `does not verify; ${why}`
}

/** Whether the statement speaks of the whole chain, from its first record to its end. */
function isWhole({ statement: { leaf } }: Begun): boolean {
  const piece = chainPiece(leaf)
  return leaf.head_ordinal === 0 || (piece?.first_ordinal === 1 && piece.last_ordinal === leaf.head_ordinal)
}

const goodVerdict = (begun: Begun | undefined): CompletenessVerdict =>
  begun !== undefined && isWhole(begun) ? COMPLETENESS_VERDICTS.chain : COMPLETENESS_VERDICTS.range

/** What the documents leave open and the fold does not answer, and what the fold leaves open itself. */
function limitationsOf(codes: ReadonlySet<LimitationCode>, begun: Begun | undefined): readonly Limitation[] {
  const range: readonly LimitationCode[] = begun === undefined || isWhole(begun) ? [] : ["stated_range"]
  const isLong = begun !== undefined && begun.records.found() > REMEMBERED_RECORDS_MAX
  const long: readonly LimitationCode[] = isLong ? ["repeats_beyond"] : []
  const own: readonly LimitationCode[] = ["later_records", "second_chain", ...range, ...long]
  const answered: ReadonlySet<LimitationCode> = new Set(["chain_tail", "statement_alone", ...own])
  return [...[...codes].filter(code => !answered.has(code)), ...own].map(limitation)
}
