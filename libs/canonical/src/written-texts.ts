import type { KnownTexts } from "./canonical-text.ts"
import { canonicalUtf8 } from "./canonicalize.ts"
import type { JsonObject } from "./json-value.ts"

/** Texts of objects that stand in several documents, each written once. They are kept for as long as this is: for one batch. */
export interface WrittenTexts extends KnownTexts {
  /**
   * The UTF-8 bytes of the canonical text of an object, which is known from then on. Nobody may change the object or the
   * bytes. Throws where `canonicalize` does.
   */
  readonly write: (object: JsonObject) => Uint8Array
}

/** Nothing is written yet. */
export function writtenTexts(): WrittenTexts {
  const texts = new Map<object, Uint8Array>()
  const known: KnownTexts = { bytesOf: object => texts.get(object), piecesWithout: () => undefined }
  const write = (object: JsonObject): Uint8Array => {
    const bytes = texts.get(object) ?? canonicalUtf8(object, known)
    texts.set(object, bytes)
    return bytes
  }
  return { ...known, write }
}
