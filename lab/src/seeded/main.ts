/** `npm run seeded`: puts each seeded fault into a copy of the sources and tells which test finds it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import { runCommand, wholeNumber } from "../../../tools/src/run-command.ts"
import type { SeededFault } from "./seeded-fault.ts"
import { SEEDED_FAULTS } from "./seeded-faults.ts"
import { openTrial, type Tried } from "./try-fault.ts"

const USAGE = `Usage: npm run seeded -- [--only <n>,<n>] [--state <file>]

Puts one fault at a time into a copy of the sources and runs the tests that import the changed file, until one is red.
Exits with 1 when no test finds a fault. The checkout is not changed.

  --only <n>,<n>   only the faults of these numbers, from 1
  --state <file>   keeps the results there, and does not try a fault again that it holds as found
`

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** A row that was changed since is another fault. */
const nameOf = ({ file, find, replace }: SeededFault): string => `${file}: ${find} -> ${replace}`

function storedResult(state: JsonValue, fault: SeededFault): Tried | undefined {
  const stored = member(state, nameOf(fault))
  const [result, by, seconds] = [textMember(stored, "result"), textMember(stored, "by"), member(stored, "seconds")]
  return result === "found" && by !== undefined && typeof seconds === "number" ? { result, by, seconds } : undefined
}

type Numbered = { readonly number: number; readonly fault: SeededFault; readonly tried: Tried }

const rowOf = ({ number, fault, tried: { result, by, seconds } }: Numbered): string =>
  `${String(number).padStart(2)}  ${fault.family.padEnd(6)}  ${fault.file.padEnd(24)}  ${result.padEnd(11)}  ${String(seconds).padStart(3)} s  ${by || fault.what}`

async function tryAll(numbers: readonly number[], stateFile: string | undefined): Promise<readonly Numbered[]> {
  const read = stateFile !== undefined && existsSync(stateFile) ? parseStrictJson(readFileSync(stateFile, "utf8")) : {}
  const state = isObject(read) ? read : {}
  const rows: Numbered[] = []
  const trial = await openTrial()
  try {
    for (const number of numbers) {
      const fault = SEEDED_FAULTS[number - 1]
      if (fault === undefined)
        throw new Error(`There are ${SEEDED_FAULTS.length} faults, and none has the number ${number}.`)
      const row = { number, fault, tried: storedResult(state, fault) ?? (await trial.run(fault)) }
      rows.push(row)
      say(rowOf(row))
      const results = Object.fromEntries(rows.map(({ fault, tried }) => [nameOf(fault), tried]))
      if (stateFile !== undefined) writeFileSync(stateFile, JSON.stringify({ ...state, ...results }, undefined, 1))
    }
  } finally {
    trial.close()
  }
  return rows
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { help: { type: "boolean", short: "h" }, only: { type: "string" }, state: { type: "string" } },
  })
  if (values.help) return void process.stdout.write(USAGE)
  const numbers =
    values.only?.split(",").map(text => wholeNumber("only", text, 1)) ?? SEEDED_FAULTS.map((_, i) => i + 1)
  const rows = await tryAll(numbers, values.state)
  const lost = rows.filter(({ tried }) => tried.result !== "found")
  say(`${rows.length - lost.length} of ${rows.length} faults were found.`)
  if (lost.length > 0) process.exitCode = 1
}

await runCommand(USAGE, main)
