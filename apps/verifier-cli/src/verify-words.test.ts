import fc from "fast-check"
import { expect, test } from "vitest"
import { commandLineAnswer } from "./command-line.ts"
import { COMMANDS, plainVerification, SWITCHES, type Verification } from "./verify-words.ts"

const STYLE = { colour: false, ascii: true }

/** The verification that Commander reads from these words; undefined when it reads none. */
async function readByCommander(words: readonly string[]): Promise<Verification | undefined> {
  let found: Verification | undefined
  await commandLineAnswer(words, STYLE, async verification => {
    found = verification
    return { stdout: "", stderr: "", exit: 0 }
  })
  return found
}

const FLAGS = SWITCHES.map(([flag]) => flag)
const ODD = [
  "",
  "-",
  "--",
  "-x",
  "-h",
  "-V",
  "-1",
  "--help",
  "--trust=a",
  "--json=yes",
  "--strict-not",
  "--strict=chain_tail",
  "--table",
  "x=y",
  "add",
]
const words = fc.array(
  fc.oneof(
    fc.constantFrom("run.json", "b.ndjson", "--trust"),
    fc.constantFrom(...FLAGS),
    fc.constantFrom(...COMMANDS, ...ODD),
  ),
  { maxLength: 6 },
)

test("a plain verification is the one that Commander reads from the same words", async () => {
  await fc.assert(
    fc.asyncProperty(words, async given => {
      const plain = plainVerification(given)
      if (plain !== undefined) expect(await readByCommander(given)).toEqual(plain)
    }),
    { numRuns: 1000 },
  )
})

test("a document, its trust documents and switches are plain", () => {
  expect(plainVerification(["--trust", "a.json", "run.json", ...FLAGS, "--trust", "-"])).toEqual({
    documents: ["run.json"],
    options: { ...Object.fromEntries(SWITCHES.map(([, name]) => [name, true])), trust: ["a.json", "-"] },
  })
  expect(plainVerification(["-"])?.documents).toEqual(["-"])
})

test.each<[string, readonly string[]]>([
  ["nothing", []],
  ["two documents", ["a.json", "b.json"]],
  ["an empty word", [""]],
  ["another option", ["run.json", "--help"]],
  ["a trust document that is missing", ["run.json", "--trust"]],
  ["a trust document that looks like an option", ["run.json", "--trust", "--json"]],
])("%s is left to Commander", (_, given) => {
  expect(plainVerification(given)).toBeUndefined()
})

test("every command is left to Commander", () => {
  for (const command of COMMANDS) expect(plainVerification([command])).toBeUndefined()
})
