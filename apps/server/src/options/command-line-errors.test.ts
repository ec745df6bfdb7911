/** What a mistake on the command line or in a variable is answered with: what was meant, and no value that was given. */
import { afterEach, expect, test } from "vitest"
import { readConfig } from "./config.ts"
import { StartupError } from "./startup-error.ts"

function refused(...argv: readonly string[]): string {
  try {
    readConfig(argv, process.env)
  } catch (error) {
    if (error instanceof StartupError) return error.message
    throw error
  }
  throw new Error("the options are accepted")
}

test.each<readonly [words: string, sentence: string]>([
  ["--prot 80", "unknown option '--prot': did you mean --port?"],
  ["--prot=geheim", "unknown option '--prot': did you mean --port?"],
  ["--geheim=x", "unknown option '--geheim'"],
  ["keys list --jsn", "unknown option '--jsn': did you mean --json?"],
  ["keys lst", "keys has no such command: did you mean list? It has list, rotate and revoke"],
  ["heads geheim", "heads has no such command; it has list and forget"],
  ["keys", "keys needs one of its commands list, rotate and revoke"],
  ["search-index", "search-index needs its command clear"],
  ["search-index clera", "search-index has no such command: did you mean clear? It has clear"],
  ["keys list geheim", "list takes no further word"],
  [
    "geheim",
    "a further word was given: there are only options and the commands keys, heads, clock, search-index and policy",
  ],
])("%s", (words, sentence) => {
  expect(refused(...words.split(" "))).toBe(sentence)
})

test.each(["--data-dir", "--keys-dir"])(
  "an empty %s is refused: it would be the folder that the command was started in",
  option => {
    expect(refused(option, "")).toBe(`${option} must not be empty`)
  },
)

const VARIABLES = ["RUNSEAL_LOG_LEVEL", "RUNSEAL_PORT"] as const
afterEach(() => {
  for (const name of VARIABLES) delete process.env[name]
})

test.each(VARIABLES)("a wrong value of %s is told by the variable's name", name => {
  process.env[name] = "geheim\nvalue"
  expect(refused()).toMatch(new RegExp(`^${name} .*(?:choices are silent, error|must be an integer)`))
  expect(refused()).not.toMatch(/geheim|value'|--/)
})

test("a wrong value of an option is not repeated, whatever it holds", () => {
  expect(refused("--log-level", "geheim\n' is invalid")).toBe(
    "option '--log-level <level>' was given a value that is not one of its choices. Allowed choices are silent, error, warn, info, debug.",
  )
})
