/** `npm run load`: fills a database with runs and measures which operations stay as fast as without them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import { runCommand, wholeNumber } from "../../../tools/src/run-command.ts"
import { keepOnPage, machine, markdown } from "../bench/page.ts"
import { type Amount, fill } from "./fill.ts"
import { measureFlatness } from "./measure-flatness.ts"
import { givenTarget, ownTarget, setDurable, type Target } from "./target.ts"

const HELP = `npm run load -- [--runs <number>] [--keys <number>] [--minutes <number>] [--write]
               [--database <postgres://…> --data-dir <folder>] [--measure]

  --runs <number>      runs to load (default: 2000000); half of them are of one key
  --keys <number>      other keys, used in rotation (default: 1000)
  --minutes <number>   time limit of the load, after which fewer runs are accepted
  --database <url>     an empty database on your own server, or one of a load that was stopped, which gets the runs in addition;
                       it is not removed, and its signing keys are stored in --data-dir
  --measure            loads nothing and measures the database that was loaded before
  --write              writes the tables into docs/scale.md

Without --database it starts a PostgreSQL of its own and deletes it at the end. It takes some 11 KB per run in the folder for
temporary files. The runs are requests to the service, which seals and verifies each as usual. Its own PostgreSQL does not sync
while it loads.
`

/** Stored beside the signing keys, so that a later load or measurement has the callers' secrets. */
const CALLERS_FILE = "load.json"

const say = (line: string): void => void process.stderr.write(`load: ${line}\n`)

async function load(target: Target, own: boolean, amount: Amount): Promise<string> {
  if (own) await setDurable(target.url, false)
  const file = join(target.folder, CALLERS_FILE)
  const before = existsSync(file) ? callersOf(target.folder) : undefined
  const keep = (secrets: readonly string[]): void => writeFileSync(file, JSON.stringify({ secrets }), { mode: 0o600 })
  const story = await fill(target, amount, { before, keep }, say)
  if (own) await setDurable(target.url, true)
  return story
}

/** Secrets of the callers of a load. @throws Error when the folder has none */
function callersOf(folder: string): readonly string[] {
  const secrets = member(parseStrictJson(readFileSync(join(folder, CALLERS_FILE))), "secrets")
  if (!Array.isArray(secrets)) throw new Error(`${folder} holds no load`)
  return secrets.map(String)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: "string", default: "2000000" },
      keys: { type: "string", default: "1000" },
      minutes: { type: "string", default: "600" },
      database: { type: "string" },
      "data-dir": { type: "string" },
      measure: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  const { database, "data-dir": folder } = values
  const paired = (database === undefined) === (folder === undefined)
  if (values.help || !paired || (values.measure && database === undefined)) {
    process.stdout.write(HELP)
    if (!values.help) process.exitCode = 2
    return
  }
  const amount = {
    runs: wholeNumber("runs", values.runs, 1),
    keys: wholeNumber("keys", values.keys, 1),
    minutes: wholeNumber("minutes", values.minutes, 1),
  }
  const own = database === undefined || folder === undefined
  const target = own ? await ownTarget() : await givenTarget(database, folder)
  try {
    const story = values.measure ? "loaded before" : await load(target, own, amount)
    say(story)
    const sections = await measureFlatness(target, callersOf(target.folder), say)
    const conditions = `\`npm run load\` on ${machine(target.version)}; ${story}`
    const tables = sections.map(markdown).join("\n\n")
    process.stdout.write(`${conditions}\n\n${tables}\n`)
    if (values.write) keepOnPage({ name: "load", conditions, tables }, "scale.md")
  } finally {
    await target.remove()
  }
}

await runCommand(HELP, main)
