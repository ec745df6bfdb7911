/** Pages as small pictures: PNG with a palette (W3C PNG, third edition). */
import { crc32, deflateSync } from "node:zlib"

/** An image as `pdftoppm` writes it: 8 bits each of red, green and blue. */
export type Image = { readonly width: number; readonly height: number; readonly rgb: Uint8Array }

/** Reads a binary portable pixmap (PPM "P6") of 8 bits a channel. @throws Error when it is none */
export function readPixmap(bytes: Uint8Array): Image {
  const head = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(Buffer.from(bytes.subarray(0, 64)).toString("latin1"))
  const [whole = "", width = 0, height = 0] = [head?.[0], Number(head?.[1]), Number(head?.[2])]
  const rgb = bytes.subarray(whole.length)
  if (head === null || rgb.length !== width * height * 3) throw new Error("not a pixmap of 8 bits a channel")
  return { width, height, rgb }
}

const MAX_COLOURS = 256
const colourAt = (rgb: Uint8Array, at: number): number =>
  ((rgb[at] ?? 0) << 16) | ((rgb[at + 1] ?? 0) << 8) | (rgb[at + 2] ?? 0)

function distance(a: number, b: number): number {
  const part = (shift: number): number => (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2
  return part(16) + part(8) + part(0)
}

/** The image as a PNG of at most 256 colours; a rarer colour becomes the nearest of them. */
export function indexedPng({ width, height, rgb }: Image): Buffer {
  const colours = Array.from({ length: width * height }, (_, i) => colourAt(rgb, i * 3))
  const counts = new Map<number, number>()
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const byCount = [...counts].sort(([a, m], [b, n]) => n - m || a - b).map(([colour]) => colour)
  const palette = byCount.slice(0, MAX_COLOURS)
  const indexOf = new Map(byCount.map(colour => [colour, nearest(palette, colour)]))
  const rows = Buffer.alloc((width + 1) * height)
  for (const [i, colour] of colours.entries()) {
    const row = Math.floor(i / width)
    rows[row * (width + 1) + 1 + (i % width)] = indexOf.get(colour) ?? 0
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits a pixel, colour type 3: an index into the palette.
  header.set([8, 3, 0, 0, 0], 8)
  const plte = Buffer.from(palette.flatMap(colour => [(colour >> 16) & 255, (colour >> 8) & 255, colour & 255]))
  const parts = [chunk("IHDR", header), chunk("PLTE", plte), chunk("IDAT", deflateSync(rows, { level: 9 }))]
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...parts, chunk("IEND", Buffer.alloc(0))])
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0
  for (const [i, known] of palette.entries())
    if (distance(known, colour) < distance(palette[best] ?? 0, colour)) best = i
  return best
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}
