import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { savedProblem, savedText } from "./saved-text.ts"

const DOCUMENT = readFileSync(new URL("../../vectors/bundles/valid/ok-full.json", import.meta.url))

test("one leading byte order mark is passed over, and no second one", () => {
  const mark = Uint8Array.of(0xef, 0xbb, 0xbf)
  expect(savedText(DOCUMENT)).toBe(DOCUMENT)
  expect(Buffer.from(savedText(Buffer.concat([mark, DOCUMENT]))).equals(DOCUMENT)).toBe(true)
  expect(savedText(Buffer.concat([mark, mark, DOCUMENT])).subarray(0, 3)).toEqual(Buffer.from(mark))
})

test.each([
  ["UTF-16 with its mark", Buffer.from(`\ufeff${DOCUMENT}`, "utf16le"), "UTF-16"],
  ["UTF-16 without it", Buffer.from(`${DOCUMENT}`, "utf16le"), "UTF-16"],
  ["big-endian UTF-16", Buffer.from(`\ufeff${DOCUMENT}`, "utf16le").swap16(), "UTF-16"],
  ["big-endian UTF-16 without a mark", Buffer.from(`${DOCUMENT}`, "utf16le").swap16(), "UTF-16"],
  ["gzip", gzipSync(DOCUMENT), "gzip"],
  ["a ZIP archive", Buffer.from("PK\u0003\u0004\u0014"), "ZIP"],
  ["the console's CSV", Buffer.from("run,time,outcome\r\n1,2026-05-04,ok\r\n"), "CSV"],
])("%s is named", (_, bytes, name) => {
  expect(savedProblem(bytes)).toContain(name)
})

test.each(["{}", "[1,2]\n", '"text"', "", "{", "true", "no document, of anybody"])("%j is not", text => {
  expect(savedProblem(Buffer.from(text))).toBeUndefined()
})
