/** The content coding of an answer: it is negotiated (RFC 9110 §12.5.3), and compressed while it is sent. */
import { type Duplex, pipeline } from "node:stream"
import { constants, createGzip, createZstdCompress } from "node:zlib"

/** Gzip is RFC 1952, zstd RFC 8878. */
export type Compression = "gzip" | "zstd"

/** Elements of the field that are read; more than any client sends. */
const MAX_ELEMENTS = 32
const ELEMENT = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/

/** Weights by coding. Malformed elements are ignored. */
function weightsIn(field: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const element of field.toLowerCase().split(",", MAX_ELEMENTS)) {
    const [, name = "", weight = "1"] = ELEMENT.exec(element.trim()) ?? []
    // RFC 9110 §8.4.1.3: the older name means the same.
    if (name !== "") weights.set(name === "x-gzip" ? "gzip" : name, Number(weight))
  }
  return weights
}

/**
 * The coding of an answer to a request with this Accept-Encoding field, or without one. A compression when the field lists it
 * with a weight not below that of identity: of those offered the one with the highest weight, at the same weight the first.
 * `*` means gzip alone, which every client reads. Undefined when nothing is acceptable.
 */
export function acceptedCoding(
  field: string | undefined,
  offered: readonly Compression[] = ["gzip"],
): Compression | "identity" | undefined {
  if (field === undefined) return "identity"
  const weights = weightsIn(field)
  const other = weights.get("*")
  const weightOf = (coding: Compression): number => weights.get(coding) ?? (coding === "gzip" ? other : undefined) ?? 0
  const identity = weights.get("identity") ?? other
  const [best] = offered.toSorted((one, two) => weightOf(two) - weightOf(one))
  // Identity is acceptable unless it is excluded; where it is not listed, a compression is preferred.
  if (best !== undefined && weightOf(best) > 0 && weightOf(best) >= (identity ?? 0)) return best
  return identity === 0 ? undefined : "identity"
}

// Compresses an answer while it is sent.

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
