/** `npm run scale`: simulates 1 to 64 servers and prints where the bound lies. */
import { parseArgs } from "node:util"
import { keepOnScalePage } from "./scale-page.ts"
import { page, USUAL } from "./tables.ts"

const HELP = `npm run scale -- [--seed <number>] [--runs <number>] [--write]

  --seed <number>   other random numbers (default: ${USUAL.seed}); the same seed gives the same tables
  --runs <number>   runs counted in each simulation (default: ${USUAL.runs})
  --write           keeps the tables in docs/scale.md

What the simulation is told stands in tools/src/scale/parameters.ts.
`

/** @throws RangeError for anything but a positive integer */
function positive(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} is a positive integer.`)
  return value
}

function main(): void {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: `${USUAL.seed}` },
      runs: { type: "string", default: `${USUAL.runs}` },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const options = { seed: positive("--seed", values.seed), runs: positive("--runs", values.runs) }
  const tables = page(options)
  process.stdout.write(`${tables}\n`)
  if (values.write) keepOnScalePage(tables)
}

main()
