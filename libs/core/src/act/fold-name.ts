/**
 * Names of members as a reader without case takes them. Executors in Go and .NET read `Amount` where a payload has `amount`, so two members
 * with one fold are two values of one name.
 */

/** Most names are ASCII, of which only the capitals fold to something else. */
const ASCII = /^[^\u0080-\uffff]*$/

/**
 * Lower case first: the capital sharp s (U+1E9E) is its own upper case, and only its lower case becomes `SS`.
 */
const withoutCase = (name: string): string => name.toLowerCase().toUpperCase().toLowerCase()

/** Equal for two names that are one under Unicode's case folding (CaseFolding.txt, rows C and F) or under NFKC. */
export const foldName = (name: string): string =>
  ASCII.test(name) ? name.toLowerCase() : withoutCase(name.normalize("NFKC")).normalize("NFKC")
