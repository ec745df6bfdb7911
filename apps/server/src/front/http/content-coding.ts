/** Negotiates the content coding of an answer: identity or gzip. RFC 9110 §12.5.3. */

type Coding = "gzip" | "identity"

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
 * The coding of an answer to a request with this Accept-Encoding field, or without one. Gzip when the field lists it, or `*`, with a
 * weight not below that of identity; undefined when neither is acceptable.
 */
export function acceptedCoding(field: string | undefined): Coding | undefined {
  if (field === undefined) return "identity"
  const weights = weightsIn(field)
  const other = weights.get("*")
  const gzip = weights.get("gzip") ?? other ?? 0
  const identity = weights.get("identity") ?? other
  // Identity is acceptable unless it is excluded; where it is not listed, gzip is preferred.
  if (gzip > 0 && gzip >= (identity ?? 0)) return "gzip"
  return identity === 0 ? undefined : "identity"
}
