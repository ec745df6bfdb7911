import type { Block, Line, Report } from "../src/block.ts"

/** A report around the blocks, with nothing of a run in it. */
export function reportWith(blocks: readonly Block[], more: Partial<Report> = {}): Report {
  return {
    title: "Title of the report",
    subject: "Subject of the report",
    density: "roomy",
    language: "en",
    date: "2026-11-21T10:11:12.345Z",
    key_valid_from: 0,
    creator: "A program",
    running_head: { left: "left head", right: "right head", tone: "good" },
    running_foot: "foot",
    blocks,
    attachment: {
      name: "bundle.json",
      description: "The evidence",
      text: '{"text":"Grüße, 你好"}',
    },
    ...more,
  }
}

export function lineOf(text: string): Line {
  return [{ text }]
}

export const HASH = "0123456789abcdef".repeat(4)

/** A block of every kind. */
export function everyKind(): Block[] {
  return [
    {
      kind: "cover",
      title: "Cover title",
      subtitle: "Cover subtitle",
      verdict: "Cover verdict",
      tone: "good",
      facts: [{ label: "Fact", value: lineOf("value") }],
    },
    { kind: "heading", level: 1, text: "First part" },
    { kind: "paragraph", line: [{ text: "The hash is " }, { text: HASH, style: "mono" }, { text: " as printed." }] },
    {
      kind: "timeline",
      alternative: "The run stopped at the gate.",
      steps: [
        { kind: "stage", code: "DOG", label: "Envelope", state: "passed" },
        { kind: "gate", code: "PEPG", label: "Policy gate", state: "stopped" },
        { kind: "stage", code: "DLA", label: "Final seal", state: "not_reached" },
      ],
    },
    { kind: "heading", level: 2, text: "Smaller part" },
    { kind: "list", ordered: true, items: [lineOf("first item"), lineOf("second item")] },
    { kind: "callout", tone: "warn", title: "Callout title", lines: [lineOf("callout text")] },
    { kind: "facts", rows: [{ label: "Label", value: lineOf("fact text") }] },
    {
      kind: "table",
      caption: "Caption",
      columns: [
        { title: "Number", share: 1, align: "end" },
        { title: "Name", share: 4 },
      ],
      rows: Array.from({ length: 60 }, (_, row) => [lineOf(`${row + 1}`), lineOf(`name of row ${row + 1}`)]),
    },
    { kind: "gauge", label: "Budget", before: 10, used: 20, limit: 100, unit: "tokens", tone: "good" },
    {
      kind: "callout",
      tone: "accent",
      title: "Scan",
      lines: [lineOf("beside the code")],
      code: "https://runs.example.com/verify",
    },
    { kind: "heading", level: 3, text: "Smallest part" },
    { kind: "paragraph", line: [{ text: "last words", style: "italic", tone: "muted" }] },
  ]
}
