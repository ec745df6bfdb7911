/** Numbers of a profile: signed, 16 bits before and after the point. */
const FIXED = 65_536
const CURVE_POINTS = 1024

type Vector = readonly [number, number, number]

/** The primaries of IEC 61966-2-1 (sRGB) and the white of ICC's connection space, adapted to D50. */
const D50: Vector = [0.9642, 1, 0.8249]
const RED: Vector = [0.43607, 0.22249, 0.01392]
const GREEN: Vector = [0.38515, 0.71687, 0.09708]
const BLUE: Vector = [0.14307, 0.06061, 0.7141]

/** An ICC profile (ICC.1:2001-04) that says what the report's red, green and blue are: sRGB. */
export function colourProfile(): Uint8Array {
  const curve = toneCurve()
  const tags: (readonly [string, Uint8Array])[] = [
    ["desc", description("sRGB IEC61966-2.1")],
    ["cprt", tagged("text", new TextEncoder().encode("No copyright, use freely\0"))],
    ["wtpt", vector(D50)],
    ["rXYZ", vector(RED)],
    ["gXYZ", vector(GREEN)],
    ["bXYZ", vector(BLUE)],
    ["rTRC", curve],
    ["gTRC", curve],
    ["bTRC", curve],
  ]
  const start = 128 + 4 + tags.length * 12
  const distinct = [...new Set(tags.map(([, body]) => body))]
  const offsets = new Map<Uint8Array, number>()
  let length = start
  for (const body of distinct) {
    offsets.set(body, length)
    length += (body.length + 3) & ~3
  }
  const profile = new Uint8Array(length)
  const data = new DataView(profile.buffer)
  writeHeader(profile, data, length)
  data.setUint32(128, tags.length)
  for (const [index, [name, body]] of tags.entries()) {
    ascii(profile, 132 + index * 12, name)
    data.setUint32(136 + index * 12, offsets.get(body) ?? 0)
    data.setUint32(140 + index * 12, body.length)
  }
  for (const [body, offset] of offsets) profile.set(body, offset)
  return profile
}

function writeHeader(profile: Uint8Array, data: DataView, length: number): void {
  data.setUint32(0, length)
  data.setUint32(8, 0x02100000)
  ascii(profile, 12, "mntrRGB XYZ ")
  for (const [index, part] of [1999, 6, 3].entries()) data.setUint16(24 + index * 2, part)
  ascii(profile, 36, "acsp")
  for (const [index, part] of D50.entries()) data.setInt32(68 + index * 4, Math.round(part * FIXED))
}

function ascii(bytes: Uint8Array, at: number, text: string): void {
  bytes.set(new TextEncoder().encode(text), at)
}

function tagged(type: string, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(8 + body.length)
  ascii(bytes, 0, type)
  bytes.set(body, 8)
  return bytes
}

function vector(value: Vector): Uint8Array {
  const data = new DataView(new ArrayBuffer(12))
  for (const [index, part] of value.entries()) data.setInt32(index * 4, Math.round(part * FIXED))
  return tagged("XYZ ", new Uint8Array(data.buffer))
}

/** textDescriptionType: the text in ASCII, and empty Unicode and Macintosh forms of it. */
function description(text: string): Uint8Array {
  const body = new Uint8Array(4 + text.length + 1 + 4 + 4 + 2 + 1 + 67)
  new DataView(body.buffer).setUint32(0, text.length + 1)
  ascii(body, 4, text)
  return tagged("desc", body)
}

function toneCurve(): Uint8Array {
  const data = new DataView(new ArrayBuffer(4 + CURVE_POINTS * 2))
  data.setUint32(0, CURVE_POINTS)
  for (let index = 0; index < CURVE_POINTS; index++) {
    const value = index / (CURVE_POINTS - 1)
    const linear = value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
    data.setUint16(4 + index * 2, Math.round(linear * 65_535))
  }
  return tagged("curv", new Uint8Array(data.buffer))
}
