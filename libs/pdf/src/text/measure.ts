import { type Face, face as openFace } from "../fonts/faces.node.ts"
import { advanceOf, type Glyph, type Shaped } from "../fonts/glyph.ts"
import { mirrored } from "./direction.ts"
import type { Item } from "./items.ts"
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

/** Words that reports repeat are shaped once per thread. */
const CACHED_WORDS = 20_000
const CACHED_LENGTH = 48
const cache = new Map<string, Shaped>()

/** Ligatures would hide letters from a reader who counts them. */
const FEATURES = { liga: false, clig: false, dlig: false, hlig: false }
const SIMPLE = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u00ff]*$/
const JOINING = /[\p{Script_Extensions=Arabic}\p{Script_Extensions=Syriac}]/u
const NEEDS_LAYOUT =
  /[\p{M}\p{Script_Extensions=Arabic}\p{Script=Hebrew}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u

/** A glyph without ink and room, where a face has it: ZWNJ. */
const ZERO_WIDTH = 0x200c

/** Where ink may reach above and below the baseline, in thousandths of the text face's em: further would touch other lines. */
export const INK_TOP = 1150
export const INK_BOTTOM = -420
/** How far ink may reach to the left and right of a glyph's own room, in thousandths of the em. */
const OVERHANG = 420

/** Shapes text of one face and one direction. */
function shape(face: Face, text: string, rightToLeft: boolean): Shaped {
  const key = text.length <= CACHED_LENGTH ? `${face.name}${rightToLeft ? "<" : ">"}${text}` : undefined
  const known = key === undefined ? undefined : cache.get(key)
  if (known !== undefined) return known
  const shaped = shapeAfresh(face, text, rightToLeft)
  if (key !== undefined) {
    if (cache.size >= CACHED_WORDS) cache.clear()
    cache.set(key, shaped)
  }
  return shaped
}

function shapeAfresh(face: Face, text: string, rightToLeft: boolean): Shaped {
  // Kerning, which is most of the work of a report, shows in words. A longer text is a signature or the like.
  const plain = (SIMPLE.test(text) && (face.monospaced || text.length > CACHED_LENGTH)) || !NEEDS_LAYOUT.test(text)
  const glyphs =
    plain || rightToLeft !== /[\u0590-\u08ff\ufb1d-\ufeff]/.test(text) ? undefined : laidOut(face, text, rightToLeft)
  return measured(face, glyphs ?? unshaped(face, text, rightToLeft))
}

function measured(face: Face, glyphs: readonly Glyph[]): Shaped {
  let width = 0
  for (const glyph of glyphs) width += glyph.advance
  return { glyphs, width, contained: width > 0 && glyphs.every(glyph => hasRoom(face, glyph)) }
}

function hasRoom({ tables, scale }: Face, glyph: Glyph): boolean {
  const ink = tables.ink(glyph.id)
  if (ink === undefined) return true
  const [left, bottom, right, top] = ink.map(edge => (edge * 1000) / tables.unitsPerEm)
  if (left === undefined || bottom === undefined || right === undefined || top === undefined) return false
  if ((top + glyph.dy) * scale > INK_TOP || (bottom + glyph.dy) * scale < INK_BOTTOM) return false
  return glyph.advance === 0 || (left + glyph.dx >= -OVERHANG && right + glyph.dx <= glyph.advance + OVERHANG)
}

/** One glyph per character, in their order on paper. */
function unshaped(face: Face, text: string, rightToLeft: boolean): Glyph[] {
  const glyphs: Glyph[] = []
  for (const character of text) {
    const drawn = rightToLeft ? mirrored(character) : character
    const id = face.glyph(drawn.codePointAt(0) ?? 0) || face.glyph(character.codePointAt(0) ?? 0)
    glyphs.push({ id, text: character, advance: advanceOf(face, id), dx: 0, dy: 0 })
  }
  return rightToLeft ? glyphs.reverse() : glyphs
}

/** Undefined when a glyph would belong to no character: its text could not be extracted. */
function laidOut(face: Face, text: string, rightToLeft: boolean): Glyph[] | undefined {
  const features = JOINING.test(text) ? {} : FEATURES
  const run = face.font.layout(text, features, undefined, undefined, rightToLeft ? "rtl" : "ltr")
  const scale = 1000 / face.tables.unitsPerEm
  const glyphs: Glyph[] = []
  for (const [index, glyph] of run.glyphs.entries()) {
    const position = run.positions[index]
    if (glyph.id === 0 || glyph.codePoints.length === 0 || position === undefined) return undefined
    const characters = glyph.codePoints.map(code => String.fromCodePoint(code))
    const text = rightToLeft ? splitLigature(face, characters, glyphs) : characters.join("")
    glyphs.push({
      id: glyph.id,
      text,
      advance: Math.round(position.xAdvance * scale),
      dx: Math.round(position.xOffset * scale),
      dy: Math.round(position.yOffset * scale),
    })
  }
  return glyphs
}

/**
 * What a ligature's own code reads as. Programs differ in how they reverse the text of one right-to-left code, so
 * each further letter gets a code of its own, without ink or room, to the left; the ligature keeps the first letter.
 */
function splitLigature(face: Face, characters: readonly string[], glyphs: Glyph[]): string {
  const id = face.glyph(ZERO_WIDTH)
  const [first = "", ...others] = characters
  if (id === 0 || advanceOf(face, id) !== 0 || face.tables.ink(id) !== undefined) return characters.join("")
  for (const text of others.reverse()) glyphs.push({ id, text, advance: 0, dx: 0, dy: 0 })
  return first
}
