/** Prose on a terminal. */
import type { Line } from "./print.ts"

/** Maximum columns of a line. */
const WIDTH = 111
const INDENT = "  "

/** A text as indented lines, broken between words. */
export function paragraph(text: string): readonly Line[] {
  const lines: string[] = []
  let line = INDENT
  for (const word of text.split(" ")) {
    const longer = line === INDENT ? line + word : `${line} ${word}`
    if (longer.length <= WIDTH || line === INDENT) line = longer
    else {
      lines.push(line)
      line = INDENT + word
    }
  }
  return [...lines, line].map(one => [one])
}
