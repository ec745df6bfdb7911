/**
 * A report as data: what stands in it, in which order, with which meaning. No position, font or colour is known here;
 * `draw-report.ts` gives a block its ink. Every text may hold any Unicode a caller sent.
 */

/** How close a report is set: for reading, or everything at a glance on few pages. */
export type Density = "roomy" | "compact"

/** What a colour would say. */
export type Tone = "plain" | "muted" | "accent" | "good" | "warn" | "bad"

/** A run of text in one style. `mono` is for hashes, identifiers and codes: a hash of 64 digits is never broken. */
export type Span = {
  readonly text: string
  readonly style?: "regular" | "bold" | "italic" | "mono"
  readonly tone?: Tone
}
export type Line = readonly Span[]

/** Opens a part and stands in the outline. */
export type HeadingBlock = { readonly kind: "heading"; readonly level: 1 | 2 | 3; readonly text: string }

export type ParagraphBlock = {
  readonly kind: "paragraph"
  readonly line: Line
  /** Stays on the page of what follows, unless a heading follows. */
  readonly keep?: true
}

export type ListBlock = { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly Line[] }

/** A framed passage that must not be overlooked. */
export type CalloutBlock = {
  readonly kind: "callout"
  readonly tone: Tone
  readonly title: string
  readonly lines: readonly Line[]
  /** Stands beside it as a QR code; the lines say what it holds, for readers who do not scan. */
  readonly code?: string
}

/** Labels and their values. */
export type FactsBlock = {
  readonly kind: "facts"
  readonly rows: readonly { readonly label: string; readonly value: Line; readonly note?: string }[]
}

/** A table; its header stands again on every page it reaches. */
export type TableBlock = {
  readonly kind: "table"
  readonly caption: string
  /** Set small and close: for looking up, not for reading. */
  readonly dense?: true
  /** `share` is the column's part of the width; shares need not add up to 1. */
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

/** Tokens used against a limit. `before` of `used` was there already. */
export type GaugeBlock = {
  readonly kind: "gauge"
  readonly label: string
  readonly before: number
  readonly used: number
  readonly limit: number
  readonly unit: string
  readonly tone: Tone
}

/** Text set line by line as it is: commands. */
export type CodeBlock = { readonly kind: "code"; readonly lines: readonly string[] }

type PageBreakBlock = { readonly kind: "page_break" }

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
  | CodeBlock
  | PageBreakBlock

/** Everything a PDF is made of; the same report always gives the same bytes. */
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
  /** Stands on top of every page. */
  readonly running_head: { readonly left: string; readonly right: string; readonly tone: Tone }
  /** Stands at the foot of every page, before the page number. */
  readonly running_foot: string
  readonly blocks: readonly Block[]
  /** The evidence the report is about, attached as it was sealed. */
  readonly attachment: {
    readonly name: string
    readonly media_type: string
    readonly description: string
    readonly text: string
  }
}
