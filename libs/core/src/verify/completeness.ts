/**
 * Completeness of an export: it has every document that its statement counts, once each and in order, and the end of the chain is
 * anchored. A fold over the lines, in bounded memory. docs/formats.md section 13.
 */
import { StrictJsonError } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Counts, NO_DOCUMENTS } from "../artifacts/anchor.ts"
import { type ExportStatement, isWholeChain } from "../artifacts/export-statement.ts"
import { chooseTrust } from "./anchor-check.ts"
import { KINDS, NO_CHAIN_DOCUMENT, readDocument, verifyRead } from "./document.ts"
import { type DocumentsFold, foldDocuments } from "./export-documents.ts"
import { REMEMBERED_RECORDS_MAX } from "./export-identifiers.ts"
import type { WindowAccount } from "./export-windows.ts"
import type { DocumentKind, ReadDocument } from "./kind.ts"
import { type ParsedText, parseDocument, type Unreadable, unreadable } from "./parsed-text.ts"
import {
  firstFault,
  heldToClock,
  isUntrusted,
  type Limitation,
  type LimitationCode,
  limitation,
  type Report,
  type Verdict,
} from "./report.ts"

export const COMPLETENESS_VERDICTS = {
  /** From the tenant's first record to the stated end of its chain. */
  chain: "COMPLETE CHAIN VERIFIED AND ANCHORED",
  /** The piece of the chain that the statement speaks of. */
  range: "COMPLETE RANGE VERIFIED AND ANCHORED",
  failed: "FAILED",
} as const
export type CompletenessVerdict = (typeof COMPLETENESS_VERDICTS)[keyof typeof COMPLETENESS_VERDICTS]

/** Most problems that are listed, and most notes; further ones are only counted. */
export const PROBLEMS_MAX = 100

/** Where in an export a problem is; empty for a document that is missing. */
type ProblemPlace = {
  /** Line, from 1. */
  readonly line?: number
  readonly tenant_ordinal?: number
  readonly run_id?: number
}
export type CompletenessProblem = ProblemPlace & { readonly sentence: string }

/** With the documents of the piece that are there, each counted once. */
export type Completeness = Counts & {
  readonly verdict: CompletenessVerdict
  /** Set when every problem is for want of a trusted key. */
  readonly untrusted?: true
  /** Absent when the export does not begin with one. */
  readonly statement?: ExportStatement
  /** The service named by the trust document that everything was held to. */
  readonly service?: string
  /** Openings of the piece that nothing in it closes or ends. */
  readonly open_permits: number
  /** Requests of the piece that nothing in it ends: their time is not over. */
  readonly open_requests: number
  /** Permits of the piece that were redeemed, and ended without a close: acts that were started and never reported. */
  readonly unreported_acts: number
  /** Openings from before the piece, which records of it close. */
  readonly carried: number
  /** Documents of the piece that were admitted outside the time asked for: they were sealed among the others. */
  readonly outside: number
  /** The budget windows of the piece, by rising start, where the caller asked for them. */
  readonly windows?: readonly WindowAccount[]
  /** The first `PROBLEMS_MAX`; there are none exactly when the verdict is not FAILED. */
  readonly problems: readonly CompletenessProblem[]
  readonly problem_count: number
  /** Settings that changed from one record to the next, such as the policy: the first `PROBLEMS_MAX`. They fail nothing. */
  readonly notes: readonly CompletenessProblem[]
  readonly note_count: number
  /** What is not shown even when everything holds. */
  readonly limitations: readonly Limitation[]
}

type CompletenessFold = {
  /** Takes the next line that is not blank. @param text UTF-8; undefined for a line longer than a document may be */
  readonly take: (line: number, text: Uint8Array | undefined) => void
  /** The result for all lines; unreadable when the first is no document of ours, or when one needs a newer verifier. */
  readonly end: () => Completeness | Unreadable
}

/** An export whose statement was read, and the keys that every record is verified with. */
type OpenExport = {
  readonly statement: ExportStatement
  readonly service: string | undefined
  readonly trusts: readonly TrustedKeys[]
  readonly documents: DocumentsFold
}

export type FoldOptions = {
  /** Gives the budget windows with their movements, of which at most `LISTED_MOVEMENTS_MAX` are listed. */
  readonly budgets?: boolean
  /** Is called with each document of a chain that verifies by itself. */
  readonly verified?: (line: number, document: ReadDocument) => void
  /** The kinds of documents that are known. */
  readonly kinds?: readonly DocumentKind[]
}

/**
 * Starts the fold over an export.
 * @param trusts keys of the services the caller trusts, from outside the export
 * @param readAtMs the reader's clock, milliseconds since the epoch; absent: dates ahead of it are not reported
 */
