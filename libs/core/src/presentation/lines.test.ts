import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { linesOf, type NumberedLine } from "./lines.ts"

const MAX_BYTES = 12

async function read(chunks: readonly Uint8Array[], maxBytes = MAX_BYTES): Promise<readonly NumberedLine[]> {
  const lines: NumberedLine[] = []
  for await (const line of linesOf(chunks, maxBytes)) lines.push(line)
  return lines
}

/** What the lines of a whole text are: split where it says, blank ones counted and left out, long ones without bytes. */
const expected = (text: Buffer): readonly NumberedLine[] =>
  text
    .toString("latin1")
    .split("\n")
    .map((line, at) => ({ number: at + 1, line }))
    .filter(({ line }) => /[^ \t\r]/.test(line) || line.length > MAX_BYTES)
    .map(({ number, line }) => (line.length > MAX_BYTES ? { number } : { number, bytes: Buffer.from(line, "latin1") }))

/** Bytes that mean something here: line ends, returns, and some that are no UTF-8. */
const bytes = fc.array(fc.constantFrom(0x0a, 0x0d, 0x41, 0x20, 0x09, 0x00, 0xff, 0x0a), { maxLength: 200 })
const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 20 })

describe("the lines of a stream", () => {
  test("are those of the whole, wherever it is cut into pieces", async () => {
    await fc.assert(
      fc.asyncProperty(bytes, cuts, async (values, places) => {
        const whole = Buffer.from(values)
        const ends = [...places.toSorted((a, b) => a - b), whole.length]
        const chunks = ends.map((end, at) => whole.subarray(ends[at - 1] ?? 0, end))
        const found = await read(chunks)
        expect(found.map(({ number, bytes: line }) => [number, line && Buffer.from(line).toString("hex")])).toEqual(
          expected(whole).map(({ number, bytes: line }) => [number, line && Buffer.from(line).toString("hex")]),
        )
      }),
      { numRuns: 500 },
    )
  })

  test("give nothing of a line that is too long, however long it is", async () => {
    const piece = Buffer.alloc(1_000_000, "x")
    const found = await read([...Array.from({ length: 200 }, () => piece), Buffer.from("\nok\n")])
    expect(found.map(({ number, bytes: line }) => [number, line?.length])).toEqual([
      [1, undefined],
      [2, 2],
    ])
  })

  test("hold one that came in very many pieces", async () => {
    const pieces = Array.from({ length: 300_000 }, () => Buffer.from("x"))
    expect((await read(pieces, pieces.length))[0]?.bytes?.length).toBe(pieces.length)
  })

  test("very many blank ones are passed over in one walk", { timeout: 60_000 }, async () => {
    const blank = ["\n", "\r\n", " \n", "\t \r\n"].map(line => Buffer.alloc(16_777_216, line))
    const since = performance.now()
    expect(await read([...blank, new Uint8Array([0x7b, 0x7d, 0x0a])])).toEqual([
      { number: 37_748_737, bytes: new Uint8Array([0x7b, 0x7d]) },
    ])
    // A walk takes a tenth of a second, and something made of each line took a minute.
    expect(performance.now() - since).toBeLessThan(20_000)
  })
})
