/**
 * `npm run demo`: makes a real run of every outcome, verifies the sealed records offline, forges them, and prints what
 * that proves. Exits with 0 only when every printed statement is true.
 */
import { parseArgs } from "node:util"
import { letPeopleDecide } from "./approval-act.ts"
import { followChain, refuseForgeries, verifyAll } from "./audit.ts"
import { decideAgain } from "./decided-again.ts"
import { executeActs } from "./execute-acts.ts"
import { type Folders, makeFolders, removeFolders } from "./folders.ts"
import { openConsole } from "./open-console.ts"
import type { SavedRun } from "./saved-runs.ts"
import { type Story, tellOnStdout } from "./story.ts"

const USAGE = `Usage: npm run demo [-- --clean | --keep] [--console]

Starts the service on this machine, makes a run of every outcome, verifies every record offline
and shows that changed ones fail. Needs no network.

  --clean    remove the demo's folder at the end
  --keep     leave it there, as without --clean
  --console  then run the service on the demo's data, to look at in the console
  --help     show this help
`

const PROVED = [
  "A change shows: one byte was changed in each document, and none of them verified.",
  "Every record was signed by this service and is in its log, within 600 s of its own clock.",
  "Refused runs are recorded like allowed ones, and none can be left out between two others.",
  "Each decision follows from its policy: the verifier made it again, and a refusal that was retold as an allow failed.",
  "The kernels' findings follow from the declared data: the verifier ran the kernels again.",
]
const NOT_PROVED = [
  "That what callers declare is true: costs, effects and declared approvers are sealed as they were declared.",
  "That anna and ben are who the service says: their API keys decided, which their operator gave them.",
  "That the operator has one log and a right clock: no independent witness signed these checkpoints.",
  "That no record exists after the last one shown, or what hardware and code the service ran on.",
  "That an AI answer is right: the built-in review only searches for secrets and personal data.",
]

async function tour(folders: Folders, story: Story): Promise<readonly SavedRun[]> {
  const runs = await executeActs(folders, story)
  story.chapter("Payments that two people approve")
  await letPeopleDecide(folders, story)
  story.chapter("The service is stopped. From here on: files, and the verifier")
  await verifyAll(runs, folders, story)
  story.chapter("One byte is changed in each")
  await refuseForgeries(runs, folders, story)
  story.chapter("Nothing between them is left out")
  await followChain(runs, folders, story)
  story.chapter("Each decision is made again, and one is retold")
  await decideAgain(folders, story)
  return runs
}

function close({ evidence, demo }: Folders, clean: boolean, seconds: number, story: Story): void {
  story.chapter("What this proves")
  for (const sentence of PROVED) story.say(`+ ${sentence}`)
  story.say("and what it does not")
  for (const sentence of NOT_PROVED) story.say(`- ${sentence}`)
  const { all, failed } = story.counts()
  story.chapter(failed === 0 ? `${all} statements, all true, in ${seconds} s` : `${failed} of ${all} are not true`)
  if (clean) story.say("The demo's folder is removed.")
  else {
    story.say(`The records are in ${evidence}; verify one yourself with npx verifier.`)
    story.say(`The service's data and log are in ${demo}. Remove the folder when you like, or use -- --clean.`)
  }
}

const FLAG = { type: "boolean", default: false } as const
const OPTIONS = { clean: FLAG, keep: FLAG, console: FLAG, help: FLAG }

async function main(): Promise<void> {
  const { clean, console: opensConsole, help } = parseArgs({ options: OPTIONS }).values
  if (help) {
    process.stdout.write(USAGE)
    return
  }
  // The child is killed on `exit`, so a signal has to end this process through `process.exit`.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130))
  const started = performance.now()
  const story = tellOnStdout()
  const folders = makeFolders()
  if (clean) process.once("exit", () => removeFolders(folders))
  story.title("Runseal: runs are admitted, refused, sealed and anchored on this machine, then verified offline.")
  await tour(folders, story)
  close(folders, clean, Math.round((performance.now() - started) / 1000), story)
  if (story.counts().failed > 0) process.exitCode = 1
  if (opensConsole) process.exitCode = (await openConsole(folders, story)) ?? 1
}

try {
  await main()
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
