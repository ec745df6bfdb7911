import type { Density, Tone } from "../block.ts"
import type { Setting } from "../text/setting.ts"

/** Points: 1/72 inch; ISO 216 A4. */
export const PAGE = { width: 595.28, height: 841.89 } as const

/** A column of text on the page. */
export type Column = { readonly x: number; readonly width: number }

/** Red, green, blue in sRGB, 0 to 1. */
export type Colour = readonly [number, number, number]

function hex(rgb: number): Colour {
  return [(rgb >> 16) / 255, ((rgb >> 8) & 255) / 255, (rgb & 255) / 255]
}

export const WHITE: Colour = hex(0xffffff)
export const HAIRLINE: Colour = hex(0xd5dae1)
export const RULE: Colour = hex(0x8f99a6)
export const PLACEHOLDER: Colour = hex(0x6b7280)

/** Ink on paper; each has a contrast above 4.5 on white and on its own wash (WCAG 2.2, 1.4.3). */
export const INK: Readonly<Record<Tone, Colour>> = {
  plain: hex(0x1a2230),
  muted: hex(0x566070),
  accent: hex(0x1c4a86),
  good: hex(0x1a6341),
  warn: hex(0x7f5200),
  bad: hex(0x9c1f2b),
}

/** The same meanings as the ground of a panel. */
export const WASH: Readonly<Record<Tone, Colour>> = {
  plain: hex(0xf3f5f7),
  muted: hex(0xf3f5f7),
  accent: hex(0xecf1f8),
  good: hex(0xe9f4ee),
  warn: hex(0xfcf4e1),
  bad: hex(0xfbecec),
}

function setting(size: number, leading: number, style: Setting["style"], tone: Tone = "plain"): Setting {
  return { size, leading, style, tone }
}

type SettingName =
  | "verdict"
  | "cover_title"
  | "subtitle"
  | "h1"
  | "h2"
  | "h3"
  | "body"
  | "callout_title"
  | "caption"
  | "cell"
  | "column_title"
  | "dense_cell"
  | "dense_label"
  | "label"
  | "running"
  | "step_code"
  | "step_label"

/** The type scale of a report for reading. */
export const SETTINGS: Readonly<Record<SettingName, Setting>> = {
  verdict: setting(23, 29, "bold"),
  cover_title: setting(10, 14, "bold", "muted"),
  subtitle: setting(10.5, 15, "regular", "plain"),
  h1: setting(15, 20, "bold", "accent"),
  h2: setting(11.5, 16, "bold"),
  h3: setting(9.6, 14, "bold", "muted"),
  body: setting(9.4, 13.8, "regular"),
  callout_title: setting(9.8, 14, "bold"),
  caption: setting(8.6, 12, "bold", "muted"),
  cell: setting(8.4, 12, "regular"),
  column_title: setting(7.8, 11, "bold", "muted"),
  dense_cell: setting(7.2, 9.6, "regular"),
  dense_label: setting(7.2, 9.6, "bold", "muted"),
  label: setting(8.4, 12, "bold", "muted"),
  running: setting(7.6, 10, "regular", "muted"),
  step_code: setting(6.6, 8.6, "mono"),
  step_label: setting(6.8, 8.8, "regular", "muted"),
}

/** The type scale of a report on few pages: nothing below 7 points but the drawing's labels. */
const COMPACT_SETTINGS: Readonly<Record<SettingName, Setting>> = {
  ...SETTINGS,
  verdict: setting(19, 23, "bold"),
  cover_title: setting(9, 12, "bold", "muted"),
  subtitle: setting(9, 12, "regular", "plain"),
  h1: setting(12, 15, "bold", "accent"),
  h2: setting(9.4, 12, "bold"),
  h3: setting(8.6, 11, "bold", "muted"),
  body: setting(8.4, 11.4, "regular"),
  callout_title: setting(8.8, 11.8, "bold"),
  caption: setting(7.8, 10, "bold", "muted"),
  cell: setting(7.2, 9.6, "regular"),
  column_title: setting(7.2, 9.6, "bold", "muted"),
  label: setting(7.2, 9.6, "bold", "muted"),
  running: setting(7.2, 9.6, "regular", "muted"),
}

/** The sizes and distances of a density: lengths in points. */
export type Style = {
  /** The text area, from the page's left and top edge. */
  readonly area: { readonly left: number; readonly top: number; readonly width: number; readonly height: number }
  /** The whole width of the text area. */
  readonly column: Column
  /** Tops of the running head and foot. */
  readonly head: number
  readonly foot: number
  readonly settings: Readonly<Record<SettingName, Setting>>
  /** Room above blocks, above headings by level, and above items of a list. */
  readonly gaps: { readonly block: number; readonly heading: readonly [number, number, number]; readonly item: number }
  readonly panelPadding: number
  /** Side of a QR code. */
  readonly code: number
  /** Dense tables, two short facts in a row, a gauge on one line. */
  readonly compact: boolean
}

type Margins = { readonly side: number; readonly top: number; readonly bottom: number }

function styleOf(margins: Margins, more: Omit<Style, "area" | "column">): Style {
  const width = PAGE.width - 2 * margins.side
  const height = PAGE.height - margins.top - margins.bottom
  return { ...more, area: { left: margins.side, top: margins.top, width, height }, column: { x: margins.side, width } }
}

/** A report's style by its density. */
export const STYLES: Readonly<Record<Density, Style>> = {
  roomy: styleOf(
    { side: 56, top: 74, bottom: 66 },
    {
      head: 38,
      foot: PAGE.height - 44,
      settings: SETTINGS,
      gaps: { block: 8, heading: [20, 14, 10], item: 3 },
      panelPadding: 11,
      code: 92,
      compact: false,
    },
  ),
  compact: styleOf(
    { side: 50, top: 56, bottom: 46 },
    {
      head: 31,
      foot: PAGE.height - 34,
      settings: COMPACT_SETTINGS,
      gaps: { block: 6, heading: [12, 8, 7], item: 1.5 },
      panelPadding: 8,
      code: 78,
      compact: true,
    },
  ),
}
