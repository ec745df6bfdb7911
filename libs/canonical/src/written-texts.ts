import { sha256Hex } from "#sha256"
import { insertAscii, newSink } from "./byte-sink.ts"
import { type KnownTexts, putCanonical } from "./canonicalize.ts"
import type { JsonObject } from "./json-value.ts"

/**
 * A cache of the canonical texts of objects that occur in several documents, so that each is written once. It lives as long as one
 * run.
 */
export interface WrittenTexts extends KnownTexts {
  /** Bytes written so far. */
  readonly size: () => number
  /**
   * The UTF-8 bytes of the canonical text of an object, which is known from then on. Nobody may change the object or the
   * bytes. Throws where `canonicalize` does.
   */
  readonly write: (object: JsonObject) => Uint8Array
  /** The object with its digest added as `hash`. Its text with that is known from then on; otherwise as `write`. */
  readonly seal: <const Body extends JsonObject>(body: Body) => Body & { readonly hash: string }
}

/** Holds what is written of a usual run, without the text of its record. */
const FIRST_BYTES = 32_768

/** Nothing is written yet. */
export function writtenTexts(): WrittenTexts {
  const sink = newSink(FIRST_BYTES)
  const texts = new Map<object, Uint8Array>()
  const known: KnownTexts = { bytesOf: object => texts.get(object), piecesWithout: () => undefined }
  const keep = (object: object, start: number): Uint8Array => {
    const bytes = sink.bytes.subarray(start, sink.length)
    texts.set(object, bytes)
    return bytes
  }
  return {
    ...known,
    size: () => sink.length,
    write: object => {
      const bytes = texts.get(object)
      if (bytes !== undefined) return bytes
      const start = sink.length
      putCanonical(sink, object, { known })
      return keep(object, start)
    },
    seal: body => {
      const sealed = { ...body, hash: "" }
      const start = sink.length
      putCanonical(sink, sealed, { without: "hash" })
      sealed.hash = sha256Hex(sink.bytes.subarray(start, sink.length))
      const member = `"hash":"${sealed.hash}"`
      if (sink.gap > start) insertAscii(sink, sink.gap, `,${member}`)
      else insertAscii(sink, start + 1, Object.keys(sealed).length > 1 ? `${member},` : member)
      keep(sealed, start)
      return sealed
    },
  }
}
