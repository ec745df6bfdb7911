/** Expands input that is compressed with gzip or Zstandard. Loaded only for such input. */
import { pipeline } from "node:stream"
import * as zlib from "node:zlib"
import { NOT_EXPANDED } from "@runseal/core/presentation/saved-text"
import { InputError } from "./exit-answer.ts"

/** How input may be compressed: RFC 1952, RFC 8878. */
export type Compression = "gzip" | "zstd"

/** Bytes that any compressed input may expand to. */
export const EXPANSION_FREE_BYTES = 1_073_741_824
/** Beyond those: bytes for each compressed one. Exports expand to five. */
export const EXPANSION_MAX_RATIO = 100

const TOOLS = { gzip: "gunzip", zstd: "unzstd" } as const

/**
 * The expanded bytes. Memory holds a chunk, and for Zstandard its window, at most 128 MiB. Throws InputError, when it was cut off or
 * damaged as well.
 * @param name of the input, for errors
 */
export async function* expanded(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
  name: string,
): AsyncGenerator<Uint8Array> {
  const decoder = decoderOf(compression, name)
  let given = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      given += chunk.length
      yield chunk
    }
  }
  const notExpanded = (): InputError => new InputError(`${name} ${NOT_EXPANDED}: ${unpackFirst(compression)}.`)
  let size = 0
  try {
    // The reader of the decoder gets every failure.
    for await (const chunk of pipeline(counted(), decoder, () => undefined)) {
      size += chunk.length
      if (size > EXPANSION_FREE_BYTES && size > given * EXPANSION_MAX_RATIO)
        throw new InputError(
          `${name} expands to more than ${EXPANSION_MAX_RATIO} times its size: ${unpackFirst(compression)}.`,
        )
      yield chunk
    }
  } catch (error) {
    if (error instanceof InputError) throw error
    throw notExpanded()
  }
  // Node reads the first frame of Zstandard only, and says nothing of the others, nor of zeros behind gzip.
  if (decoder.bytesWritten !== given) throw notExpanded()
}

const unpackFirst = (compression: Compression): string => `unpack it with ${TOOLS[compression]}, and verify the result`

function decoderOf(compression: Compression, name: string): zlib.Gunzip | zlib.ZstdDecompress {
  if (compression === "gzip") return zlib.createGunzip()
  // Node.js 20 has none, whatever the types say.
  if (typeof zlib.createZstdDecompress === "function") return zlib.createZstdDecompress()
  throw new InputError(
    `${name} is compressed with Zstandard, which Node.js reads from 22.15 on: ${unpackFirst("zstd")}.`,
  )
}
