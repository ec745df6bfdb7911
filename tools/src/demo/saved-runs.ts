/** What the demo saves of each run: only the files that an auditor needs. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { PlannedRun } from "./demo-plan.ts"
import { get } from "./demo-requests.ts"

export type SavedRun = {
  readonly planned: PlannedRun
  readonly run_id: number
  /** File names in the evidence folder. */
  readonly bundle: string
  readonly receipt?: string
}

/** Fetches bundle and receipt of a run and saves both byte for byte. */
export async function saveRun(url: string, folder: string, planned: PlannedRun, run_id: number): Promise<SavedRun> {
  const name = `${String(run_id).padStart(2, "0")}-${planned.example}`
  const save = async (path: string, file: string): Promise<string> => {
    writeFileSync(join(folder, file), (await get(`${url}/runs/${run_id}/${path}`)).text)
    return file
  }
  const bundle = await save("artifacts", `${name}.bundle.json`)
  const { artifact } = OUTCOMES[planned.outcome]
  if (artifact === undefined || artifact.key === "allow_token") return { planned, run_id, bundle }
  return { planned, run_id, bundle, receipt: await save(artifact.path, `${name}.receipt.json`) }
}

/** The outcome that the service recorded for a run. */
export const recordedOutcome = async (url: string, run_id: number): Promise<string | undefined> =>
  textMember((await get(`${url}/runs/${run_id}`)).json(), "outcome_kind")
