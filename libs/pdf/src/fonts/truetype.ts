/** A TrueType file as its tables (ISO/IEC 14496-22, "OpenType"), read without copying. */
export type TrueType = {
  readonly unitsPerEm: number
  readonly glyphCount: number
  readonly ascent: number
  readonly descent: number
  readonly capHeight: number
  readonly italicAngle: number
  /** xMin, yMin, xMax, yMax of all glyphs. */
  readonly box: GlyphBox
  readonly table: (tag: string) => Uint8Array | undefined
  /** Font units. */
  readonly advance: (glyph: number) => number
  readonly leftBearing: (glyph: number) => number
  /** The glyph's bytes in `glyf`; empty for a glyph without ink. */
  readonly outline: (glyph: number) => Uint8Array
  /** Where its ink is, in font units; undefined for a glyph without ink. */
  readonly ink: (glyph: number) => GlyphBox | undefined
}

type GlyphBox = readonly [xMin: number, yMin: number, xMax: number, yMax: number]

const TRUE_TYPE = 0x00010000

/** Throws when a table that glyphs need is missing: a broken installation, not a broken request. */
export function readTrueType(file: Uint8Array): TrueType {
  const tables = directory(file)
  const table = (tag: string): Uint8Array | undefined => tables.get(tag)
  const need = (tag: string): DataView => {
    const bytes = tables.get(tag)
    if (bytes === undefined) throw new Error(`font table ${tag} is missing`)
    return view(bytes)
  }
  const [head, hhea, maxp, hmtx, loca] = ["head", "hhea", "maxp", "hmtx", "loca"].map(need)
  const os2 = viewOf(tables.get("OS/2"))
  const post = viewOf(tables.get("post"))
  const glyf = tables.get("glyf")
  if (!head || !hhea || !maxp || !hmtx || !loca || !glyf) throw new Error("font tables are missing")
  const longOffsets = head.getInt16(50) === 1
  const fullMetrics = hhea.getUint16(34)
  const offset = (glyph: number): number => (longOffsets ? loca.getUint32(glyph * 4) : loca.getUint16(glyph * 2) * 2)
  const outline = (glyph: number): Uint8Array => glyf.subarray(offset(glyph), offset(glyph + 1))
  return {
    unitsPerEm: head.getUint16(18),
    glyphCount: maxp.getUint16(4),
    ascent: hhea.getInt16(4),
    descent: hhea.getInt16(6),
    capHeight: os2 !== undefined && os2.getUint16(0) >= 2 ? os2.getInt16(88) : hhea.getInt16(4),
    italicAngle: (post?.getInt32(4) ?? 0) / 65536,
    box: boxAt(head, 36),
    table,
    advance: glyph => hmtx.getUint16(Math.min(glyph, fullMetrics - 1) * 4),
    leftBearing: glyph =>
      glyph < fullMetrics ? hmtx.getInt16(glyph * 4 + 2) : hmtx.getInt16(fullMetrics * 4 + (glyph - fullMetrics) * 2),
    outline,
    ink: glyph => {
      const bytes = outline(glyph)
      return bytes.length < 10 ? undefined : boxAt(view(bytes), 2)
    },
  }
}

export function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function viewOf(bytes: Uint8Array | undefined): DataView | undefined {
  return bytes && view(bytes)
}

function boxAt(data: DataView, at: number): GlyphBox {
  return [data.getInt16(at), data.getInt16(at + 2), data.getInt16(at + 4), data.getInt16(at + 6)]
}

function directory(file: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const data = view(file)
  if (data.getUint32(0) !== TRUE_TYPE) throw new Error("font file is not TrueType")
  const tables = new Map<string, Uint8Array>()
  for (let index = 0; index < data.getUint16(4); index++) {
    const at = 12 + index * 16
    const tag = String.fromCharCode(...file.subarray(at, at + 4))
    const start = data.getUint32(at + 8)
    tables.set(tag, file.subarray(start, start + data.getUint32(at + 12)))
  }
  return tables
}
