/** Compares the records of an export with its statement, one after the other: missing, doubled, out of order, or of another tenant. */
import type { CompleteRecordLeaf } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { type ChainPiece, chainPiece, type ExportStatement } from "../artifacts/export-statement.ts"
import { leafDigest } from "../formulas/leaves.ts"
import { compareRecords } from "./export-contradictions.ts"
import { type OrdinalGap, ordinalGaps } from "./ordinal-gaps.ts"

/** What is wrong with a record, or that it is missing. */
type RecordProblem = { readonly sentence: string; readonly tenant_ordinal?: number }

/** What is wrong with a record, and what a reader may want to know of it. */
type RecordFindings = { readonly problems: readonly RecordProblem[]; readonly notes: readonly RecordProblem[] }

export type RecordsFold = {
  /** Takes the next record. It is compared with the other records only if it `verifies` by itself. */
  readonly take: (bundle: Bundle, verifies: boolean) => RecordFindings
  /** The records that are missing. */
  readonly end: () => readonly RecordProblem[]
  /** Records of the piece so far, each counted once. */
  readonly found: () => number
  /** Of them those admitted outside the time asked for: they were sealed among the others. */
  readonly outside: () => number
}

/** The last record that was in order, or beyond one that is missing. */
type LastRecord = {
  readonly leaf: CompleteRecordLeaf
  /** Of its leaf, which follows from the record; undefined for one that does not verify. */
  readonly digest: string | undefined
}

export function foldRecords(statement: ExportStatement): RecordsFold {
  const piece = chainPiece(statement.leaf)
  const gaps = ordinalGaps()
  const comparison = compareRecords(statement, piece?.first_ordinal ?? 1)
  let next = piece?.first_ordinal ?? 1
  let before: LastRecord | undefined
  let found = 0
  let outside = 0

  const behind = (leaf: CompleteRecordLeaf): string => {
    if (!gaps.fill(leaf.tenant_ordinal)) return "is here again"
    found++
    return `is out of order, after record ${next - 1}`
  }
  const advance = (bundle: Bundle, here: LastRecord, within: ChainPiece): string[] => {
    const problems = linkProblems(here, before, within)
    const { tenant_ordinal } = here.leaf
    if (!wasAskedFor(bundle, statement)) {
      outside++
      const end = tenant_ordinal === within.first_ordinal || tenant_ordinal === within.last_ordinal
      if (end) problems.push("ends the piece and was admitted outside the time asked for")
    }
    found++
    next = tenant_ordinal + 1
    before = here
    return problems
  }
  return {
    take: (bundle, verifies) => {
      const leaf = bundle.anchors.complete_record?.leaf
      // Its own verification reports that the anchor is missing.
      if (leaf === undefined) return { problems: [], notes: [] }
      const { tenant_ordinal } = leaf
      const problemOf = (sentence: string): RecordProblem => ({
        sentence: `${nameOf(leaf)} ${sentence}`,
        tenant_ordinal,
      })
      const only = (problem: RecordProblem): RecordFindings => ({ problems: [problem], notes: [] })
      if (leaf.tenant_commitment !== statement.leaf.tenant_commitment)
        return only({ sentence: `run ${leaf.run_id} is a record of another tenant` })
      if (piece === undefined || tenant_ordinal < piece.first_ordinal || tenant_ordinal > piece.last_ordinal)
        return only(problemOf("is not of the piece that the statement speaks of"))
      if (tenant_ordinal < next) return only(problemOf(behind(leaf)))
      const gap = { first: next, last: tenant_ordinal - 1, ...afterOf(before), before: leaf.run_id }
      const skipped = tenant_ordinal > next && gaps.open(gap)
      const linked = advance(bundle, { leaf, digest: verifies ? leafDigest(leaf) : undefined }, piece)
      const compared = verifies ? comparison.take(bundle, tenant_ordinal, nameOf(leaf)) : { problems: [], notes: [] }
      return {
        problems: [...(skipped ? [missing(skipped)] : []), ...[...linked, ...compared.problems].map(problemOf)],
        notes: compared.notes.map(note => ({ sentence: `at ${nameOf(leaf)} ${note}`, tenant_ordinal })),
      }
    },
    end: () => {
      const last = piece?.last_ordinal ?? 0
      const tail = next > last ? [] : [{ first: next, last, ...afterOf(before) }]
      return [...gaps.left(), ...tail].map(missing)
    },
    found: () => found,
    outside: () => outside,
  }
}

const afterOf = (before: LastRecord | undefined): Pick<OrdinalGap, "after"> =>
  before === undefined ? {} : { after: before.leaf.run_id }

function missing({ first, last, after, before }: OrdinalGap): RecordProblem {
  const records = first === last ? `record ${first} is missing` : `records ${first} to ${last} are missing`
  const runs = [
    ...(after === undefined ? [] : [`after run ${after}`]),
    ...(before === undefined ? [] : [`before run ${before}`]),
  ]
  return { sentence: runs.length === 0 ? records : `${records}, ${runs.join(" and ")}`, tenant_ordinal: first }
}

const nameOf = ({ tenant_ordinal, run_id }: CompleteRecordLeaf): string => `record ${tenant_ordinal} (run ${run_id})`

/** What is wrong between a record and its neighbours: the one before it, the ends that are stated. */
function linkProblems(
  { leaf, digest }: LastRecord,
  before: LastRecord | undefined,
  { first_ordinal, last_ordinal, previous_record, last_record }: ChainPiece,
): string[] {
  const { tenant_ordinal } = leaf
  const problems: string[] = []
  if (tenant_ordinal === first_ordinal && leaf.previous_record !== previous_record)
    problems.push("does not name the record before it that the statement gives")
  const follows = before?.digest !== undefined && before.leaf.tenant_ordinal === tenant_ordinal - 1
  if (follows && leaf.previous_record !== before.digest)
    problems.push(`does not follow ${nameOf(before.leaf)}: it names another record before it`)
  if (tenant_ordinal === last_ordinal && digest !== undefined && digest !== last_record)
    problems.push("is not the one that the statement gives as the last")
  return problems
}

/** Whether a record was admitted in the time asked for. Clocks have one spelling and sort as text. */
const wasAskedFor = ({ run }: Bundle, { leaf: { from, to } }: ExportStatement): boolean =>
  (from === undefined || run.created_at >= from) && (to === undefined || run.created_at <= to)
