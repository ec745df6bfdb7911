/** Negotiates the content coding of an answer. RFC 9110 §12.5.3. */

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
