/**
 * `npm run fuzz`: runs mutated inputs through every parser of untrusted data, guided by code coverage.
 * Exits with 1 when something was found.
 */

import { join } from "node:path"
import { parseArgs } from "node:util"
import { sha256Hex } from "@runseal/canonical"
import { runCommand } from "../../../tools/src/run-command.ts"
import { corpusInputs, inputFiles, writeInputFile } from "./corpus.ts"
import { TARGETS } from "./targets.ts"
import { watchedFuzz } from "./watched-fuzz.ts"

const USAGE = `Usage: npm run fuzz [-- --seconds N] [--target NAME]... [--seed N] [--folder DIR]

  --seconds N    for each target; 20 when absent
  --target NAME  only this one; all when absent: ${TARGETS.map(({ name }) => name).join(", ")}
  --seed N       seed of the random numbers; taken from the clock when absent
  --folder DIR   folder for finds, and for inputs that reached new code, with which the next run starts;
                 .runseal/fuzz when absent
`

const NAME_LENGTH = 12

type Plan = { readonly seconds: number; readonly seed: number; readonly folder: string }

async function fuzzTarget(target: string, { seconds, seed, folder }: Plan): Promise<number> {
  const corpus = [...corpusInputs(target), ...inputFiles(join(folder, "reached", target))].map(({ bytes }) => bytes)
  const { finds, added, runs, blocks } = await watchedFuzz({ target, seed, corpus, until: Date.now() + seconds * 1000 })
  const reached = blocks === undefined ? "" : `, ${blocks} blocks reached`
  process.stdout.write(`${target.padEnd(14)} ${runs} inputs, ${added.length} added${reached}, ${finds.length} finds\n`)
  for (const input of added) writeInputFile(`${folder}/reached`, target, nameOf(input), input)
  for (const { input, problem } of finds)
    process.stdout.write(`  ${problem}\n    ${writeInputFile(`${folder}/finds`, target, nameOf(input), input)}\n`)
  return finds.length
}

const nameOf = (input: Uint8Array): string => sha256Hex(input).slice(0, NAME_LENGTH)

async function main(): Promise<void> {
  const { seconds, target, seed, folder, help } = parseArgs({
    options: {
      seconds: { type: "string", default: "20" },
      target: { type: "string", multiple: true, default: TARGETS.map(({ name }) => name) },
      seed: { type: "string", default: `${Date.now() % 2 ** 31}` },
      folder: { type: "string", default: ".runseal/fuzz" },
      help: { type: "boolean", default: false },
    },
  }).values
  const known = target.every(name => TARGETS.some(target => target.name === name))
  if (help || !known || !(Number(seconds) > 0) || !Number.isSafeInteger(Number(seed))) {
    process.stdout.write(USAGE)
    process.exitCode = help ? 0 : 2
    return
  }
  process.stdout.write(`seed ${seed}\n`)
  let finds = 0
  for (const name of target) finds += await fuzzTarget(name, { seconds: Number(seconds), seed: Number(seed), folder })
  process.exitCode = finds === 0 ? 0 : 1
}

await runCommand(USAGE, main)
