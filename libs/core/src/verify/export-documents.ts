/** Compares the documents of an export with its statement, one after the other: missing, doubled, out of order, or of another tenant. */
import { type ChainLeaf, COUNTS, type Counts, countsOf, NO_DOCUMENTS } from "../artifacts/anchor.ts"
import { type ChainPiece, chainPiece, type ExportStatement, isWholeChain } from "../artifacts/export-statement.ts"
import { leafDigest } from "../formulas/leaves.ts"
import type { ChainDocument, CountedDocument } from "./chain-document.ts"
import { brokenRules } from "./contradictions.ts"
import { compareDocuments } from "./export-contradictions.ts"
import type { WindowAccount } from "./export-windows.ts"

/** What is wrong with a document, or that it is missing. */
type DocumentProblem = { readonly sentence: string; readonly tenant_ordinal?: number }

/** What is wrong with a document, and what a reader may want to know of it. */
type DocumentFindings = { readonly problems: readonly DocumentProblem[]; readonly notes: readonly DocumentProblem[] }

export type DocumentsFold = {
  /** Takes the next document. It is compared with the others only if it `verifies` by itself. */
  readonly take: (document: CountedDocument, verifies: boolean) => DocumentFindings
  /** The documents that are missing, and what else only the end shows. */
  readonly end: () => readonly DocumentProblem[]
  /** Documents of the piece, each counted once. */
  readonly found: () => Counts
  /** Of them those admitted outside the time asked for: they were sealed among the others. */
  readonly outside: () => number
  /** Openings from before the piece, which records of it close. */
  readonly carried: () => number
  /** Openings of the piece that nothing in it closes or ends. */
  readonly open: () => number
  /** Requests for an approval of the piece that nothing has ended. */
  readonly waiting: () => number
  /** Permits that were redeemed, and ended without a close: acts that were started and never reported. */
  readonly unreported: () => number
  readonly windows: () => readonly WindowAccount[]
}

/** The last document that was in order, or beyond one that is missing. */
type LastDocument = {
  readonly leaf: ChainLeaf
  readonly brief: string
  readonly long: string
  /** Of its leaf, which follows from the document; undefined for one that does not verify. */
  readonly digest: string | undefined
}

/** @param lists whether movements of budget windows are listed */
export function foldDocuments(statement: ExportStatement, lists: boolean): DocumentsFold {
  const piece = chainPiece(statement.leaf)
  const gaps = ordinalGaps()
  const comparison = compareDocuments(statement, piece?.first_ordinal ?? 1, lists)
  const carried = foldCarried(comparison)
  const counts = { ...NO_DOCUMENTS }
  let next = piece?.first_ordinal ?? 1
  let before: LastDocument | undefined
  let outside = 0
  let unreported = 0

  const behind = ({ counted }: CountedDocument, ordinal: number): string => {
    if (!gaps.fill(ordinal)) return "is here again"
    counts[counted]++
    return `is out of order, after document ${next - 1}`
  }
  const advance = (document: CountedDocument, here: LastDocument, within: ChainPiece): string[] => {
    const problems = linkProblems(here, before, within)
    const { tenant_ordinal } = here.leaf
    if (!wasAskedFor(document, statement)) {
      outside++
      const end = tenant_ordinal === within.first_ordinal || tenant_ordinal === within.last_ordinal
      if (end) problems.push("ends the piece and was admitted outside the time asked for")
    }
    counts[document.counted]++
    if (document.ends !== undefined) unreported += document.redemptions.length
    next = tenant_ordinal + 1
    before = here
    return problems
  }
  return {
    take: (document, verifies) => {
      const { brief, long: name } = document
      const leaf = document.anchor?.leaf
      // Its own verification reports that the anchor is missing.
      if (leaf === undefined) return NOTHING
      const { tenant_ordinal } = leaf
      const problemOf = (sentence: string): DocumentProblem => ({ sentence: `${name} ${sentence}`, tenant_ordinal })
      const only = (...sentences: readonly string[]): DocumentFindings => ({
        problems: sentences.map(problemOf),
        notes: [],
      })
      if (leaf.tenant_commitment !== statement.leaf.tenant_commitment)
        return { problems: [{ sentence: `${brief} is a document of another tenant` }], notes: [] }
      const isCarried = document.opens !== undefined && piece !== undefined && tenant_ordinal < piece.first_ordinal
      if (isCarried && before === undefined) return only(...carried.take(document, verifies, leaf, piece))
      if (piece === undefined || tenant_ordinal < piece.first_ordinal || tenant_ordinal > piece.last_ordinal)
        return only("is not of the piece that the statement speaks of")
      if (tenant_ordinal < next) return only(behind(document, tenant_ordinal))
      const gap = { first: next, last: tenant_ordinal - 1, ...afterOf(before), before: brief }
      const skipped = tenant_ordinal > next && gaps.open(gap)
      const digest = verifies ? leafDigest(leaf) : undefined
      const linked = advance(document, { leaf, brief, long: name, digest }, piece)
      const compared = verifies ? comparison.take(document, tenant_ordinal, name) : NOTHING
      return {
        problems: [...(skipped ? [missing(skipped)] : []), ...[...linked, ...compared.problems].map(problemOf)],
        notes: compared.notes.map(note => ({ sentence: `at ${name} ${note}`, tenant_ordinal })),
      }
    },
    end: () => {
      const last = piece?.last_ordinal ?? 0
      const tail = next > last ? [] : [{ first: next, last, ...afterOf(before) }]
      const lacks = [...gaps.left(), ...tail].map(missing)
      // What is missing is reported already, and everything else follows from it.
      const whole = lacks.length === 0 && isWholeChain(statement.leaf)
      const counted = lacks.length > 0 ? [] : countProblems(statement, counts, comparison.open())
      const { head_ordinal, export_clock } = statement.leaf
      const at = lacks.length === 0 && last === head_ordinal ? export_clock : undefined
      return [...lacks, ...[...counted, ...comparison.end(whole, at)].map(sentence => ({ sentence }))]
    },
    found: () => ({ ...counts }),
    outside: () => outside,
    carried: carried.count,
    open: comparison.open,
    waiting: comparison.waiting,
    unreported: () => unreported,
    windows: comparison.windows,
  }
}

