import { escapeControls, MAX_PIECE_LENGTH } from "@runseal/core/presentation/printable"
import fc from "fast-check"
import { expect, test } from "vitest"
import { printJson, printLines } from "./print.ts"

const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const plain = { colour: false, ascii: false }
const anyText = fc.string({ unit: "binary", maxLength: 200 })

test("no character of a document that acts on a terminal is printed", () => {
  fc.assert(
    fc.property(fc.array(anyText), spans => {
      const printed = printLines([spans.map(text => ({ text, tone: "bad" as const }))], plain)
      expect(printed.slice(0, -1)).not.toMatch(UNSAFE)
      expect(printed.endsWith("\n")).toBe(true)
    }),
  )
})

test("a line of a document stays one line", () => {
  expect(printLines([["a\nb\r\u2028c"]], plain)).toBe("a\\u{a}b\\u{d}\\u{2028}c\n")
})

test("text without such characters is printed as it is", () => {
  expect(escapeControls("Größe ✓ 文書 – 😀")).toBe("Größe ✓ 文書 – 😀")
})

test("a long piece is cut and says by how much", () => {
  expect(printLines([["x".repeat(MAX_PIECE_LENGTH + 7)]], plain)).toBe(`${"x".repeat(MAX_PIECE_LENGTH)}… (7 more)\n`)
})

test("ASCII output holds ASCII alone", () => {
  fc.assert(
    fc.property(anyText, text => {
      expect(printLines([[text]], { colour: false, ascii: true })).toMatch(/^[ -~]*\n$/)
    }),
  )
})

test("colours stand around a piece, never inside it", () => {
  const printed = printLines([[{ text: "FAILED", tone: "bad" }]], { colour: true, ascii: false })
  expect(printed).toContain("FAILED")
  expect(printed).not.toBe("FAILED\n")
})

test("JSON is printed in ASCII and reads back as it was", () => {
  fc.assert(
    fc.property(fc.dictionary(anyText, anyText), value => {
      const printed = printJson(value)
      expect(printed).toMatch(/^[\n -~]*$/)
      expect(JSON.parse(printed)).toEqual({ ...value })
    }),
  )
})
