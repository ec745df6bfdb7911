import { encode } from "uqr"
import { wellFormed } from "../fonts/utf16.ts"
import { at, colour, marked, number, type Pen, paint } from "../page/pen.ts"
import { INK, PAGE, type Style } from "../page/style.ts"
import type { StructureNode } from "../tags/structure.ts"

/** What a code of the highest version holds at error correction M (ISO/IEC 18004, table 7), in bytes. */
const QR_MAX_BYTES = 2331

type QrCode = {
  /** Length of its side, in points. */
  readonly size: number
  readonly draw: (pen: Pen, figure: StructureNode, x: number, top: number) => void
}

/** The code that holds the text; undefined when no code can. */
export function qrCode(content: string, { code: size }: Style): QrCode | undefined {
  const text = wellFormed(content)
  if (Buffer.byteLength(text) > QR_MAX_BYTES) return undefined
  const { data, size: modules } = encode(text, { ecc: "M", border: 0 })
  return {
    size,
    draw: (pen, figure, x, top) => {
      figure.box = [x, PAGE.height - top - size, x + size, PAGE.height - top]
      marked(pen, figure, () => drawModules(pen, data, size / modules, [x, top]))
    },
  }
}

/** Dark modules as one path, neighbours in a row as one rectangle. */
function drawModules(
  pen: Pen,
  rows: readonly (readonly boolean[])[],
  module: number,
  [x, top]: readonly [number, number],
): void {
  const rectangles: string[] = []
  for (const [row, cells] of rows.entries()) {
    for (let start = 0; start < cells.length; start++) {
      if (!cells[start]) continue
      let end = start + 1
      while (cells[end]) end++
      const corner = at(x + start * module, top + (row + 1) * module)
      rectangles.push(`${corner} ${number((end - start) * module)} ${number(module)} re`)
      start = end
    }
  }
  paint(pen, `${colour(INK.plain)} rg ${rectangles.join(" ")} f`)
}
