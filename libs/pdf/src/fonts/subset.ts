import { type TrueType, view } from "./truetype.ts"

/** Tables that the glyphs' instructions need, copied as they are. */
const COPIED = ["cvt ", "fpgm", "prep"] as const

/** Flags of a composite glyph's part (OpenType, "glyf"). */
const WORDS = 0x0001
const XY_VALUES = 0x0002
const SCALE = 0x0008
const MORE = 0x0020
const XY_SCALE = 0x0040
const TWO_BY_TWO = 0x0080

/** A glyph of the subset: one of the font's, moved up by `rise` font units. */
export type Cut = { readonly glyph: number; readonly rise: number }

const NOT_DEFINED: Cut = { glyph: 0, rise: 0 }

/**
 * A TrueType file with only `cuts`, numbered in that order from 1 (0 is `.notdef`), and the parts of composites behind them.
 * For PDF's CIDFontType2 (ISO 32000-1, 9.9): glyf, head, hhea, hmtx, loca, maxp and what instructions need. Raised marks are
 * composites, so that a line of text keeps one baseline and is extracted in one piece.
 */
export function subsetTrueType(font: TrueType, cuts: readonly Cut[]): Uint8Array {
  const chosen = [NOT_DEFINED, ...cuts]
  const places = new Map<string, number>()
  for (const [place, cut] of chosen.entries()) if (!places.has(keyOf(cut))) places.set(keyOf(cut), place)
  const outlines: Uint8Array[] = []
  for (let place = 0; place < chosen.length; place++) {
    const { glyph, rise } = chosen[place] ?? NOT_DEFINED
    const outline = font.outline(glyph)
    const partAt = (part: number): number => placeOf(part, chosen, places)
    outlines.push(
      rise === 0 || outline.length < 10 ? renumberParts(outline, partAt) : raised(outline, partAt(glyph), rise),
    )
  }
  const tables = new Map<string, Uint8Array>()
  for (const tag of COPIED) {
    const bytes = font.table(tag)
    if (bytes !== undefined) tables.set(tag, bytes)
  }
  const offsets = new DataView(new ArrayBuffer((outlines.length + 1) * 4))
  const glyf = joinAligned(outlines, (index, at) => offsets.setUint32(index * 4, at))
  tables.set("glyf", glyf)
  tables.set("loca", new Uint8Array(offsets.buffer))
  tables.set("hmtx", metrics(font, chosen))
  const head = font.table("head")
  if (head !== undefined) tables.set("head", edited(head, setHead))
  const hhea = font.table("hhea")
  if (hhea !== undefined)
    tables.set(
      "hhea",
      edited(hhea, data => data.setUint16(34, chosen.length)),
    )
  const maxp = font.table("maxp")
  if (maxp !== undefined)
    tables.set(
      "maxp",
      edited(maxp, data => setMaximum(data, chosen.length)),
    )
  return write(tables)
}

function keyOf({ glyph, rise }: Cut): string {
  return `${glyph} ${rise}`
}

function placeOf(glyph: number, chosen: Cut[], places: Map<string, number>): number {
  const cut = { glyph, rise: 0 }
  const known = places.get(keyOf(cut))
  if (known !== undefined) return known
  places.set(keyOf(cut), chosen.length)
  return chosen.push(cut) - 1
}

/** A composite of one part, moved up. */
function raised(outline: Uint8Array, part: number, rise: number): Uint8Array {
  const bytes = new Uint8Array(18)
  const data = view(bytes)
  const box = view(outline)
  data.setInt16(0, -1)
  for (const [at, move] of [
    [2, 0],
    [4, rise],
    [6, 0],
    [8, rise],
  ] as const) {
    data.setInt16(at, box.getInt16(at) + move)
  }
  data.setUint16(10, WORDS | XY_VALUES)
  data.setUint16(12, part)
  data.setInt16(16, rise)
  return bytes
}

