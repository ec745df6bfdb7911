/**
 * The last scene of the demo: every decision of the export is made again from files. Then an operator, who has every key, retells a refusal
 * as an allow: the record verifies, and its decision does not come out again.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import { VERDICTS } from "@runseal/core/verify/report"
import { member } from "@runseal/core/vocabulary/json-members"
import { loadPolicy } from "@runseal/policy/load-policy"
import { createApp } from "@runseal/server/app"
import { boot, prepare } from "@runseal/server/boot"
import { readConfig } from "@runseal/server/options/config"
import { createLogger } from "@runseal/server/process-log"
import { MACHINE_CLOCK } from "@runseal/server/sealing/log-clock"
import { openDatabase } from "@runseal/server/store/driver/database"
import { verify } from "./audit.ts"
import { ACTS } from "./demo-plan.ts"
import type { Folders } from "./folders.ts"
import { EXPORT_FILE } from "./permit-act.ts"
import type { Story } from "./story.ts"

const RETOLD_FILE = "retold.bundle.json"

/** The files of `--policy`, in the order of the acts. */
const POLICIES: readonly string[] = ACTS.flatMap(({ options }) => {
  const file = options[options.indexOf("--policy") + 1]
  return options.includes("--policy") && file !== undefined ? [file] : []
})

/** Makes every decision again, and catches the one that was retold. */
export async function decideAgain(folders: Folders, story: Story): Promise<void> {
  const { root, evidence, forged, trust } = folders
  const decided = POLICIES.flatMap(file => ["--decided-by", file])
  const all = ["--complete", join(evidence, EXPORT_FILE), ...decided, "--trust", trust]
  story.command(`npx verifier ${all.join(" ")}`)
  const export_ = await verify(folders, all)
  const counts = export_.lines.slice(export_.lines.indexOf("Decided again"))
  for (const line of counts.slice(0, counts.indexOf(""))) story.note(line)
  story.state(
    "each decision of the export comes out again, from the policies and the records alone",
    export_.exit === 0,
  )
  const [policy = ""] = POLICIES
  const refused = ACTS[0]?.runs.find(({ outcome }) => outcome === "pepg_deny")
  if (refused === undefined) throw new Error("the first act refuses a run")
  const file = join(forged, RETOLD_FILE)
  writeFileSync(
    join(root, file),
    await retell(folders, join(root, policy), join(root, "examples", `${refused.example}.json`)),
  )
  const alone = await verify(folders, [file, "--trust", trust])
  story.state(
    `${refused.example}, sealed anew by its operator as allowed under the same policy: ${alone.verdict}`,
    alone.exit === 0 && alone.verdict === VERDICTS.complete,
  )
  const args = [file, "--decided-by", policy, "--trust", trust]
  story.command(`npx verifier ${args.join(" ")}`)
  const { exit, failed, lines } = await verify(folders, args)
  story.note(lines.find(line => line.startsWith("First failed check")) ?? "")
  story.state("its policy does not come to that decision: FAILED", exit === 1 && failed === "decided_again")
}

/**
 * What an operator can do who has database, keys and program: the service decides by rules that admit everything, and seals the name and the
 * hash of the policy.
 * @param policy its file
 * @param request file of a request that it refuses
 */
async function retell({ root, data }: Folders, policy: string, request: string): Promise<string> {
  const config = readConfig(["--data-dir", join(root, data), "--region", "eu-central-1"], {})
  if ("ended" in config) throw new Error("the options are those of a service")
  const logger = createLogger("error")
  const db = await openDatabase({ kind: "pglite", dataDir: join(config.dataDir, "db") }, () => undefined)
  const { deps, close } = await boot({ config, prepared: prepare(config), db, logger, ...MACHINE_CLOCK })
  try {
    const { policy_id, policy_name, policy_hash, profile_tag } = loadPolicy(parseStrictJson(readFileSync(policy)))
    const named = { policy_id, policy_name, policy_hash, ...(profile_tag === undefined ? {} : { profile_tag }) }
    Object.assign(deps.policies.inForce().compiled, loadPolicy(), named)
    const app = createApp(deps)
    const headers = { "Content-Type": "application/json" }
    const answer = await app.request("/execute", { method: "POST", headers, body: readFileSync(request) })
    const run = member(parseStrictJson(await answer.text()), "run_id")
    return await (await app.request(`/runs/${run}/artifacts`)).text()
  } finally {
    await close()
  }
}