const NOTHING = { problems: [], notes: [] }

/** Openings from before the piece: each has its place behind the one before it, and is held against what is in the piece. */
function foldCarried({ carry }: ReturnType<typeof compareDocuments>) {
  let count = 0
  let last = 0
  return {
    count: () => count,
    take: (document: ChainDocument, verifies: boolean, leaf: ChainLeaf, piece: ChainPiece): readonly string[] => {
      const { tenant_ordinal } = leaf
      const isInOrder = tenant_ordinal > last
      last = tenant_ordinal
      count++
      if (document.opens === undefined || !verifies) return []
      const isBefore = tenant_ordinal === piece.first_ordinal - 1
      const places = brokenRules([
        [isInOrder, "is here again, or out of order"],
        [
          !isBefore || leafDigest(leaf) === piece.previous_record,
          "is another document than the one before the piece that the statement names",
        ],
      ])
      return [...places, ...carry(document, document.opens, document.long)]
    },
  }
}

const afterOf = (before: LastDocument | undefined): Pick<OrdinalGap, "after"> =>
  before === undefined ? {} : { after: before.brief }

function missing({ first, last, after, before }: OrdinalGap): DocumentProblem {
  const documents = first === last ? `document ${first} is missing` : `documents ${first} to ${last} are missing`
  const neighbours = [
    ...(after === undefined ? [] : [`after ${after}`]),
    ...(before === undefined ? [] : [`before ${before}`]),
  ]
  const sentence = neighbours.length === 0 ? documents : `${documents}, ${neighbours.join(" and ")}`
  return { sentence, tenant_ordinal: first }
}

/** What is wrong between a document and its neighbours: the one before it, the ends that are stated. */
function linkProblems(
  { leaf, digest }: LastDocument,
  before: LastDocument | undefined,
  { first_ordinal, last_ordinal, previous_record, last_record }: ChainPiece,
): string[] {
  const { tenant_ordinal } = leaf
  const problems: string[] = []
  if (tenant_ordinal === first_ordinal && leaf.previous_record !== previous_record)
    problems.push("does not name the document before it that the statement gives")
  const follows = before?.digest !== undefined && before.leaf.tenant_ordinal === tenant_ordinal - 1
  if (follows && leaf.previous_record !== before.digest)
    problems.push(`does not follow ${before.long}: it names another document before it`)
  if (tenant_ordinal === last_ordinal && digest !== undefined && digest !== last_record)
    problems.push("is not the one that the statement gives as the last")
  return problems
}

/** What the statement counts otherwise, where every document of the piece is here. */
function countProblems({ leaf }: ExportStatement, found: Counts, open: number): readonly string[] {
  const counted = countsOf(leaf)
  const differ = COUNTS.filter(name => found[name] !== counted[name])
  const { first_ordinal = 1, last_ordinal = 0, head_ordinal, open_permits } = leaf
  const toEnd = last_ordinal === head_ordinal
  const isOpenRight = !toEnd || (first_ordinal === 1 ? open === open_permits : open <= open_permits)
  return [
    ...differ.map(name => `the statement counts ${counted[name]} ${name}, and ${found[name]} are here`),
    ...(isOpenRight ? [] : [`the statement counts ${open_permits} open permits, and ${open} are open here`]),
  ]
}

/** Whether a document was admitted in the time asked for. Clocks have one spelling and sort as text. */
function wasAskedFor({ clock }: ChainDocument, { leaf: { from, to } }: ExportStatement): boolean {
  return (from === undefined || clock >= from) && (to === undefined || clock <= to)
}

// The ordinals of a sequence that are still missing, in bounded memory.

/** Most gaps that may still be filled; a further one counts as missing at once. */
export const GAPS_MAX = 1000

type OrdinalGap = {
  readonly first: number
  readonly last: number
  /** Names of the documents before and behind the gap, where there are some. */
  readonly after?: string
  readonly before?: string
}

type OrdinalGaps = {
  /** Adds a gap, which later ordinals may fill; gives it back when there are too many. */
  readonly open: (gap: OrdinalGap) => OrdinalGap | undefined
  /** Takes an ordinal; false when it is in no gap. */
  readonly fill: (ordinal: number) => boolean
  /** The gaps that nothing filled. */
  readonly left: () => readonly OrdinalGap[]
}

export function ordinalGaps(): OrdinalGaps {
  const gaps: OrdinalGap[] = []
  return {
    open: gap => {
      if (gaps.length >= GAPS_MAX) return gap
      gaps.push(gap)
      return undefined
    },
    fill: ordinal => {
      const at = gaps.findIndex(({ first, last }) => first <= ordinal && ordinal <= last)
      const gap = gaps[at]
      if (gap === undefined) return false
      const parts = [
        { ...gap, last: ordinal - 1 },
        { ...gap, first: ordinal + 1 },
      ]
      gaps.splice(at, 1, ...parts.filter(({ first, last }) => first <= last))
      return true
    },
    left: () => gaps,
  }
}
