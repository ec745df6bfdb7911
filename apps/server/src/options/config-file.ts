/** The file of `--config`: the options in YAML, by the names of their flags. Decision 0122. */
import { readFileSync } from "node:fs"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { parseDocument } from "yaml"
import { StartupError } from "./startup-error.ts"
import { flagIn, OPTION_ROWS, type OptionRow } from "./table.ts"

/** Far more than all options take. */
const MAX_BYTES = 65_536

/** The name of an option in the file: its flag without dashes. */
export const nameInFile = (row: OptionRow): string => flagIn(row).slice(2)

/** What a file may give: an action is given once, on the command line, and a file names no other file. */
const FILE_ROWS = OPTION_ROWS.filter(({ once, name }) => once === undefined && name !== "configFile")

/**
 * The texts of the options in a file, by the names of `OPTION_ROWS`. Its scalars are texts, as those of the command line are: the schemas of
 * the options parse them.
 * @throws StartupError when the file cannot be read, is no mapping in YAML, or has an unknown name; it quotes no value
 */
export function readConfigFile(path: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [key, value] of Object.entries(mappingIn(path, textOf(path)))) {
    const row = FILE_ROWS.find(known => nameInFile(known) === key)
    if (row === undefined) throw new StartupError(`--config ${path}: ${unknown(key)}; the options are ${KNOWN}`)
    values.set(row.name, textOfValue(path, row, value))
  }
  return values
}

const KNOWN = FILE_ROWS.map(nameInFile).join(", ")

/** A key in the form of an option is named in the error; any other may be a secret in the wrong place. */
const unknown = (key: string): string => (/^[a-z-]{1,40}$/.test(key) ? `unknown option ${key}` : "an unknown option")

function textOf(path: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch {
    throw new StartupError(`--config ${path} cannot be read`)
  }
  if (bytes.length > MAX_BYTES) throw new StartupError(`--config ${path} has more than ${MAX_BYTES} bytes`)
  const problem = savedProblem(bytes)
  if (problem !== undefined) throw new StartupError(`--config ${path}: ${problem}`)
  return Buffer.from(savedText(bytes)).toString("utf8")
}

function mappingIn(path: string, text: string): Readonly<Record<string, unknown>> {
  // The failsafe schema reads every scalar as a text: no number is rounded, and `no` is a region.
  const parsed = parseDocument(text, { schema: "failsafe", logLevel: "error" })
  const [problem] = [...parsed.errors, ...parsed.warnings]
  if (problem !== undefined)
    throw new StartupError(`--config ${path} is not valid YAML: line ${problem.linePos?.[0].line ?? 1}`)
  const value = plainValue(path, parsed)
  if (value === null || value === "") return {}
  if (!isObject(value)) throw new StartupError(`--config ${path} must be a mapping of options to values`)
  return value
}

function plainValue(path: string, parsed: ReturnType<typeof parseDocument>) {
  try {
    return parsed.toJS({ maxAliasCount: 0 })
  } catch {
    throw new StartupError(`--config ${path}: aliases are not accepted`)
  }
}

function textOfValue(path: string, row: OptionRow, value: unknown): string {
  if (value === null) return ""
  if (typeof value === "string") return value
  if (row.repeatable && Array.isArray(value) && value.every(one => typeof one === "string")) return value.join(" ")
  const many = row.repeatable ? "a value or a list of values" : "one value"
  throw new StartupError(`--config ${path}: ${nameInFile(row)} must be ${many}`)
}
