/**
 * A report as data: a list of blocks, in order, each with a meaning. Positions, fonts and colours are chosen by
 * `draw-report.ts`. Every text may hold any Unicode.
 */

/** How close a report is set: for reading, or everything at a glance on few pages. */
export type Density = "roomy" | "compact"

/** A meaning, drawn as a colour. */
export type Tone = "plain" | "muted" | "accent" | "good" | "warn" | "bad"

/** A run of text in one style. `mono` is for hashes, identifiers and codes: a hash of 64 digits is never broken. */
export type Span = {
  readonly text: string
  readonly style?: "regular" | "bold" | "italic" | "mono"
  readonly tone?: Tone
  /** Begins a new line of its paragraph or cell. */
  readonly newLine?: true
  /** A command, which is copied as it is: it stays on one line, and is set smaller where it has to be. */
  readonly whole?: true
}
export type Line = readonly Span[]

/** Starts a part; it is also an entry of the outline. */
export type HeadingBlock = { readonly kind: "heading"; readonly level: 1 | 2 | 3; readonly text: string }

export type ParagraphBlock = {
  readonly kind: "paragraph"
  readonly line: Line
  /** Stays on the page of the next block, unless that is a heading. */
  readonly keepWithNext?: true
}

export type ListBlock = { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly Line[] }

/** A framed passage that must not be overlooked. */
export type CalloutBlock = {
  readonly kind: "callout"
  readonly tone: Tone
  readonly title: string
  readonly lines: readonly Line[]
  /** Drawn beside the lines as a QR code. The lines have to give the same text, for readers who do not scan. */
  readonly code?: string
}

/** Labels and their values. */
export type FactsBlock = {
  readonly kind: "facts"
  readonly rows: readonly { readonly label: string; readonly value: Line }[]
}

/** A table; its header is repeated on every page. */
export type TableBlock = {
  readonly kind: "table"
  readonly caption: string
  /** Small type and narrow rows, for looking up rather than for reading. */
  readonly dense?: true
  /** `share` is the column's part of the width, if no longer word needs another's room; shares need not add up to 1. */
  readonly columns: readonly { readonly title: string; readonly share: number; readonly align?: "start" | "end" }[]
  /** Every row has a cell for every column. */
  readonly rows: readonly (readonly Line[])[]
}

/** Steps in order, and how far they went. */
export type TimelineBlock = {
  readonly kind: "timeline"
  readonly steps: readonly {
    readonly kind: "stage" | "gate"
    readonly code: string
    readonly label: string
    readonly state: "passed" | "stopped" | "not_reached"
  }[]
  /** The drawing in one sentence, for readers who do not see it. */
  readonly alternative: string
}

/** An amount against a limit: `used` on top of `before`. */
export type GaugeBlock = {
  readonly kind: "gauge"
  readonly label: string
  readonly before: number
  readonly used: number
  readonly limit: number
  readonly unit: string
  readonly tone: Tone
}

/** The outcome at a glance: the head of the first page. */
export type CoverBlock = {
  readonly kind: "cover"
  readonly title: string
  readonly subtitle: string
  readonly verdict: string
  readonly tone: Tone
  readonly facts: FactsBlock["rows"]
}

export type Block =
  | CoverBlock
  | HeadingBlock
  | ParagraphBlock
  | ListBlock
  | CalloutBlock
  | FactsBlock
  | TableBlock
  | TimelineBlock
  | GaugeBlock

/** Everything that a PDF is made from; the same report always gives the same bytes. */
export type Report = {
  readonly title: string
  readonly subject: string
  readonly density: Density
  /** BCP 47. */
  readonly language: string
  /** RFC 3339: the time of what the report is about; no clock is read. */
  readonly date: string
  /** Unix seconds from which the key counts that will sign the report. */
  readonly key_valid_from: number
  /** Name of the program that made the report, for the document information. */
  readonly creator: string
  /** Printed at the top of every page. */
  readonly running_head: { readonly left: string; readonly right: string; readonly tone: Tone }
  /** Printed at the foot of every page, before the page number. */
  readonly running_foot: string
  readonly blocks: readonly Block[]
  /** The JSON text that the PDF carries, byte for byte. */
  readonly attachment: {
    readonly name: string
    readonly description: string
    readonly text: string
  }
}