function renumberParts(outline: Uint8Array, place: (glyph: number) => number): Uint8Array {
  if (outline.length < 10 || view(outline).getInt16(0) >= 0) return outline
  const bytes = outline.slice()
  const data = view(bytes)
  for (let at = 10, flags = MORE; flags & MORE; ) {
    flags = data.getUint16(at)
    data.setUint16(at + 2, place(data.getUint16(at + 2)))
    at += flags & WORDS ? 8 : 6
    at += flags & SCALE ? 2 : flags & XY_SCALE ? 4 : flags & TWO_BY_TWO ? 8 : 0
  }
  return bytes
}

function metrics(font: TrueType, cuts: readonly Cut[]): Uint8Array {
  const data = new DataView(new ArrayBuffer(cuts.length * 4))
  for (const [place, { glyph }] of cuts.entries()) {
    data.setUint16(place * 4, font.advance(glyph))
    data.setInt16(place * 4 + 2, font.leftBearing(glyph))
  }
  return new Uint8Array(data.buffer)
}

function edited(table: Uint8Array, edit: (data: DataView) => void): Uint8Array {
  const bytes = table.slice()
  edit(view(bytes))
  return bytes
}

/** No checksum yet; offsets of 32 bits. */
function setHead(head: DataView): void {
  head.setUint32(8, 0)
  head.setInt16(50, 1)
}

/** The number of glyphs, and one more level of composites. */
function setMaximum(maxp: DataView, glyphs: number): void {
  maxp.setUint16(4, glyphs)
  maxp.setUint16(28, Math.max(1, maxp.getUint16(28)))
  maxp.setUint16(30, maxp.getUint16(30) + 1)
}

/** Parts one after the other on four-byte boundaries; tells where each starts and, last, where they end. */
function joinAligned(parts: readonly Uint8Array[], starts: (index: number, at: number) => void): Uint8Array {
  let length = 0
  for (const [index, part] of parts.entries()) {
    starts(index, length)
    length += (part.length + 3) & ~3
  }
  starts(parts.length, length)
  const joined = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += (part.length + 3) & ~3
  }
  return joined
}

function write(tables: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const entries = [...tables].sort(([left], [right]) => (left < right ? -1 : 1))
  const headLength = 12 + entries.length * 16
  const head = new DataView(new ArrayBuffer(headLength))
  const power = Math.floor(Math.log2(entries.length))
  head.setUint32(0, 0x00010000)
  head.setUint16(4, entries.length)
  head.setUint16(6, 2 ** power * 16)
  head.setUint16(8, power)
  head.setUint16(10, entries.length * 16 - 2 ** power * 16)
  const body = joinAligned(
    entries.map(([, bytes]) => bytes),
    (index, at) => {
      const entry = entries[index]
      if (entry === undefined) return
      const [tag, bytes] = entry
      const row = 12 + index * 16
      for (let letter = 0; letter < 4; letter++) head.setUint8(row + letter, tag.charCodeAt(letter))
      head.setUint32(row + 4, checksum(bytes))
      head.setUint32(row + 8, headLength + at)
      head.setUint32(row + 12, bytes.length)
    },
  )
  const file = new Uint8Array(headLength + body.length)
  file.set(new Uint8Array(head.buffer))
  file.set(body, headLength)
  const headTable = entries.findIndex(([tag]) => tag === "head")
  const adjustmentAt = view(file).getUint32(12 + headTable * 16 + 8) + 8
  view(file).setUint32(adjustmentAt, (0xb1b0afba - checksum(file)) >>> 0)
  return file
}

/** Sum of big-endian 32-bit words, the last one filled with zeros (OpenType, "Calculating checksums"). */
function checksum(bytes: Uint8Array): number {
  const data = view(bytes)
  const whole = bytes.length & ~3
  let sum = 0
  for (let at = 0; at < whole; at += 4) sum = (sum + data.getUint32(at)) >>> 0
  let rest = 0
  for (let at = whole; at < whole + 4 && whole < bytes.length; at++) rest = rest * 256 + (bytes[at] ?? 0)
  return (sum + rest) >>> 0
}
