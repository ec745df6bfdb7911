/** Compresses an answer while it is sent. */
import { type Duplex, pipeline } from "node:stream"
import { constants, createGzip, createZstdCompress } from "node:zlib"
import type { Compression } from "./content-coding.ts"

/** Bytes of a chunk that is sent. */
const CHUNK_BYTES = 65_536
/** Records repeat each other so much that no higher level is smaller. A seventh of the work of gzip. */
const ZSTD = { chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_c_compressionLevel]: 1 } }

const COMPRESSORS: Readonly<Record<Compression, () => Duplex>> = {
  gzip: () => createGzip({ chunkSize: CHUNK_BYTES }),
  zstd: () => createZstdCompress(ZSTD),
}

/**
 * The parts of an answer in a content coding. The next part is asked for when the one before is compressed and read. Fails with the
 * parts, so that what was sent has no proper end; ends them when it is left early.
 */
export function compressed(parts: AsyncIterable<Uint8Array>, coding: Compression): AsyncIterable<Uint8Array> {
  // The reader of the compressor gets every failure.
  return pipeline(parts, COMPRESSORS[coding](), () => undefined)
}
