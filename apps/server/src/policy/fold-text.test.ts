import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { decodeJsonEscapes, foldText, searchForms, unmaskText } from "./fold-text.ts"

describe("the folded form", () => {
  test.each([
    ["case", "IGNORE", "ignore"],
    ["zero-width characters", "ig\u200bno\u200dre\ufeff", "ignore"],
    ["soft hyphens and bidirectional controls", "ig\u00adno\u202ere", "ignore"],
    ["control characters", "ig\u0000no\u0007re", "ignore"],
    ["variation selectors and tag characters", "ig\ufe0fnore\u{e0041}", "ignore"],
    ["full-width letters", "ｉｇｎｏｒｅ", "ignore"],
    ["mathematical letters", "𝐢𝓰𝔫𝕠𝗿𝚎", "ignore"],
    ["accents and stacked marks", "ìg\u0336n\u0336ó\u0308re", "ignore"],
    ["Cyrillic and Greek lookalikes", "іgnоrе", "ignore"],
    ["small capitals", "ɪɢɴᴏʀᴇ", "ignore"],
    ["letters without a dot or with a stroke", "ıgnøre", "ignore"],
    ["letters in boxes and circles, and halves of flags", "🅸🅶🅽🅞🇷🇪", "ignore"],
    ["spaces of other widths and heights", "a\u00a0b\u2003c\u3000d\u2028e\vf\fg\u0085h", "a b c d e f g h"],
    ["JSON escapes", '\\u0069gnore\\nall \\"x\\"', 'ignore\nall "x"'],
  ])("undoes %s", (_, text, folded) => {
    expect(foldText(text)).toBe(folded)
  })

  test("keeps line breaks and tabs", () => {
    expect(foldText("a\tb\r\nc é")).toBe("a\tb\r\nc e")
  })

  /** The definition of unmasking, applied to the whole text at once. */
  const unmaskedAtOnce = (text: string): string => {
    const invisible = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]|[^\P{Cc}\t\n\v\f\r\x85]/gu
    const seen = decodeJsonEscapes(text).replace(invisible, "").normalize("NFKD").replace(invisible, "")
    return seen.replace(/[\p{Z}\v\f\x85]/gu, " ")
  }

  test("of each character alone is that of the whole text", () => {
    const unit = fc.constantFrom(
      "\u0301",
      "\u0315",
      "\u0316",
      "a",
      "가",
      "\u1161",
      "\ufdfa",
      "Ω",
      "\\u0301",
      "\\ud83d\\ude00",
    )
    const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit }))
    fc.assert(
      fc.property(texts, text => {
        expect(unmaskText(text)).toBe(unmaskedAtOnce(text))
      }),
    )
  })

  test("of every character there is, beside a mark and a syllable, is that of the whole text", () => {
    for (let code = 0; code < 0x11_0000; code += 1) {
      const text = `${String.fromCodePoint(code)}\u0316a\u0301${String.fromCodePoint(code)}\u1161`
      const unmasked = unmaskText(text)
      if (unmasked !== unmaskedAtOnce(text))
        expect({ code, unmasked }).toEqual({ code, unmasked: unmaskedAtOnce(text) })
    }
  })

  test("is at most 18 times as long as the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), text => {
        expect(foldText(text).length).toBeLessThanOrEqual(18 * text.length)
      }),
    )
  })

  test.each([
    ["marks in descending order of class", "a".concat("\u0315\u0300".repeat(250_000))],
    ["runs of one mark after another", `a${"\u0300".repeat(250_000)}${"\u0316".repeat(250_000)}`],
    ["the widest compatibility form", "\ufdfa".repeat(349_525)],
    ["escapes of escapes", "\\\\".repeat(500_000)],
  ])("is made in linear time of %s", (_, text) => {
    const start = performance.now()
    expect(foldText(text).length).toBeLessThanOrEqual(18 * text.length)
    expect(performance.now() - start).toBeLessThan(30_000)
  })
})

describe("JSON escapes", () => {
  test("are decoded once: JSON text inside a JSON string becomes JSON text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), text => {
        expect(decodeJsonEscapes(JSON.stringify(text).slice(1, -1)).replace(/[ \n\t\r]/g, " ")).toBe(
          text.replace(/[\b\f\n\t\r]/g, " "),
        )
      }),
    )
  })
})

describe("the forms to search", () => {
  test("plain text has one, as given in lowercase", () => {
    expect(searchForms("Order 8812:\n2 × A".replace("×", "x"))).toEqual(["\norder 8812:\n2 x a\n"])
  })

  test("any other text has two, the second folded", () => {
    expect(searchForms("Café")).toEqual(["\ncafé\n", "\ncafe\n"])
    expect(searchForms("C:\\new")).toEqual(["\nc:\\new\n", "\nc:\new\n"])
  })

  test("a disguised text with a backslash has three: the backslash of a path is no escape", () => {
    expect(searchForms("C:\\né")).toEqual(["\nc:\\né\n", "\nc:\ne\n", "\nc:\\ne\n"])
  })

  test("for one form the folded one would be the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), text => {
        const [given, folded = given] = searchForms(text)
        expect(given).toBe(`\n${text.toLowerCase()}\n`)
        expect(folded).toBe(`\n${foldText(text)}\n`)
      }),
    )
  })
})
