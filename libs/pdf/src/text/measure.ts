import { type Face, face as openFace } from "../fonts/faces.node.ts"
import { advanceOf, type Glyph, type Shaped } from "../fonts/glyph.ts"
import type { Item } from "./items.ts"
import { CACHED_WORDS, shape } from "./shape.ts"
import { missing, type Placeholder } from "./visible.ts"

/** An item with its room on paper; lengths in points. */
export type Box = {
  readonly item: Item
  /** The glyphs to draw: of the text, or of a placeholder's label. */
  readonly shaped: Shaped
  readonly size: number
  readonly width: number
  /** Set for a placeholder: drawn as a frame around its label. */
  readonly placeholder?: Placeholder
}

const SPACE = 0x20
const LABEL_SCALE = 0.6
/** Between the frame of a placeholder and its label, and outside of it; parts of the text's size. */
const LABEL_PADDING = 0.16
export const FRAME_MARGIN = 0.06

const MARK = /\p{M}/u

/** The room an item takes; text whose ink would reach into other lines becomes placeholders. `width` is the widest room there is. */
export function boxesOf(item: Item, size: number, width: number): Box[] {
  if (item.placeholder !== undefined) return [placeholderBox(item, item.placeholder, size)]
  const box = textBox(item, item.text, size)
  if (isContained(box)) return [box]
  return clustersOf(item.text).flatMap(cluster => {
    const single = textBox(item, cluster, size)
    if (isContained(single) && single.width <= width) return [single]
    return Array.from(cluster, character => {
      const alone = textBox(item, character, size)
      const shown = !MARK.test(character) && isContained(alone) && alone.width <= width
      return shown ? alone : placeholderBox({ ...item, text: character }, missing(character), size)
    })
  })
}

/** The box of a part of an item's text. */
export function textBox(item: Item, text: string, size: number): Box {
  const shaped = shape(item.face, text, item.level % 2 === 1)
  const scaled = size * item.face.scale
  return {
    item: text === item.text ? item : { ...item, text },
    shaped,
    size: scaled,
    width: (shaped.width * scaled) / 1000,
  }
}

/** Letters with their marks: a break never parts them. */
export function clustersOf(text: string): string[] {
  const clusters: string[] = []
  for (const character of text) {
    const last = clusters.length - 1
    if (last >= 0 && MARK.test(character)) clusters[last] += character
    else clusters.push(character)
  }
  return clusters
}

/** Labels as glyphs, made once per thread: a text may hold a hundred thousand boxes, and few different ones. */
const labels = new Map<string, Shaped>()

function placeholderBox(item: Item, placeholder: Placeholder, size: number): Box {
  const face = openFace("mono")
  const labelSize = size * LABEL_SCALE
  const shaped = labels.get(placeholder.label) ?? framed(face, shape(face, placeholder.label, false).glyphs)
  if (labels.size >= CACHED_WORDS) labels.clear()
  labels.set(placeholder.label, shaped)
  return {
    item: item.kind === "placeholder" ? item : { ...item, kind: "placeholder", face, breakAfter: true },
    shaped,
    size: labelSize,
    width: (shaped.width * labelSize) / 1000,
    placeholder,
  }
}

/** A label between spaces that reach to the ends of its box: readers that measure gaps then see none beside it. */
function framed(face: Face, label: readonly Glyph[]): Shaped {
  const padding = Math.round(((LABEL_PADDING + FRAME_MARGIN) * 1000) / LABEL_SCALE)
  const id = face.glyph(SPACE)
  const space = { id, text: " ", advance: padding, dy: 0 }
  const glyphs = [{ ...space, dx: 0 }, ...label, { ...space, dx: padding - advanceOf(face, id) }]
  return { glyphs, width: glyphs.reduce((sum, { advance }) => sum + advance, 0), contained: true }
}

function isContained({ item, shaped }: Box): boolean {
  return item.kind === "space" || shaped.contained
}
