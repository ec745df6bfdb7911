import type { Tone } from "../../block.ts"

/** Points: 1/72 inch; ISO 216 A4. */
export const PAGE = { width: 595.28, height: 841.89 } as const

/** The text area. */
export const MARGIN = { left: 56, right: 56, top: 74, bottom: 66 } as const

export const TEXT_WIDTH: number = PAGE.width - MARGIN.left - MARGIN.right
export const TEXT_HEIGHT: number = PAGE.height - MARGIN.top - MARGIN.bottom

/** Red, green, blue in sRGB, 0 to 1. */
export type Colour = readonly [number, number, number]

function hex(rgb: number): Colour {
  return [(rgb >> 16) / 255, ((rgb >> 8) & 255) / 255, (rgb & 255) / 255]
}

export const WHITE: Colour = hex(0xffffff)
export const HAIRLINE: Colour = hex(0xd5dae1)
export const RULE: Colour = hex(0x8f99a6)
export const STAND_IN: Colour = hex(0x6b7280)

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

/** How a passage is set: sizes in points. */
export type Setting = {
  readonly size: number
  /** Baseline to baseline. */
  readonly leading: number
  /** What a span without a style is set in. */
  readonly style: "regular" | "bold" | "italic" | "mono"
  /** What a span without a tone is set in. */
  readonly tone: Tone
}

function setting(size: number, leading: number, style: Setting["style"], tone: Tone = "plain"): Setting {
  return { size, leading, style, tone }
}

export type SettingName =
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
  | "note"
  | "code"
  | "running"
  | "step_code"
  | "step_label"

/** The type scale. */
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
  note: setting(7.6, 10.8, "regular", "muted"),
  code: setting(7.8, 11.6, "mono"),
  running: setting(7.6, 10, "regular", "muted"),
  step_code: setting(6.6, 8.6, "mono"),
  step_label: setting(6.8, 8.8, "regular", "muted"),
}
