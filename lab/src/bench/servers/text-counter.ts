/**
 * Loaded into a server whose canonical texts are counted: takes the place of the module that writes them, on the main thread. The
 * product has no counter of its own.
 */
import { registerHooks } from "node:module"
import * as original from "../../../../libs/canonical/src/canonicalize.ts"
import { counted } from "./probe.ts"

const COUNTED = "./canonicalize.ts"
const CALLERS = new URL("../../../../libs/canonical/src/", import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === COUNTED && context.parentURL?.startsWith(CALLERS) === true
      ? { url: import.meta.url, shortCircuit: true }
      : next(specifier, context),
})

const count = (bytes: number): void => {
  counted.count++
  counted.bytes += bytes
}

export const { CanonicalizeError, isJsonValue } = original

export const canonicalBytes: typeof original.canonicalBytes = (value, use, options) =>
  original.canonicalBytes(
    value,
    bytes => {
      count(bytes.length)
      return use(bytes)
    },
    options,
  )

export const canonicalize: typeof original.canonicalize = value => {
  const text = original.canonicalize(value)
  count(Buffer.byteLength(text))
  return text
}

export const canonicalUtf8: typeof original.canonicalUtf8 = (value, known) => {
  const bytes = original.canonicalUtf8(value, known)
  count(bytes.length)
  return bytes
}

export const putCanonical: typeof original.putCanonical = (sink, value, options) => {
  const start = sink.length
  original.putCanonical(sink, value, options)
  count(sink.length - start)
}
