/**
 * Bundles as they are stored: compressed by the service, because the same text costs a third more in the database's own
 * compression (decision 0116). The text that was hashed comes back byte for byte. The first byte names the form.
 */
import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { concatBytes, utf8Decode } from "@runseal/canonical"
import { StoreError } from "../driver/store-errors.ts"
import { BUNDLE_DICTIONARY_2 } from "./bundle-dictionary.ts"

/** Zstandard (RFC 8878) with dictionary 2. */
const ZSTD_2 = 2

/** Far more than a request of 1 MiB can become; a frame that claims more is damaged. */
const MAX_BUNDLE_BYTES = 64 * 1024 * 1024

/** Higher levels take twice the time for one byte in fifty; a wider window costs memory that is made ready each time. */
const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 },
  dictionary: BUNDLE_DICTIONARY_2,
}
const EXPANSION = { dictionary: BUNDLE_DICTIONARY_2, maxOutputLength: MAX_BUNDLE_BYTES }

/**
 * A bundle's canonical text as the column `run.bundle` holds it.
 * @param text or its UTF-8 bytes
 */
export function packBundle(text: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return concatBytes(Uint8Array.of(ZSTD_2), zstdCompressSync(text, COMPRESSION))
}

/**
 * The same for many texts, with one compressor: each new one loads the dictionary, and what Node keeps of it lives until a full
 * collection, which then comes sooner. One that fails ends its thread, by an error event that nobody hears.
 */
export function openPacker(): (text: string | Uint8Array) => Promise<Uint8Array<ArrayBuffer>> {
  // With this flag each write is a frame of its own.
  const compressor = createZstdCompress({ ...COMPRESSION, flush: constants.ZSTD_e_end })
  let frame: Uint8Array[] = []
  compressor.on("data", (part: Uint8Array) => frame.push(part))
  return text =>
    new Promise((resolve, reject) => {
      // Writes are queued, and the callback is called when the whole frame was emitted.
      compressor.write(text, error => {
        if (error) return reject(error)
        const stored = concatBytes(Uint8Array.of(ZSTD_2), ...frame)
        frame = []
        resolve(stored)
      })
    })
}

/**
 * The text that was packed.
 * @throws StoreError "corrupt" for bytes that no release has written
 */
export function unpackBundle(stored: Uint8Array): string {
  const text = textOf(stored)
  if (text === undefined) throw new StoreError("corrupt")
  return text
}

function textOf(stored: Uint8Array): string | undefined {
  const body = stored.subarray(1)
  if (stored[0] !== ZSTD_2) return undefined
  try {
    return utf8Decode(zstdDecompressSync(body, EXPANSION))
  } catch {
    return undefined
  }
}
