import type { DocumentFonts, UsedFont } from "../fonts/document-fonts.ts"
import type { StructureNode } from "../tags/structure.ts"
import { type Colour, PAGE } from "./style.ts"

/** One page being drawn: its content stream's operators (ISO 32000-1, annex A), the nodes of its marks, its fonts. */
export type Sheet = {
  readonly index: number
  readonly operators: string[]
  readonly marks: StructureNode[]
  readonly fonts: Map<string, UsedFont>
}

/** Draws on one page; positions are points from the page's left and top edge. */
export type Pen = { readonly sheet: Sheet; readonly fonts: DocumentFonts }

export type Point = readonly [x: number, y: number]

/** How far a quarter of a circle's control points are from its ends. */
const ARC = 0.5523

export function newPen(index: number, fonts: DocumentFonts): Pen {
  return { sheet: { index, operators: [], marks: [], fonts: new Map() }, fonts }
}

/** A number as PDF writes it. */
export function number(value: number): string {
  const rounded = Math.round(value * 100) / 100
  return Object.is(rounded, -0) ? "0" : String(rounded)
}

export function paint(pen: Pen, operators: string): void {
  pen.sheet.operators.push(operators)
}

/** A position in PDF's own coordinates. */
export function at(x: number, y: number): string {
  return `${number(x)} ${number(PAGE.height - y)}`
}

export function colour(value: Colour): string {
  return value.map(part => String(Math.round(part * 1000) / 1000)).join(" ")
}

/** What `draw` paints belongs to the node. */
export function marked(pen: Pen, node: StructureNode, draw: () => void): void {
  const mark = pen.sheet.marks.push(node) - 1
  node.children.push({ page: pen.sheet.index, mark })
  paint(pen, `/${node.type} <</MCID ${mark}>> BDC`)
  draw()
  paint(pen, "EMC")
}

/** What `draw` paints is no content: rules, backgrounds, running heads. */
export function artifact(pen: Pen, draw: () => void, type: "Layout" | "Pagination" = "Layout"): void {
  paint(pen, `/Artifact <</Type /${type}>> BDC`)
  draw()
  paint(pen, "EMC")
}

export function fillRectangle(pen: Pen, x: number, y: number, width: number, height: number, fill: Colour): void {
  paint(pen, `${colour(fill)} rg ${at(x, y + height)} ${number(width)} ${number(height)} re f`)
}

export function strokeRectangle(
  pen: Pen,
  box: readonly [x: number, y: number, width: number, height: number],
  ink: Colour,
  weight: number,
): void {
  const [x, y, width, height] = box
  paint(pen, `${colour(ink)} RG ${number(weight)} w ${at(x, y + height)} ${number(width)} ${number(height)} re S`)
}

export function strokeLine(pen: Pen, [x1, y1]: Point, [x2, y2]: Point, ink: Colour, weight: number): void {
  paint(pen, `${colour(ink)} RG ${number(weight)} w ${at(x1, y1)} m ${at(x2, y2)} l S`)
}

/** A closed shape; without a fill its inside is white. */
export function polygon(pen: Pen, points: readonly Point[], fill: Colour, ink: Colour, weight: number): void {
  const path = points.map(([x, y], index) => `${at(x, y)} ${index === 0 ? "m" : "l"}`).join(" ")
  paint(pen, `${colour(fill)} rg ${colour(ink)} RG ${number(weight)} w ${path} b`)
}

export function circle(pen: Pen, [x, y]: Point, radius: number, fill: Colour, ink: Colour, weight: number): void {
  const arm = radius * ARC
  const path = [
    `${at(x + radius, y)} m`,
    `${at(x + radius, y - arm)} ${at(x + arm, y - radius)} ${at(x, y - radius)} c`,
    `${at(x - arm, y - radius)} ${at(x - radius, y - arm)} ${at(x - radius, y)} c`,
    `${at(x - radius, y + arm)} ${at(x - arm, y + radius)} ${at(x, y + radius)} c`,
    `${at(x + arm, y + radius)} ${at(x + radius, y + arm)} ${at(x + radius, y)} c`,
  ]
  paint(pen, `${colour(fill)} rg ${colour(ink)} RG ${number(weight)} w ${path.join(" ")} b`)
}
