import type { Tone } from "../block.ts"

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
