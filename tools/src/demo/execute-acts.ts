/** The acts of the demo: starts the service, sends the requests, saves the records, stops the service. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { member } from "@runseal/core/vocabulary/json-members"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { Checkpoint } from "@runseal/log/notes/checkpoint"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { ACTS, type Act, type PlannedRun } from "./demo-plan.ts"
import { get, post } from "./demo-requests.ts"
import type { Folders } from "./folders.ts"
import { continues, readCheckpoint } from "./log-watch.ts"
import { payUnderPermits } from "./permit-act.ts"
import { recordedOutcome, type SavedRun, saveRun } from "./saved-runs.ts"
import { type RunningServer, SERVICE, startServer } from "./server-process.ts"
import type { Story } from "./story.ts"
import { callTools } from "./tool-calls.ts"

const EXAMPLE_WIDTH = 28
const OUTCOME_WIDTH = 16

/** What the reader knows of the service when an act ends. */
type Known = { readonly trust: TrustedKeys; readonly checkpoint: Checkpoint }

/** The last act; the service runs with its defaults. */
const PERMITS: Act = {
  title: "Tools of an agent, and a payment service that acts only with a permit",
  options: [],
  runs: [],
}

/** Executes every act; gives the saved runs in the order of their numbers. */
export async function executeActs(folders: Folders, story: Story): Promise<readonly SavedRun[]> {
  const saved: SavedRun[] = []
  let known: Known | undefined
  for (const act of [...ACTS, PERMITS]) {
    story.chapter(act.title)
    const service = await openAct(act, folders, story)
    let code: number | null
    try {
      known = known === undefined ? await meet(service, folders, story) : await meetAgain(service, known, story)
      if (act === PERMITS) saved.push(...(await callTools(service, folders, story)))
      if (act === PERMITS) saved.push(...(await payUnderPermits(service, folders, story)))
      for (const planned of act.runs) saved.push(await execute(planned, service, folders, story))
      known = { ...known, checkpoint: await readCheckpoint(service.url, known.trust) }
    } finally {
      code = await service.stop()
    }
    if (code !== 0) throw new Error(`the service was asked to stop and ended with ${code}`)
  }
  return saved
}

async function openAct({ options }: Act, { root, data, log }: Folders, story: Story): Promise<RunningServer> {
  const command = `node ${SERVICE} --port 0 --data-dir ${data}`
  story.command(options.length === 0 ? command : `${command} \\`)
  if (options.length > 0) story.more(options.join(" "))
  const service = await startServer([SERVICE, "--port", "0", "--data-dir", data, ...options], line =>
    appendFileSync(join(root, log), `${line}\n`),
  )
  story.note(`listens on ${service.url} and writes to the log "${service.log}"`)
  return service
}

/** Fetches the trust document once, before there is any record: keys that come with a record prove nothing about it. */
async function meet({ url }: RunningServer, { root, trust: file }: Folders, story: Story): Promise<Known> {
  const { text, json } = await get(`${url}/.well-known/runseal-trust.json`)
  const trust = parseTrust(json())
  if ("problem" in trust) throw new Error(trust.problem)
  writeFileSync(join(root, file), text)
  story.say("Its trust document is saved once, before there is any record. All records are verified with it:")
  story.say("a record that brought its own keys would prove nothing.")
  return { trust, checkpoint: await readCheckpoint(url, trust) }
}

async function meetAgain({ url }: RunningServer, known: Known, story: Story): Promise<Known> {
  const before = known.checkpoint
  const now = await readCheckpoint(url, known.trust)
  story.state(
    `restarted on the same data: a consistency proof shows that the log still begins with the ${before.size} entries seen`,
    now.size >= before.size && (await continues(url, before, now)),
  )
  return known
}

async function execute(planned: PlannedRun, { url }: RunningServer, folders: Folders, story: Story): Promise<SavedRun> {
  const { example, outcome } = planned
  const answer = await post(`${url}/execute`, readFileSync(join(folders.root, "examples", `${example}.json`)))
  const run_id = member(answer.json(), "run_id")
  if (typeof run_id !== "number") throw new Error(`${example} was answered with ${answer.status} and no run`)
  const recorded = await recordedOutcome(url, run_id)
  const result = `${answer.status} ${(recorded ?? "?").padEnd(OUTCOME_WIDTH)}`
  const expected = answer.status === OUTCOMES[outcome].http_status && recorded === outcome
  story.state(`${example.padEnd(EXAMPLE_WIDTH)} ${result} run ${run_id}`, expected)
  story.note(`  ${planned.story}`)
  return await saveRun(url, join(folders.root, folders.evidence), planned, run_id)
}
