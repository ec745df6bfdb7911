/** Compares the hashes that a report prints with the record it carries. */
import type { Run } from "./report-text.ts"

/** Made when the report was rendered and labelled so: no hash of the record. docs/report.md */
export const RENDER_TIME_PREFIXES = ["claim:", "compile:"] as const
const LABELLED = /(?:claim|compile):([0-9a-f]+)/g
/** A labelled hash whose column cannot hold it goes on in the next run. */
const BROKEN = /(?:claim|compile):[0-9a-f]{32}$/
const REST = /^[0-9a-f]{32}$/
const HASH_DIGITS = 64

/** Fewer hex digits in a row than this are no hash and no half of one. */
const PIECE_DIGITS = 16
const piecesIn = (text: string): readonly string[] =>
  (text.match(/[0-9a-f]+/g) ?? []).filter(({ length }) => length >= PIECE_DIGITS)
/** Whether a text has digits that are compared with the record: what is not of the record must not be printed with them. */
export const hasHashDigits = (text: string): boolean => piecesIn(asSeen(text)).length > 0
const RTL_LETTER = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
const HASH_LETTER = /[0-9a-z]/

/** Whether a letter that runs from right to left follows, before any letter or digit of a hash. */
function isBeforeRtl(text: string, from: number): boolean {
  for (let at = from; at < text.length && !HASH_LETTER.test(text.charAt(at)); at++)
    if (RTL_LETTER.test(text.charAt(at))) return true
  return false
}

/**
 * The same of a text as it is drawn. Digits after a right-to-left letter are drawn before it, so beside the text before the
 * letter: digits at the end of such a row are compared without it. Unicode Standard Annex #9.
 */
const shownPiecesIn = (text: string): readonly string[] =>
  [...text.matchAll(/[0-9a-f]+/g)].flatMap(({ 0: row, index }) => {
    const piece = isBeforeRtl(text, index + row.length) ? withoutLastDigits(row) : row
    return piece.length < PIECE_DIGITS ? [] : [piece]
  })

function withoutLastDigits(row: string): string {
  let end = row.length
  while (end > 0 && row.charCodeAt(end - 1) <= NINE) end--
  return row.slice(0, end)
}

const NINE = 0x39
/** A text as a reader takes it: capitals, letters of full width and the like are the letters, and what is not seen is not there. UAX #15, UAX #44. */
const asSeen = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
/** Runs that end and begin this close, in sizes of their font, are read as one. */
const JOINING_GAP = 0.5
/** A blank that leaves less room than this, in sizes of the font, is drawn over: nobody sees it. */
const BLANK_GAP = 0.05
/** Baselines this close, in sizes of the font, are one line: lines of ours are more than one size apart. */
const SAME_LINE = 0.3
/** Comparisons of a piece with a place of the record. A record of many like numbers needs some million. */
const MAX_COMPARISONS = 100_000_000

/** What a report prints, as far as hashes go. */
export type PrintedHashes = {
  /** Whole hashes, of 64 digits. */
  readonly whole: ReadonlySet<string>
  /** Longer runs of hex digits, and pieces of them as columns break them. */
  readonly pieces: ReadonlySet<string>
}

/**
 * The hashes on the pages and in the texts beside them, without those labelled as made at render time and without the digits of the
 * report's own address, which are no hash: the token of a published run, the name of a host.
 */
export function printedHashes(runs: readonly Run[], beside: readonly string[]): PrintedHashes {
  const texts = [...lineTexts(unlabelled(runs)), ...beside]
  const found = new Set(texts.flatMap(text => shownPiecesIn(withoutLabelled(asSeen(text)))))
  const address = addressDigits(beside)
  const pieces = new Set([...found].filter(piece => !address.some(row => row.includes(piece))))
  return { pieces, whole: new Set([...pieces].flatMap(wholeIn)) }
}

/** The address that the code for cameras holds, as its alternative text gives it. A code holds no longer one. */
const ADDRESS = /^QR code: (https?:\/\/\S{1,2331})$/

