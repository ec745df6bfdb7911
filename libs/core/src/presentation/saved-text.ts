/** Files as people save them: a document's text, or a sentence that says what the file holds instead. */

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

const UTF_16 =
  "it is UTF-16 text, as > of Windows PowerShell writes it: save it as UTF-8, with Out-File -Encoding utf8 or curl.exe -o"

/** What no JSON text begins with. A text in UTF-16 without a mark has a zero beside its first letter. */
const OTHERS: readonly (readonly [begins: readonly (number | undefined)[], sentence: string])[] = [
  [[0xff, 0xfe], UTF_16],
  [[0xfe, 0xff], UTF_16],
  [[undefined, 0x00], UTF_16],
  [[0x00], UTF_16],
  [[0x1f, 0x8b], "it is compressed with gzip: unpack it first, with gunzip"],
  [[0x28, 0xb5, 0x2f, 0xfd], "it is compressed with Zstandard: unpack it first, with unzstd"],
  [[0x50, 0x4b, 0x03, 0x04], "it is a ZIP archive: unpack it first"],
]

/** Characters that are read of a file to see whether it is a table. */
const HEAD_LENGTH = 1024
const TABLE = /^"?[A-Za-z][\w "]*(?:,[\w "]*)+\r?\n/
const CSV = "it is a table (CSV), which seals nothing: save the bundle of one of its runs from /runs/{id}/artifacts"

const beginsWith = (bytes: Uint8Array, wanted: readonly (number | undefined)[]): boolean =>
  bytes.length >= wanted.length && wanted.every((byte, at) => byte === undefined || bytes[at] === byte)

/** The text of a document in a file, without one leading byte order mark, which editors write and no document has. */
export const savedText = (bytes: Uint8Array): Uint8Array =>
  beginsWith(bytes, BYTE_ORDER_MARK) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes

/** What a file is that is no document by its first bytes; undefined for any other. */
export function savedProblem(bytes: Uint8Array): string | undefined {
  const known = OTHERS.find(([begins]) => beginsWith(bytes, begins))
  if (known !== undefined) return known[1]
  return TABLE.test(String.fromCharCode(...bytes.subarray(0, HEAD_LENGTH))) ? CSV : undefined
}

/**
 * Why compressed input is not read. The same sentence everywhere, because decoders find the same fault at different places: Node's ignores
 * zeros behind a stream, a browser's refuses them, and neither says which of these it found.
 */
export const NOT_EXPANDED = "could not be expanded: it was cut off, is damaged, or has something behind its end"
