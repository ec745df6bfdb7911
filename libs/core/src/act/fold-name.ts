/**
 * Names of members as a reader without case takes them. Executors in Go and .NET read `Amount` where a payload has `amount`, so two members
 * with one fold are two values of one name.
 */

/** Most names are ASCII without capitals, which fold to themselves. */
const PLAIN = /^[^A-Z\u0080-\uffff]*$/

/** Equal for two names that are one under Unicode's case folding (CaseFolding.txt, rows C and F) or under NFKC. */
export const foldName = (name: string): string =>
  PLAIN.test(name) ? name : name.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC")
