/**
 * Parses the arguments of a plain `verifier <document>` without Commander, which takes longer to load than a document to
 * verify. Any other arguments, and wrong ones, are left to Commander.
 */

import type { ExpectationOptions } from "./expected-facts.ts"

/** Options without a value: the flag, its name among the options, and its help text. */
export const SWITCHES = [
  ["--allow-unanchored", "allowUnanchored", "exit 0 for a document without log entry; never for one that FAILED"],
  ["--show-evidence-summary", "showEvidenceSummary", "also print the facts that the document states"],
  [
    "--strict",
    "strict",
    "also fail on disclosed limitations that not every record has; --strict=LIST: on these, with commas",
  ],
  ["--json", "json", "print one JSON object instead of text"],
  ["--ndjson", "ndjson", "the input holds one document a line; a file named .ndjson needs no option"],
  ["--complete", "complete", "the input is an export: also prove that no document of it is missing"],
  ["--budgets", "budgets", "with --complete: also print every movement of the tenant's budget windows"],
  ["--ascii", "ascii", "print ASCII only"],
] as const

type Switch = (typeof SWITCHES)[number][1]
export type VerifyOptions = Readonly<Record<Switch, boolean>> & { readonly trust: readonly string[] }

/** First arguments that name a command, not a document. */
export const COMMANDS: ReadonlySet<string> = new Set([
  "export",
  "expand",
  "withhold",
  "approve",
  "log",
  "trust",
  "completion",
  "manual",
  "json-schema",
  "help",
])

/** How several documents, or the verdict alone, are printed. */
export type OutputFormat = "table" | "csv" | "quiet"

/** Options that only Commander parses. */
export type MoreOptions = {
  readonly format?: OutputFormat
  /** Codes of limitations, with commas. */
  readonly strictList?: string
  readonly expectations?: ExpectationOptions
}

/** Documents to verify, with the options. */
export type Verification = {
  readonly documents: readonly string[]
  readonly options: VerifyOptions
  readonly more?: MoreOptions
}

/** The verification that the arguments ask for; undefined when Commander has to parse them. */
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
    budgets: false,
    ascii: false,
  }
  for (const [flag, name] of SWITCHES) options[name] = switched.delete(flag)
  return switched.size === 0 ? { documents, options: { ...options, trust } } : undefined
}

/** Whether an argument names a file or an address, and is no option; `-` is standard input. */
const isName = (word: string): boolean => word === "-" || (word !== "" && !word.startsWith("-"))
