/** Makers of spans, lines and the blocks that every section uses. */
import { isSha256Hex } from "@runseal/canonical"
import type { Block, FactsBlock, HeadingBlock, Line, ParagraphBlock, Span, TableBlock } from "@runseal/pdf/block"

/** Longest text of a caller or operator that is shown whole, in UTF-16 units. */
export const MAX_TEXT_LENGTH = 20_000
/** Longest such text within a sentence, on the cover or in a part for quick reading. */
export const MAX_SHORT_LENGTH = 96
/** Most rows of one table. */
export const MAX_TABLE_ROWS = 2_000
/** Last second that a date can name. */
const MAX_UNIX_SECONDS = 8_640_000_000_000

export const bold = (text: string): Span => ({ text, style: "bold" })
/** Hashes, identifiers, codes, commands. */
export const mono = (text: string): Span => ({ text, style: "mono" })
/** A command on a line of its own, which is never broken. */
export const command = (text: string): Span => ({ ...mono(text), whole: true })
export const muted = (text: string): Span => ({ text, tone: "muted" })

/** The span at the beginning of a new line. */
export const onNewLine = (span: Span): Span => ({ ...span, newLine: true })

type Piece = string | Span | Line
/** Puts texts, spans and lines together. */
export const line = (...pieces: readonly Piece[]): Line =>
  pieces.flatMap(piece => {
    if (typeof piece === "string") return [{ text: piece }]
    return "text" in piece ? [piece] : piece
  })

export const heading = (level: HeadingBlock["level"], text: string): HeadingBlock => ({ kind: "heading", level, text })
export const paragraph = (...pieces: readonly Piece[]): ParagraphBlock => ({
  kind: "paragraph",
  line: line(...pieces),
})
/** A remark on what follows it. */
export const remark = (text: string): ParagraphBlock => ({
  ...paragraph({ text, style: "italic", tone: "muted" }),
  keepWithNext: true,
})

export type Fact = FactsBlock["rows"][number]
/** A label and its value. */
export const fact = (label: string, ...value: readonly Piece[]): Fact => ({ label, value: line(...value) })
/** A heading of level 3 above blocks; nothing above nothing. */
export const subsection = (title: string, blocks: readonly Block[]): readonly Block[] =>
  blocks.length === 0 ? [] : [heading(3, title), ...blocks]

/** No block for no facts. */
export const facts = (rows: readonly Fact[]): readonly Block[] => (rows.length === 0 ? [] : [{ kind: "facts", rows }])

/** The same block set for looking up, when it can be. */
export const densely = (block: Block): Block => (block.kind === "table" ? { ...block, dense: true } : block)

/** A table of at most `MAX_TABLE_ROWS` rows, with a remark when there are more; the attached bundle has all. */
export function table(
  caption: string,
  columns: TableBlock["columns"],
  rows: TableBlock["rows"],
  total: number = rows.length,
): readonly Block[] {
  const shown = rows.slice(0, MAX_TABLE_ROWS)
  return [...firstOf(shown.length, total), { kind: "table", caption, columns, rows: shown }]
}

/** A remark when not all of something is shown. */
export const firstOf = (shown: number, total: number): readonly Block[] =>
  shown === total
    ? []
    : [remark(`Shown are the first ${count(shown)} of ${count(total)}; the attached bundle holds all.`)]

/** A non-negative integer, its thousands separated by commas. */
export const count = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ",")
export const countOf = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

/** Text of a caller or operator as it is; a hash in mono. Longer text than `max` is cut between characters, with a note. */
export function quote(text: string, max: number = MAX_TEXT_LENGTH): Line {
  if (text === "") return [muted("(empty text)")]
  const isHash: boolean = isSha256Hex(text)
  if (isHash) return [mono(text)]
  if (text.length <= max) return [{ text }]
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 1)) ? max - 1 : max
  const left = `[cut here: ${count(end)} of ${count(text.length)} characters; the attached bundle holds all]`
  return [{ text: text.slice(0, end) }, muted(` ${left}`)]
}

/** As `quote`, within a sentence. */
export const shortQuote = (text: string, max: number = MAX_SHORT_LENGTH): Line => {
  if (text.length <= max) return quote(text)
  const [first] = quote(text, max)
  return [{ text: `${first?.text ?? ""}…` }, muted(" (cut)")]
}

/** Unix seconds, decimal, as RFC 3339 UTC. */
export function unixTime(seconds: string): string {
  const value = Number(seconds)
  return value <= MAX_UNIX_SECONDS
    ? `${new Date(value * 1000).toISOString().replace(".000Z", "Z")}`
    : `${seconds} s after the Unix epoch`
}

const EXACT_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/
const MONTHS = "January February March April May June July August September October November December".split(" ")

/** An RFC 3339 time in UTC as people write it, "23 November 2026, 12:04:05 UTC"; any other text as it is. */
export function readableTime(exact: string): string {
  const [, year, month, day, clock] = EXACT_TIME.exec(exact) ?? []
  return clock === undefined ? exact : `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}, ${clock} UTC`
}

/** A time of the service as people write it, with the exact one beside it; any other text as `quote` gives it. */
export const timeOr = (text: string): Line =>
  EXACT_TIME.test(text) ? [{ text: readableTime(text) }, muted(` ${text}`)] : quote(text)

/** A field's name in words: `mcd_finding_hash` is "MCD finding hash". */
export function fieldLabel(name: string): string {
  const words = name
    .replaceAll("_", " ")
    .replace(/\b(?:id|ids|mcd|ai|ip)\b/g, word => word.toUpperCase().replace("IDS", "IDs"))
  return words.charAt(0).toUpperCase() + words.slice(1)
}
