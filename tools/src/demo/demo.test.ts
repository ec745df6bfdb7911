import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { ACTS } from "./demo-plan.ts"

const ROOT = fileURLToPath(new URL("../../..", import.meta.url))
const MAIN = "tools/src/demo/main.ts"
const DEMO_TIMEOUT_MS = 240_000
/** The demos' folders there are. */
const folders = (): readonly string[] => (existsSync(`${ROOT}.runseal`) ? readdirSync(`${ROOT}.runseal`) : [])

test(
  "the demo ends well: every outcome comes about, every record verifies, no forgery does",
  () => {
    const output = execFileSync(process.execPath, [MAIN, "--clean"], { cwd: ROOT, encoding: "utf8" })
    expect(output).not.toContain("NOT AS STATED")
    expect(output).toMatch(/\d+ statements, all true/)
    for (const { example, outcome } of ACTS.flatMap(act => act.runs))
      expect(output).toMatch(new RegExp(`✓ ${example} +\\d{3} ${outcome} `))
  },
  DEMO_TIMEOUT_MS,
)

test(
  "an interrupted demo leaves neither server nor folder behind and is no success",
  async () => {
    const before = folders()
    const demo = spawn(process.execPath, [MAIN, "--clean"], { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] })
    const url = await new Promise<string>(resolve => {
      let output = ""
      demo.stdout.on("data", chunk => {
        output += chunk
        const [found] = /http:\/\/[\d.:]+/.exec(output) ?? []
        if (found !== undefined) resolve(found)
      })
    })
    demo.kill("SIGINT")
    const [code] = await once(demo, "exit")
    expect(code).toBe(130)
    await expect(fetch(`${url}/health`)).rejects.toThrow()
    expect(folders()).toEqual(before)
  },
  DEMO_TIMEOUT_MS,
)
