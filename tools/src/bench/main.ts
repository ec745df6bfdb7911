/** `npm run bench`: measures and prints tables, with the machine and the versions they hold for. */
import { parseArgs } from "node:util"
import { machine } from "./machine.ts"
import { keepOnPage } from "./page.ts"
import type { Part } from "./parts/bench.ts"
import { execute } from "./parts/execute.ts"
import { reads } from "./parts/reads.ts"
import { reports } from "./parts/reports.ts"
import { embedded, processes } from "./parts/several.ts"
import { verification } from "./parts/verification.ts"
import { QUICK, WHOLE } from "./plan.ts"
import { markdown } from "./row.ts"
import { type DatabaseServer, startDatabaseServer } from "./servers/database-server.ts"

const PARTS: readonly Part[] = [execute, processes, embedded, reads, reports, verification]

const HELP = `npm run bench -- [--quick] [--write] [part …]

  --quick   shorter counts, fewer kinds of load: orientation in about two minutes
  --write   keeps the tables in docs/performance.md

${PARTS.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join("\n")}

Without parts all are measured. Any answer with another status than the right one ends the bench with an error.
`

const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`)

async function measureAll(
  parts: readonly Part[],
  quick: boolean,
  database: DatabaseServer | undefined,
): Promise<string> {
  const tables: string[] = []
  for (const part of parts) {
    const sections = await part.run({ plan: quick ? QUICK : WHOLE, database, say })
    tables.push(...sections.map(markdown))
  }
  return tables.join("\n\n")
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: "boolean" }, write: { type: "boolean" }, help: { type: "boolean" } },
  })
  const unknown = positionals.filter(name => !PARTS.some(part => part.name === name))
  if (values.help === true || unknown.length > 0) {
    process.stdout.write(HELP)
    process.exitCode = unknown.length > 0 ? 2 : 0
    return
  }
  const parts = PARTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const started = await startDatabaseServer()
  const database = "absent" in started ? undefined : started
  if ("absent" in started) say(`${started.absent}: what needs PostgreSQL is left out`)
  const command = ["npm run bench", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" ")
  try {
    const tables = await measureAll(parts, values.quick === true, database)
    const page = `\`${command}\` on ${machine(database?.version)}\n\n${tables}`
    process.stdout.write(`${page}\n`)
    if (values.write === true) keepOnPage(page, "npm run bench -- --write")
  } finally {
    await database?.stop()
  }
}

await main()
