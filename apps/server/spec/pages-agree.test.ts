/** What the command, the console and the report in PDF say of one record: none says more than the record shows, and none contradicts another. */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import { beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { hasTool } from "../../../libs/pdf/test/pdf-tools.ts"
import { closed, openedId } from "./harness/asked-permits.ts"
import { numberAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { CASES, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"
import { runVerifier } from "./harness/verifier.ts"

const folder = testFolder("runseal-pages")
const { service, runId } = standingSevenStates()
const attested_context = { actor_id: "agent-7", model_name: "model-a" }
const ENDINGS = [
  { outcome: "completed" },
  ...["NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT"].map(code => ({ outcome: "failed", code })),
]
const closes = new Map<string, number>()
/** Runs of which what was decided stopped nothing. */
const OBSERVED = {
  "observed ok": request({ attested_context, enforcement: "observe" }),
  "observed deny": request({ attested_context, enforcement: "observe", route_id: "forbidden" }),
} as const
const observed = new Map<string, number>()

beforeAll(async () => {
  const trust = await service().get("/.well-known/runseal-trust.json")
  writeFileSync(join(folder, "trust.json"), trust.text)
  for (const ending of ENDINGS) {
    const id = await openedId(service(), { attested_context })
    closes.set(JSON.stringify(ending), numberAt((await closed(service(), id, ending)).body, "run_id"))
  }
  for (const [name, body] of Object.entries(OBSERVED))
    observed.set(name, numberAt((await service().execute(body)).body, "run_id"))
})

/** The texts on a run: of `verifier`, of the console, and of the report where poppler is there. */
async function textsOf(id: number): Promise<Readonly<Record<"command" | "page" | "report", string>>> {
  const at = (name: string): string => join(folder, name)
  writeFileSync(at("bundle.json"), (await service().get(`/runs/${id}/artifacts`)).text)
  const { stdout } = await runVerifier(folder, ["bundle.json", "--trust", "trust.json", "--show-evidence-summary"])
  const page = await (await service().request(`/console/runs/${id}`)).text()
  const pdf = await service().request(`/runs/${id}/report.pdf`)
  writeFileSync(at("report.pdf"), new Uint8Array(await pdf.arrayBuffer()))
  const report = hasTool("pdftotext") ? execFileSync("pdftotext", [at("report.pdf"), "-"], { encoding: "utf8" }) : ""
  return { command: stdout, page: page.replace(/<[^>]*>/g, " "), report: report.replace(/\s+/g, " ") }
}

const RECORDS: readonly (readonly [string, () => number])[] = [
  ...CASES.map(name => [name, () => runId(name)] as const),
  ...ENDINGS.map(ending => [`close ${JSON.stringify(ending)}`, () => closes.get(JSON.stringify(ending)) ?? 0] as const),
  ...Object.keys(OBSERVED).map(name => [name, () => observed.get(name) ?? 0] as const),
]

describe.each(RECORDS)("the texts on the record of %s", (name, idOf) => {
  test("claim nothing that it does not show", async () => {
    for (const [surface, text] of Object.entries(await textsOf(idOf()))) {
      if (text === "") continue
      expect(text, surface).not.toMatch(/(?<!nothing was )\bexecuted\b/)
      expect(text, surface).not.toMatch(/no independent witness|no witness signed the record/)
      if (name.includes("failed")) {
        expect(text, surface).toMatch(/act failed|reported as failed/i)
        expect(text, surface).not.toMatch(/completed run|act was reported (as completed|done)/)
      }
      if (name.includes("observed")) {
        expect(text, surface).toMatch(/observed.*(nothing was stopped|stopped nothing)/is)
        expect(text, surface).not.toMatch(/(ended|stopped) the run/)
      }
      if (name === "stage_error") expect(text, surface).toMatch(/not an attestation/)
    }
  })
})

test("the page of a stage error shows the steps before the fault as passed", async () => {
  const page = await (await service().request(`/console/runs/${runId("stage_error")}`)).text()
  const states = [...page.matchAll(/<li class="(?:gate|stage) (\w+)">/g)].map(([, state]) => state)
  const failed = WHOLE_PATH.indexOf("AIVP_T4")
  expect(STATE_OF.stage_error).toBe("stage_error")
  expect(states).toHaveLength(WHOLE_PATH.length)
  expect(states.slice(0, failed)).not.toContain("absent")
  expect(states[failed]).toBe("failed")
  expect(new Set(states.slice(failed + 1))).toEqual(new Set(["absent"]))
})