/** The rows of hex digits in the first such address, as long as they are shorter than a hash. */
function addressDigits(beside: readonly string[]): readonly string[] {
  const address = beside.map(text => ADDRESS.exec(text)?.[1]).find(found => found !== undefined)
  return address === undefined ? [] : piecesIn(asSeen(address)).filter(({ length }) => length < HASH_DIGITS)
}

/** A text without the hashes in it that are labelled; what follows one is left. */
const withoutLabelled = (text: string): string =>
  text.replace(LABELLED, (all, hex: string) => (hex.length < HASH_DIGITS ? all : ` ${hex.slice(HASH_DIGITS)}`))

/** The whole hashes in a row of hex digits, one behind the other. */
const wholeIn = (piece: string): readonly string[] =>
  Array.from({ length: Math.floor(piece.length / HASH_DIGITS) }, (_, at) =>
    piece.slice(at * HASH_DIGITS, (at + 1) * HASH_DIGITS),
  )

/** The runs without what is labelled. */
function unlabelled(runs: readonly Run[]): readonly Run[] {
  let broken: Run | undefined
  return runs.map(run => {
    const rest = broken !== undefined && REST.test(run.text) && isBelow(run, broken)
    broken = BROKEN.test(run.text) ? run : undefined
    return { ...run, text: rest ? " " : withoutLabelled(run.text).replace(BROKEN, " ") }
  })
}

/** Whether a run continues the one above it, in the same column and style. */
function isBelow(run: Run, above: Run): boolean {
  const lines = (above.baseline - run.baseline) / run.size
  return run.page === above.page && Math.abs(run.left - above.left) < run.size && lines > 0 && lines < MAX_LINES_BELOW
}

/** How far the next line of a column is at most, in sizes of the font. */
const MAX_LINES_BELOW = 3

/** The text of each line, whatever the order of drawing: runs that a reader sees as one are put together. */
const lineTexts = (runs: readonly Run[]): readonly string[] => linesOf(runs).map(lineText)

function lineText(line: readonly Run[]): string {
  let text = ""
  let before: Run | undefined
  let isApart = false
  for (const run of line.toSorted((a, b) => a.left - b.left)) {
    const shown = run.text.trim()
    isApart ||= /^\s|\s$/.test(run.text)
    if (shown === "") continue
    const gap = before === undefined ? 0 : (run.left - before.right) / run.size
    const isNear = Math.abs(gap) <= JOINING_GAP && !(isApart && gap >= BLANK_GAP)
    text += `${isNear ? "" : " "}${shown}`
    before = run
    isApart = /\s$/.test(run.text)
  }
  return text
}

/** The runs of each line of each page. */
function linesOf(runs: readonly Run[]): readonly (readonly Run[])[] {
  const lines: Run[][] = []
  let before: Run | undefined
  for (const run of runs.toSorted((a, b) => a.page - b.page || b.baseline - a.baseline)) {
    const isSame = before?.page === run.page && before.baseline - run.baseline <= SAME_LINE * run.size
    if (isSame) lines.at(-1)?.push(run)
    else lines.push([run])
    before = run
  }
  return lines
}

/** How many of the pieces are not in a text; undefined when the search would take too long. */
export function foreignTo(text: string, pieces: ReadonlySet<string>): number | undefined {
  const byBeginning = new Map<string, string[]>()
  for (const piece of pieces) {
    const beginning = piece.slice(0, PIECE_DIGITS)
    const others = byBeginning.get(beginning)
    if (others === undefined) byBeginning.set(beginning, [piece])
    else others.push(piece)
  }
  let comparisons = 0
  for (const run of piecesIn(asSeen(text))) {
    for (let at = 0; at + PIECE_DIGITS <= run.length && byBeginning.size > 0; at++) {
      const beginning = run.slice(at, at + PIECE_DIGITS)
      const known = byBeginning.get(beginning)
      if (known === undefined) continue
      comparisons += known.length
      if (comparisons > MAX_COMPARISONS) return undefined
      const left = known.filter(piece => !run.startsWith(piece, at))
      if (left.length === 0) byBeginning.delete(beginning)
      else if (left.length < known.length) byBeginning.set(beginning, left)
    }
  }
  return [...byBeginning.values()].reduce((sum, left) => sum + left.length, 0)
}
