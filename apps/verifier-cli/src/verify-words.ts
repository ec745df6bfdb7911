/**
 * The words of `verifier <document>`. A plain verification is told from them alone, since Commander takes longer to load than
 * a document to verify; whatever else they are, Commander reads them, and says what is wrong with them.
 */

/** What stands alone: the flag, its name among the options, and what help says of it. */
export const SWITCHES = [
  ["--allow-unanchored", "allowUnanchored", "exit 0 for a document without log entry; never for one that FAILED"],
  ["--show-evidence-summary", "showEvidenceSummary", "also print what a bundle says of its run"],
  ["--strict", "strict", "also fail on disclosed limitations, such as a software-only attestation"],
  ["--json", "json", "print one JSON object instead of text"],
  ["--ndjson", "ndjson", "the input holds one document a line; a file named .ndjson needs no option"],
  ["--complete", "complete", "the input is an export: also prove that no record of it is missing"],
  ["--ascii", "ascii", "print ASCII only"],
] as const

type Switch = (typeof SWITCHES)[number][1]
export type VerifyOptions = Readonly<Record<Switch, boolean>> & { readonly trust: readonly string[] }

/** First words that are no documents. */
export const COMMANDS: ReadonlySet<string> = new Set(["export", "log", "trust", "help"])

/** A document that is to be verified, and how. */
export type Verification = { readonly document: string; readonly options: VerifyOptions }

/** The verification that these words ask for; undefined when they are for Commander to read. */
export function plainVerification(words: readonly string[]): Verification | undefined {
  const documents: string[] = []
  const trust: string[] = []
  const switched = new Set<string>()
  const rest = words.values()
  for (const word of rest) {
    if (word === "--trust") {
      const { value: file = "" } = rest.next()
      if (!isName(file)) return undefined
      trust.push(file)
    } else if (isName(word)) documents.push(word)
    else switched.add(word)
  }
  const [document] = documents
  if (document === undefined || documents.length > 1 || COMMANDS.has(document)) return undefined
  const options: Record<Switch, boolean> = {
    allowUnanchored: false,
    showEvidenceSummary: false,
    strict: false,
    json: false,
    ndjson: false,
    complete: false,
    ascii: false,
  }
  for (const [flag, name] of SWITCHES) options[name] = switched.delete(flag)
  return switched.size === 0 ? { document, options: { ...options, trust } } : undefined
}

/** Whether a word names something: no option does, but `-` is standard input. */
const isName = (word: string): boolean => word === "-" || (word !== "" && !word.startsWith("-"))
