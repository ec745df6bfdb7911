/** `npm run load`: loads runs in bulk and measures what stays as fast as without them. */
import { parseArgs } from "node:util"
import { machine } from "../bench/machine.ts"
import { keepOnPage } from "../bench/page.ts"
import { markdown } from "../bench/row.ts"
import { openBulkDeployment } from "./bulk-deployment.ts"
import { loadRuns } from "./bulk-load.ts"
import { keepLoaded, readLoaded } from "./loaded.ts"
import { measureFlatness } from "./measure.ts"
import { givenTarget, ownTarget, setDurable, type Target } from "./target.ts"

const HELP = `npm run load -- [--runs <number>] [--keys <number>] [--minutes <number>] [--write]
               [--database <postgres://…> --data-dir <folder>] [--measure]

  --runs <number>      runs to load (default: 2000000); half of them are of one key
  --keys <number>      other keys, which take turns (default: 1000)
  --minutes <number>   ends the load after so long, with as many runs as there are then
  --database <url>     an empty database of a server of yours, which stays when all is done; its signing keys go to --data-dir
  --measure            loads nothing and measures the database that was loaded before
  --write              keeps the tables in docs/performance.md

Without --database it starts a PostgreSQL of its own and deletes all of it at the end: some 11 KB a run in the folder for
temporary files. What is loaded are real records: pipeline, signatures, log and chains are the service's own; of the documents
a random hundredth is verified, where the service verifies all. Its server does not sync while it loads.
`

/** Time between two loaded runs by the loader's clock, milliseconds: two million are three weeks. */
const RUN_EVERY_MS = 1000
/** The last run lies so far back that the service's clock is beyond the log's. */
const MARGIN_MS = 600_000
const REPORT_EVERY_RUNS = 25_600

const say = (line: string): void => void process.stderr.write(`load: ${line}\n`)

type Amount = { readonly runs: number; readonly keys: number; readonly minutes: number }

async function load(target: Target, own: boolean, { runs, keys, minutes }: Amount): Promise<string> {
  if (own) await setDurable(target.url, false)
  const begun = performance.now()
  const first = Date.now() - MARGIN_MS - runs * RUN_EVERY_MS
  let clock = first
  const deployment = await openBulkDeployment(target.url, target.folder, () => clock)
  const callers = []
  for (let i = 0; i <= keys; i++) callers.push(await deployment.mint(`load ${i}`))
  keepLoaded(target.folder, { secrets: callers.map(({ secret }) => secret) })
  const since = performance.now()
  const rate = (loaded: number): number => Math.round(loaded / ((performance.now() - since) / 1000))
  const loaded = await loadRuns(deployment, {
    runs,
    callers,
    moveClock: at => {
      clock = first + at * RUN_EVERY_MS
      return clock
    },
    enough: at => {
      if (at % REPORT_EVERY_RUNS === 0) say(`${at} runs, ${rate(at)} a second`)
      return performance.now() - begun > minutes * 60_000
    },
  })
  await deployment.close()
  const verified = deployment.sample.verified()
  if (own) await setDurable(target.url, true)
  return `${loaded.toLocaleString("en")} runs loaded, ${rate(loaded)} a second; ${verified.toLocaleString("en")} of them, drawn at random, verified`
}

const number = (name: string, text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} is a positive integer.`)
  return value
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
    runs: number("--runs", values.runs),
    keys: number("--keys", values.keys),
    minutes: number("--minutes", values.minutes),
  }
  const own = database === undefined || folder === undefined
  const target = own ? await ownTarget() : await givenTarget(database, folder)
  try {
    const story = values.measure ? "loaded before" : await load(target, own, amount)
    say(story)
    const sections = await measureFlatness(target, readLoaded(target.folder), say)
    const page = `\`npm run load\` on ${machine(target.version)}; ${story}\n\n${sections.map(markdown).join("\n\n")}`
    process.stdout.write(`${page}\n`)
    if (values.write) keepOnPage(page, "npm run load")
  } finally {
    await target.remove()
  }
}

await main()
