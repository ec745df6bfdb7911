import { utf16Hex } from "./utf16.ts"

/** Entries of one `bfchar` section (Adobe technical note 5014). */
const SECTION = 100

/** The ToUnicode map (ISO 32000-1, 9.10.3) of codes counted from 1. */
export function toUnicodeMap(texts: readonly string[]): string {
  const sections: string[] = []
  for (let start = 0; start < texts.length; start += SECTION) {
    const entries = texts.slice(start, start + SECTION).map((text, index) => {
      const code = (start + index + 1).toString(16).padStart(4, "0")
      return `<${code}> <${utf16Hex(text)}>`
    })
    sections.push(`${entries.length} beginbfchar\n${entries.join("\n")}\nendbfchar`)
  }
  return [
    "/CIDInit /ProcSet findresource begin",
    "12 dict begin",
    "begincmap",
    "/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def",
    "/CMapName /Adobe-Identity-UCS def",
    "/CMapType 2 def",
    "1 begincodespacerange\n<0000> <ffff>\nendcodespacerange",
    ...sections,
    "endcmap",
    "CMapName currentdict /CMap defineresource pop",
    "end",
    "end",
  ].join("\n")
}
