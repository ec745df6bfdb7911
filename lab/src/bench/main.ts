/** `npm run bench`: measures and prints tables, with the machine and the versions they hold for. */

import { readOptions } from "./bench-options.ts"
import { type Bench, type Part, QUICK, WHOLE } from "./bench-plan.ts"
import { keepOnPage, type Measured, machine, markdown } from "./page.ts"
import { PARTS } from "./parts/all.ts"
import { startDatabaseServer } from "./servers/database-server.ts"
import { checkOut } from "./servers/other-commit.ts"

const HELP = `npm run bench -- [--quick] [--write] [--peers] [--minutes <number>] [--against <commit>] [part …]

  --quick             shorter counts, fewer kinds of load: orientation in about two minutes
  --write             writes the tables of the measured parts into docs/performance.md; those of other parts stay
  --peers             measures a Tessera POSIX log too: Go downloads and builds it
  --minutes <number>  how long memory is sampled (default: 10)
  --against <commit>  measures that commit in turn with this checkout: parts start, execute, permits and otlp

${PARTS.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join("\n")}

Without parts all are measured but memory. An answer with an unexpected status ends the bench with an error.
`

const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`)

/** Prints each part's tables as soon as they are measured. @param keep writes them into the page, but for parts that are measured by name only */
async function measureAll(
  parts: readonly Part[],
  bench: Bench,
  conditions: string,
  keep: (measured: Measured) => void,
): Promise<void> {
  for (const part of parts) {
    const sections = await part.run(bench)
    if (sections.length === 0) continue
    const tables = sections.map(markdown).join("\n\n")
    process.stdout.write(`${conditions}\n\n${tables}\n\n`)
    if (part.onlyByName !== true) keep({ name: part.name, conditions, tables })
  }
}

async function main(argv: readonly string[]): Promise<void> {
  const names = PARTS.map(({ name }) => name)
  const options = readOptions(argv, names)
  if ("misuse" in options) {
    say(options.misuse)
    process.exitCode = 2
    return
  }
  if (options.help) {
    process.stdout.write(HELP)
    return
  }
  const chosen = PARTS.filter(({ name, onlyByName }) =>
    options.parts.length === 0 ? onlyByName !== true : options.parts.includes(name),
  )
  const started = await startDatabaseServer()
  const database = "absent" in started ? undefined : started
  if ("absent" in started) say(`${started.absent}: what needs PostgreSQL is left out`)
  // Each part is measured the same way, alone or among the others.
  const command = options.quick ? "npm run bench -- --quick" : "npm run bench"
  const against = options.against === undefined ? undefined : checkOut(options.against)
  const plan = { ...(options.quick ? QUICK : WHOLE), memoryMinutes: options.minutes }
  try {
    await measureAll(
      chosen,
      { plan, database, peers: options.peers, against, say },
      `\`${command}\` on ${machine(database?.version)}`,
      measured => {
        if (options.write) keepOnPage(measured, "performance.md")
      },
    )
  } finally {
    await database?.stop()
    against?.remove()
  }
}

await main(process.argv.slice(2))
