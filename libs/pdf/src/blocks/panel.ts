import type { Tone } from "../block.ts"
import type { Strip } from "../page/flow.ts"
import { artifact, fillRectangle, type Pen } from "../page/pen.ts"
import { type Column, INK, PAGE, type Style, WASH } from "../page/style.ts"

const PANEL_BAR = 3
/** A panel up to this height is not split. */
const WHOLE_PANEL: number = PAGE.height / 4

/** A box with a background in its tone and a bar at its left edge. */
export type Panel = { readonly column: Column; readonly tone: Tone; readonly padding: number }

export function panelIn(style: Style, tone: Tone, column: Column = style.column): Panel {
  return { column, tone, padding: style.panelPadding }
}

/** The column of text within a panel. */
export function textIn({ column, padding }: Panel): Column {
  return { x: column.x + PANEL_BAR + padding, width: column.width - PANEL_BAR - 2 * padding }
}

/** Strips between the top and bottom of a panel, which begins `gap` points below the block before it. */
export function framed(panel: Panel, strips: readonly Strip[], gap: number): Strip[] {
  const top = { ...panelSpace(panel, panel.padding - 3, true), gap }
  const height = strips.reduce((sum, strip) => sum + strip.height, 0)
  const whole = height <= WHOLE_PANEL
  const body = strips.map((strip, index) =>
    whole || index === strips.length - 1 ? { ...strip, keepWithNext: true } : strip,
  )
  return [top, ...body, panelSpace(panel, panel.padding - 2, false)]
}

/** Empty room in a panel. */
export function panelSpace(panel: Panel, height: number, keepWithNext: boolean): Strip {
  return { height, gap: 0, keepWithNext, draw: (pen, top) => ground(panel)(pen, top, height) }
}

/** Draws the background of a panel behind one of its strips. */
export function ground({ column: { x, width }, tone }: Panel): (pen: Pen, top: number, height: number) => void {
  return (pen, top, height) =>
    artifact(pen, () => {
      fillRectangle(pen, x, top, width, height, WASH[tone])
      fillRectangle(pen, x, top, PANEL_BAR, height, INK[tone])
    })
}
