/** What a compressed answer asks of its source, and how it ends. */
import { randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { gunzipSync, zstdDecompressSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { compressed } from "./content-coding.ts"

const PART_BYTES = 1_000_000

/** Parts that do not compress, and what became of them. */
function source(count: number, failure?: Error) {
  const seen = { made: 0, ended: false }
  async function* parts(): AsyncGenerator<Uint8Array> {
    try {
      while (seen.made < count) {
        seen.made++
        yield randomBytes(PART_BYTES)
      }
      if (failure !== undefined) throw failure
    } finally {
      seen.ended = true
    }
  }
  return { seen, parts: parts() }
}

const EXPAND = { gzip: gunzipSync, zstd: zstdDecompressSync } as const

describe.each(["gzip", "zstd"] as const)("with %s", coding => {
  test("the parts come back, and the source is done", async () => {
    const { seen, parts } = source(3)
    const chunks = await Readable.from(compressed(parts, coding)).toArray()
    expect(EXPAND[coding](Buffer.concat(chunks)).length).toBe(3 * PART_BYTES)
    expect(seen).toEqual({ made: 3, ended: true })
  })

  test("one part at a time is held while nobody reads, and the source ends when the reader leaves", async () => {
    const { seen, parts } = source(1_000)
    const chunks = compressed(parts, coding)[Symbol.asyncIterator]()
    expect((await chunks.next()).done).toBe(false)
    await sleep(200)
    expect(seen.made).toBeLessThanOrEqual(2)
    await chunks.return?.()
    await expect.poll(() => seen.ended).toBe(true)
    expect(seen.made).toBeLessThanOrEqual(2)
  })

  test("a source that fails fails its reader, and what was sent has no end", async () => {
    const { seen, parts } = source(2, new Error("a record is gone"))
    const sent: Uint8Array[] = []
    const read = async (): Promise<void> => {
      for await (const chunk of compressed(parts, coding)) sent.push(chunk)
    }
    await expect(read()).rejects.toThrow("a record is gone")
    expect(seen.ended).toBe(true)
    expect(sent.length).toBeGreaterThan(0)
    expect(() => EXPAND[coding](Buffer.concat(sent))).toThrow()
  })
})