export function foldExport(
  trusts: readonly TrustedKeys[],
  readAtMs?: number,
  { budgets = false, verified, kinds = KINDS }: FoldOptions = {},
): CompletenessFold {
  const problems = boundedList()
  const notes = boundedList()
  const codes = new Set<LimitationCode>()
  let first: "expected" | "taken" | Unreadable = "expected"
  let current: OpenExport | undefined
  let newer: Unreadable | undefined

  /** Problems for want of a trusted key. */
  let unvouched = 0

  const failureOf = (report: Report, expected: Verdict): string | undefined => {
    if (isUntrusted(report)) unvouched++
    for (const { code } of heldToClock(report, readAtMs).limitations) codes.add(code)
    return failureSentence(report, expected)
  }
  const takeStatement = (line: number, read: ReadLine): void => {
    const { statement } = read
    if (statement === undefined) {
      problems.add({ line, sentence: "an export begins with its statement, and this line is none" })
      return
    }
    const failure = failureOf(verifyRead(read, trusts), read.verdict)
    if (failure !== undefined) problems.add({ line, sentence: `the export statement ${failure}` })
    const trust = chooseTrust(statement.entry, trusts)
    const documents = foldDocuments(statement, budgets)
    current = { statement, service: trust?.service, trusts: trust === undefined ? trusts : [trust], documents }
  }
  const takeDocument = (line: number, read: ReadLine, { trusts: held, documents }: OpenExport): void => {
    const document = read.inChain()
    if (document === undefined) {
      problems.add({ line, sentence: NO_CHAIN_DOCUMENT })
      return
    }
    const { run_id, brief, long } = document
    const place = run_id === undefined ? { line } : { line, run_id }
    const failure = failureOf(verifyRead(read, held, read.known), read.verdict)
    const name = run_id === undefined ? long : brief
    if (failure === undefined) verified?.(line, read)
    else problems.add({ ...place, sentence: `${name} ${failure}` })
    const found = documents.take(document, failure === undefined)
    for (const problem of found.problems) problems.add({ ...place, ...problem })
    for (const note of found.notes) notes.add({ ...place, ...note })
  }
  return {
    take: (line, text) => {
      const read = readLine(text, kinds)
      if (first === "expected") {
        first = "unreadable" in read ? read : "taken"
        if (!("unreadable" in read)) takeStatement(line, read)
      } else if ("unreadable" in read) {
        if (read.newer) newer ??= unreadable(`line ${line}: ${read.unreadable}`)
        problems.add({ line, sentence: `this line cannot be read: ${read.unreadable}` })
      } else if (current !== undefined) takeDocument(line, read, current)
    },
    end: () => {
      if (first === "expected") return { unreadable: "it is empty" }
      if (first !== "taken") return first
      // What cannot be judged is never FAILED, and the records after it could not be compared with it.
      if (newer !== undefined) return newer
      const documents = current?.documents
      for (const problem of documents?.end() ?? []) problems.add(problem)
      return {
        verdict: problems.count() > 0 ? COMPLETENESS_VERDICTS.failed : goodVerdict(current),
        ...(unvouched > 0 && unvouched === problems.count() ? { untrusted: true as const } : {}),
        ...(current === undefined ? {} : { statement: current.statement }),
        ...(current?.service === undefined ? {} : { service: current.service }),
        ...(documents?.found() ?? NO_DOCUMENTS),
        open_permits: documents?.open() ?? 0,
        open_requests: documents?.waiting() ?? 0,
        unreported_acts: documents?.unreported() ?? 0,
        carried: documents?.carried() ?? 0,
        outside: documents?.outside() ?? 0,
        ...(budgets && documents !== undefined ? { windows: documents.windows() } : {}),
        problems: problems.first,
        problem_count: problems.count(),
        notes: notes.first,
        note_count: notes.count(),
        limitations: limitationsOf(codes, current),
      }
    },
  }
}

/** Holds the first `PROBLEMS_MAX` and counts all. */
function boundedList(): {
  readonly add: (problem: CompletenessProblem) => void
  readonly first: readonly CompletenessProblem[]
  readonly count: () => number
} {
  const first: CompletenessProblem[] = []
  let count = 0
  const add = (problem: CompletenessProblem): void => {
    count++
    if (first.length < PROBLEMS_MAX) first.push(problem)
  }
  return { add, first, count: () => count }
}

/** A document of a line, with the texts of its parts. */
type ReadLine = ReadDocument & Pick<ParsedText, "known">

function readLine(text: Uint8Array | undefined, kinds: readonly DocumentKind[]): ReadLine | Unreadable {
  if (text === undefined) return { unreadable: "it is longer than a document may be" }
  try {
    const parsed = parseDocument(text)
    const read = readDocument(parsed, kinds)
    return "unreadable" in read || parsed.known === undefined ? read : { ...read, known: parsed.known }
  } catch (error) {
    if (error instanceof StrictJsonError) return { unreadable: `not strict JSON: ${error.message}` }
    throw error
  }
}

/** Why a document that must get one verdict does not get it. */
function failureSentence(report: Report, expected: Verdict): string | undefined {
  if (report.verdict === expected) return undefined
  const failed = firstFault(report) ?? report.checks.find(check => check.result === "fail")
  const why = failed === undefined ? report.verdict : `first failed check, ${failed.id}: ${failed.message}`
  return `does not verify; ${why}`
}

const goodVerdict = (current: OpenExport | undefined): CompletenessVerdict =>
  current !== undefined && isWholeChain(current.statement.leaf)
    ? COMPLETENESS_VERDICTS.chain
    : COMPLETENESS_VERDICTS.range

/** What the documents leave open and the fold does not answer, and what the fold leaves open itself. */
function limitationsOf(codes: ReadonlySet<LimitationCode>, current: OpenExport | undefined): readonly Limitation[] {
  const isRange = current !== undefined && !isWholeChain(current.statement.leaf)
  const range: readonly LimitationCode[] = isRange ? ["stated_range"] : []
  const { records = 0, openings = 0 } = current?.documents.found() ?? {}
  const isLong = records + openings > REMEMBERED_RECORDS_MAX
  const long: readonly LimitationCode[] = isLong ? ["repeats_beyond"] : []
  const own: readonly LimitationCode[] = ["later_records", "second_chain", ...range, ...long]
  const answered: ReadonlySet<LimitationCode> = new Set([
    ...(["chain_tail", "statement_alone", "open_permit", "open_request"] as const),
    ...(range.length === 0 ? (["ended_openings"] as const) : []),
    ...own,
  ])
  return [...[...codes].filter(code => !answered.has(code)), ...own].map(limitation)
}
